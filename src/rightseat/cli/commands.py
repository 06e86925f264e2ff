"""A click group whose commands are modules, each imported only when it is used.

The first line of each command's help is stored with its name, so that `--help` imports none of them.
"""

import difflib
import keyword
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`command_help` maps names to the first line of their help; `package` contains their modules."""

    def __init__(self, *args: Any, command_help: Mapping[str, str], package: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.command_help = command_help
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.command_help)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.command_help:
            return None
        module = cmd_name.replace("-", "_") + ("_" if keyword.iskeyword(cmd_name) else "")
        command: click.Command = import_module(f"{self.package}.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.command_help, n=1)
            raise click.UsageError(f"{error.message}{f' Did you mean {close[0]!r}?' if close else ''}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.command_help.items()))
