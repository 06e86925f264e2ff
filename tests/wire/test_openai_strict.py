"""Which schemas OpenAI takes with `strict: true`."""

from typing import Any

import pytest

from rightseat.wire.openai_strict import allows_strict


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
        **more,
    }


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = closed({"a": {"type": "string"}})
    for _ in range(levels):
        schema = closed({"a": schema})
    return schema


CITY = {"type": "string", "description": "A city.", "pattern": "^[A-Z]"}


@pytest.mark.parametrize(
    "schema",
    [
        closed({}),
        closed({"city": CITY, "unit": {"type": ["string", "null"], "enum": ["c", "f", None]}}),
        closed({"n": {"type": "integer", "minimum": 0, "maximum": 9}, "on": {"type": "string", "format": "date"}}),
        closed({"a": {"type": "array", "items": closed({"b": {"type": "boolean"}}), "minItems": 1, "maxItems": 3}}),
        closed({"a": {"anyOf": [{"type": "string"}, closed({"b": {"const": 1}})]}}),
        closed({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"b": closed({"c": {"type": "number"}})}}),
        nested(8),
    ],
)
def test_a_schema_that_keeps_to_the_rules_is_strict(schema: dict[str, Any]) -> None:
    assert allows_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"type": "object", "properties": {"a": CITY}, "required": ["a"]},
        {"type": "string", "additionalProperties": False},
        closed({"a": CITY}, required=[]),
        closed({"a": CITY}, required=["a", "b"]),
        closed({"a": CITY}, additionalProperties=True),
        closed({"a": {"type": "object", "properties": {"b": CITY}, "required": ["b"]}}),
        closed({"a": {"type": "array"}}),
        closed({"a": {"type": "array", "items": {"type": "object"}}}),
        closed({"a": {"type": "string", "maxLength": 3}}),
        closed({"a": {"type": "string", "default": "x"}}),
        closed({"a": {"type": "string", "format": "uri"}}),
        closed({"a": {"oneOf": [{"type": "string"}]}}),
        closed({"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}}),
        closed({"a": {"$ref": "https://example.com/schema"}}),
        closed({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"b": {"type": "object"}}}),
        closed({"a": {"description": "anything"}}),
        closed({"a": True}),
        closed({"a": {"type": "text"}}),
        closed({"a": {"enum": [*range(1_001)]}}),
        closed({f"p{number}": CITY for number in range(5_001)}),
        {**closed({"a": CITY}), "required": None},
        {**closed({"a": CITY}), "properties": []},
        nested(10),
    ],
)
def test_any_other_is_not(schema: dict[str, Any]) -> None:
    assert not allows_strict(schema)
