"""Limits of time that only keep a test from hanging are long: a busy machine takes many times as long as an idle one.

Clients have the timeout that `tests/conftest.py` gives them, and name another one only if its end is what is tested, as
a fraction of a second, or if it is longer.
"""

import ast
from pathlib import Path

import pytest

from tests.conftest import CLIENT_TIMEOUT_S

ROOT = Path(__file__).parents[1]
CLIENTS = ("AsyncClient", "Client", "AsyncOpenAI", "AsyncAnthropic")
REQUESTS = ("get", "post", "put", "patch", "delete", "request", "stream")
OTHERS = ("acceptance", "fuzz", "measure", "backends")
"""Suites and measurements have bounds of their own; a real vLLM is awaited by requests that fail quickly."""


def find_short_timeouts(source: str) -> list[int]:
    """The lines of clients and requests that time out after one second or more, but before others do."""

    def is_short(call: ast.Call) -> bool:
        given = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
        seconds = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, int | float)]
        return any(1 <= value < CLIENT_TIMEOUT_S for value in seconds)

    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if name_of(call.func) in (*CLIENTS, *REQUESTS) and is_short(call)]


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def test_no_client_gives_up_before_a_busy_machine_responds() -> None:
    files = [file for file in sorted((ROOT / "tests").rglob("*.py")) if not {*OTHERS} & {*file.parts}]
    found = [f"{file.relative_to(ROOT)}:{line}" for file in files for line in find_short_timeouts(file.read_text())]

    assert found == [], "leave the timeout out: tests/conftest.py has one for all clients"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("httpx2.AsyncClient(timeout=5)", [1]),
        ("client.post('/', json={}, timeout=10.0)", [1]),
        ("httpx2.Client()\nhttpx2.Client(timeout=60)\nhttpx2.Client(timeout=WAIT_S)", []),
        ("httpx2.get(url, timeout=0.2)", []),
    ],
    ids=["client", "request", "long", "tested"],
)
def test_short_timeouts_are_found(source: str, lines: list[int]) -> None:
    assert find_short_timeouts(source) == lines
