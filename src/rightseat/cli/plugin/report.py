"""Prints the diagnostics of a plugin."""

from collections import Counter
from pathlib import Path

import click

from rightseat.plugins.loading import LoadResult


def select_folders(paths: tuple[Path, ...]) -> list[Path]:
    """Skips files among several paths, so that `plugins/*` may contain a README."""
    found = [path for path in paths if len(paths) == 1 or not path.is_file()]
    for path in paths:
        if path not in found:
            click.echo(f"{path} is not a folder; skipped.", err=True)
    return found


def print_diagnostics(folder: Path, loaded: LoadResult) -> None:
    """The first letter of a code is its severity; a warning that counts as an error is marked."""
    for one in loaded.diagnostics:
        is_raised = one.severity == "error" and not one.code.startswith("E")
        click.echo(f"{folder}/{one}{' [error]' if is_raised else ''}")
    counts = Counter(one.severity for one in loaded.diagnostics)
    click.echo(f"{folder}: errors {counts['error']}, warnings {counts['warning']}, notes {counts['information']}.")
