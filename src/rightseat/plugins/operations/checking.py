"""Holds values against schemas: all of JSON Schema, draft 2020-12, with regular expressions that take linear time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from rightseat.core.text import truncate
from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Schema

LINEAR = jsonschema_rs.RegexOptions()
MAX_TEXT_LENGTH = 100_000
"""Characters of the JSON that a pattern is matched with; in linear time that takes about a millisecond."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """`path` leads to the value; a property that is missing has its own name at the end."""

    path: tuple[str | int, ...]
    message: str

    @property
    def text(self) -> str:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path).removeprefix(".")
        return f"{where}: {self.message}" if where else self.message


class TextPattern:
    """`x-text-pattern`: a pattern for what is no string, matched with the compact JSON text of the whole value.

    A string is matched by `pattern`. Null fits where the type allows something else beside it.
    """

    def __init__(self, parent_schema: dict[str, Any], value: Any, schema_path: Sequence[str | int]) -> None:
        self._pattern = value
        self._matches_null = parent_schema.get("type") == "null"
        self._validator = jsonschema_rs.Draft202012Validator({"pattern": value}, pattern_options=LINEAR, offline=True)

    def validate(self, instance: Any) -> None:
        if isinstance(instance, str) or (instance is None and not self._matches_null):
            return
        text = json_text(instance)
        if len(text) > MAX_TEXT_LENGTH:
            raise ValueError(f"its JSON has more than {MAX_TEXT_LENGTH:,} characters, too many for its pattern")
        if not self._validator.is_valid(text):
            raise ValueError(f"{truncate(text, 200)} does not match {self._pattern!r}")


def shortest(value: JsonValue) -> str | None:
    """The shortest JSON of a number or a boolean: `2` and not `2.0`. None for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def json_text(value: JsonValue) -> str:
    """Compact JSON, with every number as short as it can be."""
    return json.dumps(shortened_numbers(value), ensure_ascii=False, separators=(",", ":"))


def shortened_numbers(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [shortened_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: shortened_numbers(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def flaws(schema: Schema, value: JsonValue) -> list[Flaw]:
    """What is wrong with a value; nothing where it fits. Raises `ValueError` for a schema that is none."""
    try:
        validator = jsonschema_rs.Draft202012Validator(
            dict(schema),
            validate_formats=True,
            pattern_options=LINEAR,
            keywords={"x-text-pattern": TextPattern},
            offline=True,
        )
    except jsonschema_rs.ReferencingError as error:
        raise ValueError(f"the schema refers to what is not there: {error}") from None
    return [read_flaw(error) for error in validator.iter_errors(value)]


def read_flaw(error: jsonschema_rs.ValidationError) -> Flaw:
    path = tuple(error.instance_path)
    match error.kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=name):
            return Flaw((*path, json.loads(name) if name.startswith('"') else name), "is missing")
    return Flaw(path, error.message)
