"""What is wrong with a plugin, told in the terminal."""

from collections import Counter
from pathlib import Path

import click

from rightseat.plugins.loading import Loaded


def only_folders(paths: tuple[Path, ...]) -> list[Path]:
    """Of several, files are left out and told, so that `plugins/*` may have a README beside the plugins."""
    found = [path for path in paths if len(paths) == 1 or not path.is_file()]
    for path in paths:
        if path not in found:
            click.echo(f"{path} is no folder, and left out.", err=True)
    return found


def tell(folder: Path, loaded: Loaded) -> None:
    """The code says how grave it is; a warning that is an error here says so."""
    for one in loaded.diagnostics:
        is_raised = one.severity == "error" and not one.code.startswith("E")
        click.echo(f"{folder}/{one}{' [error]' if is_raised else ''}")
    counts = Counter(one.severity for one in loaded.diagnostics)
    click.echo(f"{folder}: errors {counts['error']}, warnings {counts['warning']}, notes {counts['information']}.")
