"""`rightseat eval schema`: prints the JSON Schema of datasets."""

import click

from rightseat.evals.dataset_schema import format_schema


@click.command()
def command() -> None:
    """Print the JSON Schema of datasets, for editors."""
    click.echo(format_schema(), nl=False)
