"""Validates values against JSON Schema draft 2020-12, with regular expressions that run in linear time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from rightseat.core.types import JsonValue
from rightseat.json_schema.cost import MAX_VISITS, SchemaCost, SchemaTooCostly
from rightseat.plugins.definition import Schema
from rightseat.text import truncate

LINEAR_REGEX = jsonschema_rs.RegexOptions()
MAX_TEXT_CHARS = 100_000
"""Length of JSON text that a pattern is matched against; a linear-time match takes about 1 ms."""


@dataclass(frozen=True, slots=True)
class SchemaViolation:
    """`path` leads to the value; for a missing property, the last element is its name."""

    path: tuple[str | int, ...]
    message: str

    @property
    def text(self) -> str:
        location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path).removeprefix(".")
        return f"{location}: {self.message}" if location else self.message


class TextPattern:
    """`x-text-pattern`: a pattern for non-strings, matched against the compact JSON text of the whole value.

    Strings are matched by `pattern`. Null passes if the type also allows other values.
    """

    def __init__(self, parent_schema: dict[str, Any], value: Any, schema_path: Sequence[str | int]) -> None:
        self._pattern = value
        self._matches_null = parent_schema.get("type") == "null"
        self._validator = jsonschema_rs.Draft202012Validator(
            {"pattern": value}, pattern_options=LINEAR_REGEX, offline=True
        )

    def validate(self, instance: Any) -> None:
        if isinstance(instance, str) or (instance is None and not self._matches_null):
            return
        text = to_compact_json(instance)
        if len(text) > MAX_TEXT_CHARS:
            raise ValueError(f"its JSON has more than {MAX_TEXT_CHARS:,} characters, too many for its pattern")
        if not self._validator.is_valid(text):
            raise ValueError(f"{truncate(text, 200)} does not match {self._pattern!r}")


def format_number(value: JsonValue) -> str | None:
    """Return the shortest JSON of a number or a boolean: `2`, not `2.0`. None for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def to_compact_json(value: JsonValue) -> str:
    """Return compact JSON with every number in its shortest form."""
    return json.dumps(shorten_numbers(value), ensure_ascii=False, separators=(",", ":"))


def shorten_numbers(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [shorten_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: shorten_numbers(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


MAX_VISITS_OF_DATA = 150_000
"""The response of an API may be large: a step of a validation of it takes 1 us to count, in the event loop."""
MAX_SMALL_PARTS = 20_000
MAX_VISITS_WITH_REASONS = 10_000
"""Violations are all listed at once, each with its text: those of 400,000 values take 5 s and 500 MB."""
TOO_LARGE_TO_LIST = "does not match its schema, and is too large to say where"
MISSING = "is missing"
"""The text of a violation where a required value is missing."""


def find_violations(schema: Schema, value: JsonValue) -> list[SchemaViolation]:
    """Return all violations; an empty list if the value is valid. Of a large value that is invalid there is one.

    Raises `ValueError` for an invalid schema.
    """
    try:
        validator = jsonschema_rs.Draft202012Validator(
            dict(schema),
            validate_formats=True,
            pattern_options=LINEAR_REGEX,
            keywords={"x-text-pattern": TextPattern},
            offline=True,
        )
    except jsonschema_rs.ReferencingError as error:
        raise ValueError(f"the schema has an unresolvable reference: {error}") from None
    try:
        visits = SchemaCost(dict(schema)).check(value, MAX_VISITS if is_small(value) else MAX_VISITS_OF_DATA)
    except SchemaTooCostly as error:
        return [SchemaViolation((), str(error))]
    if visits > MAX_VISITS_WITH_REASONS:
        return [] if validator.is_valid(value) else [SchemaViolation((), TOO_LARGE_TO_LIST)]
    return [convert_error(error) for error in validator.iter_errors(value)]


def is_small(value: JsonValue) -> bool:
    """Whether it has few parts. What its validation costs does not depend on the lengths of texts."""
    waiting, parts = [value], 0
    while waiting and parts <= MAX_SMALL_PARTS:
        part = waiting.pop()
        parts += 1
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part
    return parts <= MAX_SMALL_PARTS


def convert_error(error: jsonschema_rs.ValidationError) -> SchemaViolation:
    path = tuple(error.instance_path)
    match error.kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=name):
            return SchemaViolation((*path, json.loads(name) if name.startswith('"') else name), MISSING)
    return SchemaViolation(path, error.message)
