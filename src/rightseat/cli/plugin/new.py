"""`rightseat plugin new`"""

from pathlib import Path

import click

from rightseat.cli.plugin import place_option
from rightseat.cli.plugin.writing import write
from rightseat.plugins import drafts


@click.command("new")
@click.argument("name")
@place_option
def command(name: str, into: Path) -> None:
    """Write a first plugin called NAME, to be changed."""
    place = write(drafts.blank(name), into)
    click.echo(f"Wrote {place}. Next: `rightseat plugin check {place}`.")
