"""`rightseat eval import`: imports a dataset of pydantic-evals."""

from pathlib import Path

import click

from rightseat.cli import setup
from rightseat.cli.eval import clean_lines
from rightseat.cli.eval.stored_results import find_folder
from rightseat.evals.interchange import Importer


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@setup.file_option
@click.option("--into", required=True, metavar="DATASET", help="The name of the new dataset.")
@click.option("--skip-unknown", is_flag=True, help="Leave out evaluators that have no scorer here.")
def command(file: Path, path: Path | None, into: str, skip_unknown: bool) -> None:
    """Import FILE of pydantic-evals as a new dataset."""
    importer = Importer(skip_unknown)
    written = importer.import_file(file, find_folder(path), into)
    if importer.skipped:
        click.echo(clean_lines(f"Left out: {', '.join(dict.fromkeys(importer.skipped))}."), err=True)
    click.echo(f"Imported into {written}.")
