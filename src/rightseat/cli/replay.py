"""`rightseat replay`: prints the events of a run."""

import asyncio
from pathlib import Path

import click

from rightseat.cli import setup
from rightseat.cli.runs import print_json, read, timeline


@click.command()
@click.argument("run")
@setup.file_option
@click.option("--json", "as_json", is_flag=True, help="Print each event as one JSON object per line.")
def command(run: str, path: Path | None, as_json: bool) -> None:
    """Print the events of a run.

    RUN is its id, as in the server's log and in `runs list`. `runs show` prints the run itself, too.
    """
    setup.set_up_logging()
    _, entries = asyncio.run(read(setup.load(path), run))
    if as_json:
        print_json(None, entries)
        return
    for line in timeline(entries):
        click.echo(line)
