"""The command `rightseat`, one file a verb."""

import click

from rightseat import __version__
from rightseat.cli.first import heed_the_end
from rightseat.cli.verbs import Verbs
from rightseat.core.errors import RightseatError

VERBS = {
    "init": "Write a first rightseat.yaml.",
    "serve": "Serve what the configuration says.",
    "check": "Say what FILE would serve, or all that is wrong with it.",
    "ask": "Ask an agent, here in the terminal.",
    "doctor": "Say what a client would stumble on.",
    "keys": "Make API keys.",
    "mcp": "List MCP servers, and accept changes of their tools.",
    "users": "Export or delete all that is kept of a user.",
    "plugin": "Check, make, add, test and install plugins.",
    "flow": "Draw the flows of a plugin.",
    "replay": "Show a run as it happened, event by event.",
    "feedback": "Show what users said of answers, the oldest first.",
}


class Main(Verbs):
    def invoke(self, ctx: click.Context) -> object:
        """Errors of ours are for people: one clear line each. Everything else keeps its traceback."""
        heed_the_end()
        try:
            return super().invoke(ctx)
        except RightseatError as error:
            raise click.ClickException(error.message) from error


@click.group(cls=Main, verbs=VERBS, home=__name__, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rightseat", message="%(prog)s %(version)s")
def main() -> None:
    """A copilot for any application: one server in front of your models, agents and tools."""
