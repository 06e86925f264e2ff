"""What stopped at a bound of the grammar is warned of, and nothing else is."""

import json
from typing import Any

import pytest

from rightseat.core.messages import user
from rightseat.core.model import NoteChunk, Prompt
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.model import Completion
from rightseat.models.completion.parsing.limits import find_reached
from tests.models.completion.families import hermes
from tests.models.completion.playing import Player
from tests.models.completion.test_model import ask

STRING: JsonValue = {"type": "string"}
TIGHT = GrammarBounds(text=40, items=3)


def told(value: object, schema: dict[str, Any], bounds: GrammarBounds = TIGHT) -> list[str]:
    text = json.dumps(value, ensure_ascii=False)
    return find_reached(text, validation.compile_schema(schema), bounds)


@pytest.mark.parametrize(
    ("value", "schema", "path"),
    [
        ({"a": "x" * 40}, {"properties": {"a": STRING}}, "`a`"),
        ({"a": "é" * 40}, {"properties": {"a": {"anyOf": [STRING, {"type": "null"}]}}}, "`a`"),
        ({"a": [{"b": "x" * 40}]}, {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}, "`a/0/b`"),
        ({"a": [1, 2, 3], "b": "x" * 39}, {}, "`a`"),
        ("x" * 40, STRING, "it"),
    ],
)
def test_a_part_that_was_ended_at_a_limit_is_named(value: object, schema: dict[str, Any], path: str) -> None:
    (sentence,) = told(value, schema)

    assert sentence.startswith(f"{path} was ended at ")
    assert "larger `max_tokens`" in sentence


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"a": "x" * 39, "b": [1, 2]}, {}),
        ({"a": "x" * 41}, {}),
        ({"a": "x" * 40}, {"properties": {"a": {"maxLength": 40}}}),
        ({"a": "x" * 40}, {"properties": {"a": {"enum": ["x" * 40, "y"]}}}),
        ({"a": "x" * 40}, {"properties": {"a": {"pattern": "^x{40}$"}}}),
        ({"a": [1, 2, 3], "b": "x" * 38}, {"properties": {"a": {"maxItems": 3}}}),
    ],
)
def test_a_part_that_ends_by_its_schema_or_by_itself_causes_no_warning(value: object, schema: dict[str, Any]) -> None:
    assert told(value, schema) == []


@pytest.mark.parametrize(
    ("length", "bounds", "advice"),
    [
        (1000, GrammarBounds(), "`maxLength` in its schema, of up to 10,000"),
        (10_000, GrammarBounds(text=10_000), "the longest possible"),
    ],
)
def test_the_advice_is_what_would_help(length: int, bounds: GrammarBounds, advice: str) -> None:
    assert advice in told({"a": "x" * length}, {"properties": {"a": STRING}}, bounds)[0]


def note(text: str) -> tuple[Tool, str]:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"text": STRING}, "required": ["text"]}
    return Tool("note", "", schema), hermes("", [("note", {"text": text})])


async def test_a_call_that_reaches_the_response_limit_is_followed_by_a_warning() -> None:
    tool, said = note("x" * 200)

    chunks = await ask(Player(said), (tool,), max_tokens=300)

    assert [chunk for chunk in chunks if isinstance(chunk, NoteChunk)] == [
        NoteChunk(
            "warning",
            "The call of 'note' may be incomplete: `text` was ended at 200 characters; a larger `max_tokens` "
            "allows more.",
        )
    ]


async def test_a_limit_of_the_configuration_counts_like_one_of_the_client() -> None:
    tool, said = note("x" * 200)

    async with Completion(Player(said), max_tokens=300) as model:
        chunks = [chunk async for chunk in model.stream(Prompt((user("Hi"),), (tool,)))]

    assert any(isinstance(chunk, NoteChunk) for chunk in chunks)


async def test_a_truncated_response_with_a_schema_has_a_warning_too() -> None:
    schema = {"type": "object", "properties": {"a": STRING}}

    chunks = await ask(Player(json.dumps({"a": "x" * 85})), (), response_schema=schema, max_tokens=128)

    assert [chunk.value for chunk in chunks if isinstance(chunk, NoteChunk)] == [
        "The response may be incomplete: `a` was ended at 85 characters; a larger `max_tokens` allows more."
    ]


async def test_a_set_is_warned_of_before_the_answer() -> None:
    tags: JsonValue = {"type": "array", "items": STRING, "uniqueItems": True}
    tool = Tool("note", "", {"type": "object", "properties": {"tags": tags}})

    chunks = await ask(Player("Hi"), (tool,))

    assert isinstance(chunks[0], NoteChunk)
    assert str(chunks[0].value).startswith("tool 'note': parameters/properties/tags: `uniqueItems`")
