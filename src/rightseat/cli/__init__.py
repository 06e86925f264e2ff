"""The command line `rightseat`, with one module for each command."""

import click

from rightseat import __version__
from rightseat.cli.commands import LazyGroup
from rightseat.cli.signals import handle_sigterm
from rightseat.core.errors import RightseatError

COMMAND_HELP = {
    "init": "Write a starter rightseat.yaml.",
    "serve": "Start the server.",
    "check": "Validate the configuration and show what it would serve.",
    "ask": "Send one question to an agent and print the response.",
    "chat": "Chat with an agent in the terminal.",
    "doctor": "Find problems of the server and its parts, with fixes.",
    "keys": "Create, list, revoke, restore and rotate API keys.",
    "audit": "Print the audit log, the newest line first.",
    "usage": "Print requests, tokens and cost.",
    "mcp": "List MCP servers and accept changes to their tools.",
    "runs": "List runs, or show one with its events.",
    "replay": "Print the events of a run.",
    "threads": "List, export or delete threads.",
    "users": "Export or delete the data of a user.",
    "migrate": "Add the tables and columns to the database that this version needs.",
    "backup": "Write the state folder to an archive, while the server runs.",
    "plugin": "Create, import, check, test, install and run plugins.",
    "flow": "Draw the flows of a plugin.",
    "prompts": "Process long prompts ahead, for models that rightseat starts.",
    "feedback": "Print the feedback of users, oldest first.",
    "eval": "Evaluate agents with cases that are replayed without a side effect.",
}


class Main(LazyGroup):
    def invoke(self, ctx: click.Context) -> object:
        """Expected errors print one line to stderr and exit with status 1; others keep their traceback."""
        handle_sigterm()
        try:
            return super().invoke(ctx)
        except RightseatError as error:
            raise click.ClickException(error.message) from error


@click.group(
    cls=Main, command_help=COMMAND_HELP, package=__name__, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="rightseat", message="%(prog)s %(version)s")
def main() -> None:
    """A copilot server: one process in front of your models, agents and tools."""
