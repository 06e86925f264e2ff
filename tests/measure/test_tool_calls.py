"""tool_calls.py scores as the acceptance suite does, and every way is first in turn."""

import json
from typing import Any

import pytest

from tests.measure.tool_calls import QUESTIONS, in_turn, mix, read_cases_without, score, share, write_false_calls

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


def test_a_question_that_needs_no_tool_has_tools_and_is_asked_with_auto_only() -> None:
    own = [CASE | {"id": f"own_{number}", "src": "own"} for number in range(40)]
    without = read_cases_without(own)

    assert len(without) == len(set(QUESTIONS.read_text().splitlines())) == 60
    assert all(case["tools"] for case in without)
    assert in_turn(without[0], ["chat", "generic"], 0) == [
        ("without_0", "chat", "auto"),
        ("without_0", "generic", "auto"),
    ]
    mixed = [case["id"] for case in mix(own[:4], without[:2])]
    assert mixed == ["own_0", "without_0", "own_1", "own_2", "without_1", "own_3"]


def test_a_call_where_none_is_needed_is_a_false_one() -> None:
    cases = [{"id": str(number), "expect": []} for number in range(4)]
    replies: list[dict[str, Any]] = [{"calls": [["f", "{}"]]}, {"text": "Hi."}, {"text": " "}, {"text": "Hello."}]
    results = {(str(number), "generic", "auto"): reply for number, reply in enumerate(replies)}

    assert write_false_calls(cases, ["generic"], results)[-1] == (  # type: ignore[arg-type]  # "auto" is a choice
        "| generic | 4 | 25% (5% to 70%) | 25% (5% to 70%) |"
    )
    assert share(0, 60) == "0% (0% to 6%)"
