"""A call ends before a short answer does."""

from typing import Any

import pytest

from rightseat.core.ask import Parameters
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion import plan
from rightseat.models.completion.budget import count_strings
from rightseat.models.completion.grammar.output import lark
from rightseat.models.completion.styles import STYLES
from tests.models.completion.families import hermes
from tests.models.completion.grammar.oracle import Judge

STRING: JsonValue = {"type": "string"}


def tool(*names: str) -> Tool:
    return Tool("note", "", {"type": "object", "properties": dict.fromkeys(names, STRING), "required": list(names)})


def accepts(text: str, offered: Tool, style: str = "forced-hermes", **asked: Any) -> bool:
    prompt = Prompt((user("Hi"),), (offered,), Parameters(tool_choice="required", **asked))
    found = plan.make_plan(prompt, STYLES[style], triggers=False).constraint("", thinks=False)
    assert found is not None
    return Judge(lark.write(found.grammar)).accepts(text)


@pytest.mark.parametrize(("max_tokens", "most"), [(None, 1000), (300, 200), (9, 1000), (100_000, 1000)])
def test_a_string_that_runs_away_ends_before_the_answer_does(max_tokens: int | None, most: int) -> None:
    for length, fits in ((most, True), (most + 1, False)):
        said = hermes("", [("note", {"a": "5" * length})])

        assert accepts(said, tool("a"), max_tokens=max_tokens) is fits


def test_the_strings_of_one_call_share_what_there_is() -> None:
    for length, fits in ((100, True), (101, False)):
        said = hermes("", [("note", dict.fromkeys("abc", "x" * length))])

        assert accepts(said, tool("a", "b", "c"), max_tokens=300) is fits


def test_a_model_that_was_trained_to_call_knows_when_to_stop() -> None:
    calls = hermes("", [("note", {"a": "5" * 10_000})] * 2)

    assert accepts(calls, tool("a"), style="hermes", max_tokens=300)


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({}, True),
        ({"max_tokens": 600}, True),
        ({"max_tokens": 300}, False),
        ({"max_tokens": 32}, True),
        ({"max_tokens": 300, "parallel_calls": True}, True),
        ({"max_tokens": 600, "parallel_calls": False}, False),
    ],
)
def test_a_second_call_needs_budget_or_a_request_for_it(asked: dict[str, Any], fits: bool) -> None:
    assert accepts(hermes("", [("note", {"a": "x"})] * 2), tool("a"), **asked) is fits


def test_only_strings_that_a_model_may_fill_as_it_likes_are_counted() -> None:
    inner = {"type": "object", "properties": {"free": STRING, "one": {"type": "string", "enum": ["a"]}}}
    short = {"type": "string", "maxLength": 3}

    day = {"type": "string", "format": "date"}
    named = {"inner": inner, "short": short, "day": day, "either": {"anyOf": [STRING]}}

    assert count_strings({"properties": named}) == 2
    assert count_strings({"properties": {"list": {"type": "array", "items": inner}}}) == 3


def test_a_list_has_as_many_items_as_fit_the_budget() -> None:
    listing = Tool(
        "note", "", {"type": "object", "properties": {"a": {"type": "array", "items": STRING}}, "required": ["a"]}
    )
    for count, fits in ((4, True), (5, False)):
        said = hermes("", [("note", {"a": ["x"] * count})])

        assert accepts(said, listing, max_tokens=300) is fits


def test_a_schema_without_end_is_not_followed_to_its_end() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5000):
        schema = {"items": schema}

    assert count_strings(schema) == 0
