"""`rightseat prompts`, with one module for each command."""

import click

from rightseat.cli.commands import LazyGroup

COMMAND_HELP = {"warm": "Process the beginning of prompts in FILE and save it for the server."}


@click.group(cls=LazyGroup, command_help=COMMAND_HELP, package=__name__)
def command() -> None:
    """Process long prompts ahead, for models that rightseat starts."""
