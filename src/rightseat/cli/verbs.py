"""A command whose verbs are modules, each imported when it is used.

That is why the first line of each verb's help stands with its name: `--help` waits for none of them.
"""

import difflib
from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click


class Verbs(click.Group):
    """`verbs` are names and the first lines of their help, `home` the package of their modules."""

    def __init__(self, *args: Any, verbs: Mapping[str, str], home: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.verbs = verbs
        self.home = home

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.verbs:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"{self.home}.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.verbs, n=1)
            raise click.UsageError(f"{error.message}{f' Did you mean {close[0]!r}?' if close else ''}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.verbs.items()))
