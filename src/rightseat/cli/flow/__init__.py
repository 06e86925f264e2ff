"""`rightseat flow`, with one module for each command."""

import click

from rightseat.cli.commands import LazyGroup

COMMAND_HELP = {"draw": "Draw the flows of the plugin in DIR, or only FLOW."}


@click.group(cls=LazyGroup, command_help=COMMAND_HELP, package=__name__)
def command() -> None:
    """Draw the flows of a plugin."""
