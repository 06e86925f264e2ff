"""`rightseat plugin`, one file a verb."""

from pathlib import Path

import click

from rightseat.cli.verbs import Verbs

VERBS = {
    "check": "Say all that is wrong with the plugin in DIR.",
    "new": "Write a first plugin called NAME, to be changed.",
    "add": "Make a plugin of an OpenAPI DOCUMENT.",
    "install": "Install PACKAGE: a folder, a .zip or a .tar.gz.",
    "test": "Run the cases in DIR/tests/cases.yaml.",
    "catalog": "Draft the catalog of DATABASE, for the plugin in DIR.",
    "try": "Run FLOW of the plugin in DIR with QUESTION.",
}

place_option = click.option(
    "--into", type=click.Path(path_type=Path), default="plugins", show_default=True, help="Where to put it."
)
lib_option = click.option("--allow-lib", is_flag=True, help="Let the Python code in the plugin's lib run.")


@click.group(cls=Verbs, verbs=VERBS, home=__name__)
def command() -> None:
    """Check, make, add, test and install plugins."""
