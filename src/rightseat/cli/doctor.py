"""`rightseat doctor`"""

import click

from rightseat.cli.handshake import Handshake, Headers, Trouble

WORKSPACE = "https://pro.openbb.co"


def read_headers(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> Headers:
    pairs = [line.partition(":") for line in given]
    if wrong := [name for name, colon, _ in pairs if not colon or not name.strip()]:
        raise click.BadParameter(f"{wrong[0]!r} should look like 'X-API-KEY: …'.")
    return {name.strip(): value.strip() for name, _, value in pairs}


@click.group()
def command() -> None:
    """Say what a client would stumble on."""


@command.command()
@click.argument("url")
@click.option("--agent", help="The agent to ask.  [default: the first]")
@click.option("--origin", default=WORKSPACE, show_default=True, help="Where the page is that calls.")
@click.option("--header", "headers", multiple=True, callback=read_headers, help="As users type it: 'X-API-KEY: …'.")
@click.option("--ask", "question", default="Say hello.", show_default=True, help="What the agent is asked.")
def openbb(url: str, agent: str | None, origin: str, headers: Headers, question: str) -> None:
    """Add the agent at URL as OpenBB Workspace does, ask it something, and say what a browser would stumble on."""
    handshake = Handshake(url, origin, headers)
    troubles = 0
    try:
        for finding in handshake.steps(agent, question):
            troubles += finding.is_trouble
            click.echo(f"{'!!' if finding.is_trouble else 'ok'}  {finding.text}")
    except Trouble as trouble:
        raise click.ClickException(f"{trouble}") from None
    if troubles:
        raise click.ClickException(f"{troubles} of these would keep Workspace from using this agent.")
    click.echo("Workspace can use this agent.")
