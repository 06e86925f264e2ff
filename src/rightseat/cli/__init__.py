"""The command `rightseat`, one file a verb.

A verb's module is imported when the verb is used, so that `rightseat --help` waits for none of them; that is why the
first line of each verb's help stands here too.
"""

from importlib import import_module

import click

from rightseat import __version__
from rightseat.core.errors import RightseatError

VERBS = {
    "init": "Write a first rightseat.yaml.",
    "serve": "Serve what the configuration says.",
    "check": "Say what FILE would serve, or all that is wrong with it.",
    "ask": "Ask an agent, here in the terminal.",
    "doctor": "Say what a client would stumble on.",
    "keys": "Make API keys.",
    "feedback": "Show what users said of answers, the oldest first.",
}


class Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"rightseat.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Errors of ours are for people: one clear line each. Everything else keeps its traceback."""
        try:
            return super().invoke(ctx)
        except RightseatError as error:
            raise click.ClickException(error.message) from error


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rightseat", message="%(prog)s %(version)s")
def main() -> None:
    """A copilot for any application: one server in front of your models, agents and tools."""
