"""`rightseat backup`: writes the state folder into one archive."""

import shlex
from pathlib import Path

import click

from rightseat.app.backup import find_state_folder, write_backup
from rightseat.cli import setup


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@setup.file_option
def command(file: Path, path: Path | None) -> None:
    """Write the state folder to an archive, while the server runs.

    FILE is a tar archive. It has all threads, messages, files, keys and settings that the server stores in SQLite
    files. An existing FILE is never overwritten. To restore it, stop the server and extract it into an empty state
    folder.
    """
    setup.set_up_logging()
    config = setup.load(path)
    names = write_backup(config, file)
    folder = find_state_folder(config)
    click.echo(f"Wrote {file}, {file.stat().st_size:,} bytes: {', '.join(names)}.")
    click.echo("To restore it, stop the server, empty the state folder, and extract the archive there:")
    click.echo(f"  tar -xf {shlex.quote(str(file))} -C {shlex.quote(str(folder))}")
