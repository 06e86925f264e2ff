"""`rightseat flow`, one file a verb."""

import click

from rightseat.cli.verbs import Verbs

VERBS = {"draw": "Draw the flows of the plugin in DIR, or FLOW alone."}


@click.group(cls=Verbs, verbs=VERBS, home=__name__)
def command() -> None:
    """Draw the flows of a plugin."""
