"""`rightseat eval export`: writes a dataset in the format of another program."""

from pathlib import Path

import click

from rightseat.cli import setup
from rightseat.cli.eval.stored_results import find_folder
from rightseat.evals.dataset import read_dataset
from rightseat.evals.interchange import export_dataset


@click.command()
@click.argument("dataset")
@setup.file_option
@click.option("--to", "form", type=click.Choice(["pydantic-evals"]), required=True, help="The other program.")
@click.option("-o", "output", type=click.Path(path_type=Path), help="Write to this file instead of stdout.")
def command(dataset: str, path: Path | None, form: str, output: Path | None) -> None:
    """Write DATASET in the format of another program.

    What pydantic-evals has no word for, such as recorded tool calls, is in the metadata of each case.
    """
    text = export_dataset(read_dataset(find_folder(path), dataset))
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
