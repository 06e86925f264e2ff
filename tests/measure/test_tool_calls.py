"""tool_calls.py scores as the acceptance suite does, and every way is first in turn."""

import json
from typing import Any

import pytest

from tests.measure.tool_calls import in_turn, score

CASE: dict[str, Any] = {
    "id": "one",
    "tools": [
        {
            "function": {
                "name": "set_light",
                "parameters": {
                    "type": "object",
                    "properties": {"room": {"enum": ["kitchen", "hall"]}, "level": {"type": "number", "maximum": 10}},
                    "required": ["room"],
                },
            }
        },
        {"function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}},
    ],
    "expect": [{"set_light": {"room": ["kitchen"], "level": ["", 5]}}],
}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], (False, False, False, False)),
        ([("set_light", '{"room": "kitchen"')], (True, False, False, False)),
        ([("set_light", {"room": "attic"})], (True, False, False, False)),
        ([("set_light", {"room": "kitchen", "level": 11})], (True, False, False, False)),
        ([("set_alarm", {})], (True, False, False, False)),
        ([("get_time", {})], (True, True, False, False)),
        ([("set_light", {"room": "hall"})], (True, True, True, False)),
        ([("set_light", {"room": "kitchen", "level": 4})], (True, True, True, False)),
        ([("set_light", {"room": "kitchen"})], (True, True, True, True)),
        ([("set_light", {"room": "kitchen", "level": 5.0})], (True, True, True, True)),
        ([("set_light", {"room": "kitchen"}), ("set_light", {})], (True, False, False, False)),
    ],
)
def test_an_answer_is_scored(calls: list[tuple[str, Any]], expected: tuple[bool, ...]) -> None:
    written = [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in calls]

    assert score(CASE, {"calls": written}) == expected


def test_an_error_is_no_call() -> None:
    assert score(CASE, {"error": "HTTP 500"}) == (False, False, False, False)


def test_every_way_is_first_in_turn() -> None:
    firsts = [in_turn(CASE, ["completion", "chat"], at)[0][1:] for at in range(4)]

    assert firsts == [("completion", "required"), ("completion", "auto"), ("chat", "required"), ("chat", "auto")]
