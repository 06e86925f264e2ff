"""`rightseat plugin check`"""

import dataclasses
import json
from pathlib import Path

import click

from rightseat.cli.plugin.telling import only_folders, tell
from rightseat.core.errors import ConfigError
from rightseat.plugins import loading
from rightseat.plugins.diagnostics import Mode
from rightseat.plugins.loading import Loaded


@click.command("check")
@click.argument("folders", metavar="DIR...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="For authors: what the original format does not allow is an error.")
@click.option("--json", "as_json", is_flag=True, help="Write a JSON list, for programs.")
def command(folders: tuple[Path, ...], strict: bool, as_json: bool) -> None:
    """Say all that is wrong with the plugin in DIR.

    Nothing of it is run. Ends with 1 where anything is an error.
    """
    every = [(folder, _load(folder, "strict" if strict else "compat")) for folder in only_folders(folders)]
    if as_json:
        told = [{"plugin": str(f), **dataclasses.asdict(one)} for f, loaded in every for one in loaded.diagnostics]
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for folder, loaded in every:
            tell(folder, loaded)
    if any(loaded.errors for _, loaded in every):
        raise SystemExit(1)


def _load(folder: Path, mode: Mode) -> Loaded:
    try:
        return loading.load(folder, mode)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
