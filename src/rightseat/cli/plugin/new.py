"""`rightseat plugin new`: creates a starter plugin."""

from pathlib import Path

import click

from rightseat.cli.plugin import into_option
from rightseat.cli.plugin.files import write
from rightseat.plugins.packaging import scaffold


@click.command("new")
@click.argument("name")
@into_option
def command(name: str, into: Path) -> None:
    """Create a starter plugin called NAME."""
    place = write(scaffold.create_blank(name), into)
    click.echo(f"Wrote {place}. Next:")
    click.echo(f"  rightseat plugin check {place}")
    click.echo(f"  rightseat plugin test {place}")
    click.echo(f'  rightseat plugin run {place} introduce "What can you do?"')
