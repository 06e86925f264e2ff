"""`rightseat check`: validates the configuration and shows what it would serve."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from rightseat import app
from rightseat.cli import setup
from rightseat.cli.summary import summarize
from rightseat.config import FILE, Config
from rightseat.config.schema import read_schema
from rightseat.core.errors import ConfigError
from rightseat.evals.judge import find_self_judges
from rightseat.health.warnings import list_part_warnings, warnings

WARNING = "warning: "


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@setup.file_option
@click.option("--schema", "wants_schema", is_flag=True, help="Print the JSON Schema of the configuration, for editors.")
def command(file: Path | None, path: Path | None, wants_schema: bool) -> None:
    """Validate the configuration and show what it would serve.

    Without FILE it reads ./rightseat.yaml, or the defaults if there is none. Model servers are queried for their model,
    but none is started. If plugin code is allowed, the sandbox is tested and its layers are listed.
    """
    if wants_schema:
        click.echo(read_schema(), nl=False)
        return
    config = setup.load(file or path)
    app.build(config)
    reports = list(describe_parts(config))
    details = [line for report in reports for line in report.lines]
    found = [line for report in reports for line in report.warnings]
    problems = [
        *warnings(config),
        *list_part_warnings("toolboxes", config.toolboxes),
        *found,
        *list_self_judges(config),
    ]
    verdict = f"errors 0, warnings {len(problems)}" if problems else "valid"
    click.echo(f"{config.path or 'No file'}: {verdict}.")
    for line in summarize(config, f"http://{config.server.host}:{config.server.port}"):
        click.echo(line)
    for line in details:
        click.echo(line)
    for line in problems:
        click.echo(f"Warning: {line}", err=True)


def list_self_judges(config: Config) -> Iterator[str]:
    """Warnings about the datasets of the project: models that judge themselves, and files with errors."""
    models = {name: str(getattr(part.options, "model", "")) for name, part in config.agents.items()}
    return find_self_judges((config.path or Path(FILE)).parent / "evals", models)


@dataclass(frozen=True, slots=True)
class PartReport:
    """What a part reports: lines below its name, and warnings."""

    lines: Sequence[str]
    warnings: Sequence[str]


def describe_parts(config: Config) -> Iterator[PartReport]:
    """The details that models and toolboxes report. A line that begins with `warning: ` is a warning."""
    for section, parts in (("models", config.models), ("toolboxes", config.toolboxes)):
        for name, part in parts.items():
            if explain := getattr(part.module, "explain", None):
                try:
                    lines = asyncio.run(_gather(explain(part.options)))
                except ConfigError as error:
                    raise ConfigError(f"{section}.{name}: {error.message}") from error
                details = [f"    {line}" for line in lines if not line.startswith(WARNING)]
                found = [f"{section}.{name}: {line[len(WARNING) :]}" for line in lines if line.startswith(WARNING)]
                yield PartReport([f"  {name}:", *details] if details else [], found)


async def _gather(lines: AsyncIterator[str]) -> list[str]:
    return [line async for line in lines]
