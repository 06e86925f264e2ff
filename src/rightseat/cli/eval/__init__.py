"""`rightseat eval`, with one module for each command."""

import sys

import click

from rightseat.cli.commands import LazyGroup
from rightseat.cli.table import clean
from rightseat.evals.dataset_errors import DatasetError

WRONG_FILES = 2
"""The exit code where files or options are wrong and nothing was run."""
COMMAND_HELP = {
    "pin": "Append the case of a run or a thread to a dataset.",
    "run": "Replay the cases of datasets and score the answers.",
    "list": "List the datasets with their latest results, or the results.",
    "compare": "Compare the results A and B.",
    "export": "Write DATASET in the format of another program.",
    "import": "Import FILE of pydantic-evals as a new dataset.",
    "schema": "Print the JSON Schema of datasets, for editors.",
}


class EvalGroup(LazyGroup):
    def invoke(self, ctx: click.Context) -> object:
        """Errors in datasets are printed as they are, one a line, and the command ends with 2."""
        try:
            return super().invoke(ctx)
        except DatasetError as error:
            click.echo(clean_lines(error.message), err=True)
            sys.exit(WRONG_FILES)


def clean_lines(text: str) -> str:
    """Without control characters, which names and values of a file may have."""
    return "\n".join(map(clean, text.split("\n")))


@click.group(cls=EvalGroup, command_help=COMMAND_HELP, package=__name__)
def command() -> None:
    """Evaluate agents with cases that are replayed without a side effect."""
