"""`rightseat plugin`, with one module for each command."""

from pathlib import Path

import click

from rightseat.cli.commands import LazyGroup

COMMAND_HELP = {
    "new": "Create a starter plugin called NAME.",
    "import-openapi": "Create a plugin from an OpenAPI DOCUMENT.",
    "check": "Validate the plugin in DIR.",
    "test": "Run the cases in DIR/tests/cases.yaml.",
    "run": "Run FLOW of the plugin in DIR with QUESTION.",
    "install": "Install PACKAGE: a folder, a .zip or a .tar.gz.",
    "catalog": "Draft the catalog of DATABASE for the plugin in DIR.",
}

into_option = click.option(
    "--into",
    type=click.Path(path_type=Path),
    default="plugins",
    show_default=True,
    help="The folder to write to.",
)
lib_option = click.option("--allow-lib", is_flag=True, help="Allow the Python code in the plugin's lib to run.")


@click.group(cls=LazyGroup, command_help=COMMAND_HELP, package=__name__)
def command() -> None:
    """Create, import, check, test, install and run plugins."""
