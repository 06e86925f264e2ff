"""Inlines the references of a schema for a model's prompt, and cuts recursive ones at a depth (R-4.1)."""

from collections.abc import Mapping
from typing import Any

from rightseat.plugins.definition import Schema

MAX_DEPTH = 6
MAX_VALUES = 5_000


def inline_references(schema: Schema, depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> dict[str, Any]:
    """Inline to `depth`, or less if the result would exceed `max_values`; a cut schema allows anything."""
    definitions = schema.get("$defs")
    definitions_by_name: Mapping[str, Any] = definitions if isinstance(definitions, dict) else {}
    top = {key: value for key, value in schema.items() if key != "$defs"}
    while depth > 0 and _count_values(top, definitions_by_name, depth, {}) > max_values:
        depth -= 1
    cut: dict[str, Any] = _inline(top, definitions_by_name, depth)
    return cut


def _inline(value: Any, definitions_by_name: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, list):
        return [_inline(one, definitions_by_name, depth) for one in value]
    if not isinstance(value, dict):
        return value
    name = _definition_name(value)
    if name is None:
        return {key: _inline(one, definitions_by_name, depth) for key, one in value.items()}
    rest = {key: one for key, one in value.items() if key != "$ref"}
    return {**_inline(definitions_by_name.get(name, {}), definitions_by_name, depth - 1), **rest} if depth > 0 else rest


def _count_values(
    value: Any, definitions_by_name: Mapping[str, Any], depth: int, done: dict[tuple[int, int], int]
) -> int:
    if not isinstance(value, dict | list):
        return 1
    key = (id(value), depth)
    if key not in done:
        name = _definition_name(value) if isinstance(value, dict) else None
        if name is not None:
            done[key] = (
                _count_values(definitions_by_name.get(name, {}), definitions_by_name, depth - 1, done)
                if depth > 0
                else 1
            )
        else:
            inner = value.values() if isinstance(value, dict) else value
            done[key] = 1 + sum(_count_values(one, definitions_by_name, depth, done) for one in inner)
    return done[key]


def _definition_name(value: Mapping[str, Any]) -> str | None:
    ref = value.get("$ref")
    return ref.removeprefix("#/$defs/") if isinstance(ref, str) and ref.startswith("#/$defs/") else None
