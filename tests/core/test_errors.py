"""The tree of errors is drawn as it is: in the code, and on the page about them."""

import re
from collections.abc import Iterator
from pathlib import Path

from rightseat.core import errors
from rightseat.core.errors import RightseatError

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text()


def tree(error: type[RightseatError] = RightseatError) -> Iterator[type[RightseatError]]:
    """The errors of `core.errors`, each before those below it."""
    yield error
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from tree(below)


def depth(error: type[RightseatError]) -> int:
    return error.__mro__.index(RightseatError)


def drawn(text: str) -> list[tuple[str, int]]:
    """The names of a drawing like the one at the head of `core.errors`, with how far in they stand."""
    lines = re.findall(r"^ *([│ ]*[├└]── )?(\w+)(?:  .*)?$", text, re.MULTILINE)
    return [(name, len(branch) // 4) for branch, name in lines if branch or name == "RightseatError"]


def test_the_code_draws_every_error() -> None:
    assert drawn(errors.__doc__ or "") == [(error.__name__, depth(error)) for error in tree()]


def test_the_page_draws_every_error() -> None:
    assert drawn(PAGE) == [(error.__name__, depth(error)) for error in tree()]


def test_the_page_has_the_code_and_the_status_of_every_error() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE)

    assert rows == [(error.__name__, error.code, str(error.status)) for error in tree()]


def test_a_code_means_one_error() -> None:
    codes = [error.code for error in tree()]

    assert len(set(codes)) == len(codes)


def test_the_code_draws_the_status_of_every_error() -> None:
    statuses = dict(re.findall(r"[├└]── (\w+) +(\d+)", errors.__doc__ or ""))

    assert statuses == {error.__name__: str(error.status) for error in tree() if depth(error)}


def test_what_only_the_operator_should_know_is_in_the_log_line_and_not_in_the_message() -> None:
    error = errors.tell_operator(errors.AgentUnreachable("The agent server is away."), "http://10.0.0.5/agent")

    assert error.message == "The agent server is away."
    assert error.log_message == "The agent server is away. (http://10.0.0.5/agent)"
    assert "10.0.0.5" not in errors.LogUnreachable("Redis at 10.0.0.5: refused.").message
    assert errors.LogUnreachable("Redis at 10.0.0.5: refused.").log_message.endswith("(Redis at 10.0.0.5: refused)")
