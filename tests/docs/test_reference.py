"""The reference says what the code does."""

import click
import pytest

from rightseat.cli import COMMAND_HELP, main
from tests.docs import configuration
from tests.docs.configuration import PAGE, REFERENCE

COMMANDS = REFERENCE / "command-line.md"


def test_every_option_of_every_part_is_on_the_page() -> None:
    assert configuration.described(PAGE.read_text()) == set(configuration.options())


@pytest.mark.parametrize("verb", COMMAND_HELP)
def test_every_option_of_every_verb_is_on_the_page(verb: str) -> None:
    section = COMMANDS.read_text().split(f"## rightseat {verb}\n")[1].split("\n## ")[0]
    command = main.get_command(click.Context(main), verb)

    assert command is not None
    verbs = [command, *(below(command) if isinstance(command, click.Group) else ())]
    for parameter in (parameter for verb in verbs for parameter in verb.params):
        wanted = (
            parameter.opts if isinstance(parameter, click.Option) else [parameter.make_metavar(click.Context(command))]
        )
        for name in wanted:
            assert f"`{name.strip('[].')}" in section, name


def below(group: click.Group) -> list[click.Command]:
    context = click.Context(group)
    found = (group.get_command(context, name) for name in group.list_commands(context))
    return [command for command in found if command is not None]
