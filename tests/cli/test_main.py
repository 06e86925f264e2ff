"""The command as a whole."""

import os
import subprocess
import sys

import click
import pytest

from rightseat import __version__
from rightseat.cli import COMMAND_HELP, flow, main, plugin
from tests.cli.conftest import Run

HELP_CPU = 0.15  # seconds


def cpu_of(*command: str) -> float:
    """User and system time of a program, in seconds."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_help_is_quick() -> None:
    assert min(cpu_of(sys.executable, "-m", "rightseat", "--help") for _ in range(3)) < HELP_CPU


@pytest.mark.parametrize(
    ("above", "verbs"), [((), COMMAND_HELP), (("plugin",), plugin.COMMAND_HELP), (("flow",), flow.COMMAND_HELP)]
)
def test_help_lists_every_verb_with_the_first_line_of_its_own_help(
    above: tuple[str, ...], verbs: dict[str, str], run: Run
) -> None:
    listed = run(*above, "--help").stdout

    group: click.Command | None = main
    for name in above:
        group = main.get_command(click.Context(main), name)
    assert isinstance(group, click.Group)
    for verb, line in verbs.items():
        command = group.get_command(click.Context(group), verb)
        assert command is not None
        assert (command.help or "").splitlines()[0] == line
        assert line in listed


@pytest.mark.parametrize("verb", COMMAND_HELP)
def test_every_verb_has_help(run: Run, verb: str) -> None:
    assert run(verb, "--help").stdout.startswith(f"Usage: rightseat {verb}")


def test_the_version_option_prints_the_version(run: Run) -> None:
    assert run("--version").stdout == f"rightseat {__version__}\n"


def test_rightseat_runs_as_a_python_module() -> None:
    done = subprocess.run([sys.executable, "-m", "rightseat", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == f"rightseat {__version__}\n"


def test_an_unknown_verb_exits_with_a_usage_error(run: Run) -> None:
    result = run("sevre")

    assert result.exit_code == 2
    assert "No such command" in result.stderr


def test_an_unknown_verb_suggests_the_nearest_one(run: Run) -> None:
    assert "No such command 'srve'. Did you mean 'serve'?" in run("srve").stderr
    assert "No such command 'chek'. Did you mean 'check'?" in run("plugin", "chek").stderr
    assert "Did you mean" not in run("xyzzy").stderr
