"""`rightseat plugin check`: validates plugins."""

import dataclasses
import json
from pathlib import Path

import click

from rightseat.cli.plugin.report import print_diagnostics, select_folders
from rightseat.core.errors import ConfigError
from rightseat.plugins import loading
from rightseat.plugins.diagnostics import Mode
from rightseat.plugins.loading import LoadResult


@click.command("check")
@click.argument("folders", metavar="DIR...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Treat extensions of the original plugin format as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(folders: tuple[Path, ...], strict: bool, as_json: bool) -> None:
    """Validate the plugin in DIR.

    No code of the plugin is run. Exits with status 1 if there are errors.
    """
    results = [(folder, _load(folder, "strict" if strict else "compat")) for folder in select_folders(folders)]
    if as_json:
        found = [{"plugin": str(f), **dataclasses.asdict(one)} for f, loaded in results for one in loaded.diagnostics]
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        for folder, loaded in results:
            print_diagnostics(folder, loaded)
    if any(loaded.errors for _, loaded in results):
        raise SystemExit(1)


def _load(folder: Path, mode: Mode) -> LoadResult:
    try:
        return loading.load(folder, mode)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
