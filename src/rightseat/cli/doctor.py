"""`rightseat doctor`: checks the configuration and everything it depends on, or acts as a client of another server."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from rightseat.app.diagnosis import diagnosed
from rightseat.cli import setup
from rightseat.cli.handshake import Handshake, HandshakeFailed, Headers
from rightseat.cli.progress import show_progress
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.health.checks import run_checks
from rightseat.health.finding import Finding, Fix

WORKSPACE = "https://pro.openbb.co"


def read_headers(context: click.Context, option: click.Parameter, lines: tuple[str, ...]) -> Headers:
    pairs = [line.partition(":") for line in lines]
    if invalid := [name for name, colon, _ in pairs if not colon or not name.strip()]:
        raise click.BadParameter(f"{invalid[0]!r} should look like 'X-API-KEY: …'.")
    return {name.strip(): value.strip() for name, _, value in pairs}


@click.group(invoke_without_command=True)
@setup.file_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of findings.")
@click.option("--origin", help="Also check whether web pages of this origin may call.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port of the server; overrides the configuration.")
@click.pass_context
def command(context: click.Context, path: Path | None, as_json: bool, origin: str | None, port: int | None) -> None:
    """Find problems of the server and its parts, with fixes.

    It checks the configuration and everything that it names. Each model is asked for one word and one tool call, and
    MCP servers are started. Exits with status 1 if there are errors.
    """
    if context.invoked_subcommand is None:
        logging.getLogger("rightseat").setLevel(logging.CRITICAL)  # the findings have what would be logged
        with show_progress("Checking the server and its parts"):
            findings = asyncio.run(diagnose(path, port, origin))
        if as_json:
            click.echo(json.dumps([finding.to_json() for finding in findings], indent=2, ensure_ascii=False))
        else:
            click.echo("\n".join([*(line for finding in findings for line in write_finding(finding)), count(findings)]))
        if any(finding.state == "error" for finding in findings):
            context.exit(1)


async def diagnose(path: Path | None, port: int | None, origin: str | None) -> list[Finding]:
    async with diagnosed(load(path), path, port=port, origin=origin) as context:
        return [finding async for finding in run_checks(context)]


def load(path: Path | None) -> Config | ConfigError:
    try:
        return setup.load(path)
    except ConfigError as error:
        return error


def write_finding(finding: Finding) -> Iterator[str]:
    yield f"{finding.state:8} {finding.subject}: {finding.detail}"
    if finding.fix is not None and finding.state != "ok":
        yield from write_fix(finding.fix)


def write_fix(fix: Fix) -> Iterator[str]:
    yield f"         fix: {fix.text}"
    if fix.command:
        yield f"           $ {fix.command}"
    if fix.yaml:
        yield f"           in the configuration: {fix.yaml}"


def count(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.state for finding in findings)
    return f"errors {counts['error']}, warnings {counts['warning']}, ok {counts['ok']}, skipped {counts['skipped']}."


@command.command()
@click.argument("url")
@click.option("--agent", help="The agent to test.  [default: the first]")
@click.option("--origin", default=WORKSPACE, show_default=True, help="The origin of the calling web page.")
@click.option(
    "--header", "headers", multiple=True, callback=read_headers, help="A header to send, such as 'X-API-KEY: …'."
)
@click.option("--ask", "question", default="Say hello.", show_default=True, help="The question to send.")
def openbb(url: str, agent: str | None, origin: str, headers: Headers, question: str) -> None:
    """Connect to the agent at URL as OpenBB Workspace does, and report what a browser would block."""
    handshake = Handshake(url, origin, headers)
    problems = 0
    try:
        for finding in handshake.steps(agent, question):
            problems += finding.is_problem
            click.echo(f"{'!!' if finding.is_problem else 'ok'}  {finding.text}")
    except HandshakeFailed as error:
        raise click.ClickException(f"{error}") from None
    if problems:
        raise click.ClickException(f"{problems} of these would keep Workspace from using this agent.")
    click.echo("Workspace can use this agent.")
