"""A schema without references, as a model sees it: what leads back to itself is cut (R-4.1)."""

from collections.abc import Mapping
from typing import Any

from rightseat.plugins.definition import Schema

DEPTH = 6
MOST_VALUES = 5_000


def unrolled(schema: Schema, depth: int = DEPTH, most: int = MOST_VALUES) -> dict[str, Any]:
    """Cut at `depth`, or earlier where that would be more than `most` values; where it is cut, anything is allowed."""
    definitions = schema.get("$defs")
    known: Mapping[str, Any] = definitions if isinstance(definitions, dict) else {}
    top = {key: value for key, value in schema.items() if key != "$defs"}
    while depth > 0 and _weigh(top, known, depth, {}) > most:
        depth -= 1
    cut: dict[str, Any] = _cut(top, known, depth)
    return cut


def _cut(value: Any, known: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, list):
        return [_cut(one, known, depth) for one in value]
    if not isinstance(value, dict):
        return value
    name = _name(value)
    if name is None:
        return {key: _cut(one, known, depth) for key, one in value.items()}
    rest = {key: one for key, one in value.items() if key != "$ref"}
    return {**_cut(known.get(name, {}), known, depth - 1), **rest} if depth > 0 else rest


def _weigh(value: Any, known: Mapping[str, Any], depth: int, done: dict[tuple[int, int], int]) -> int:
    if not isinstance(value, dict | list):
        return 1
    key = (id(value), depth)
    if key not in done:
        name = _name(value) if isinstance(value, dict) else None
        if name is not None:
            done[key] = _weigh(known.get(name, {}), known, depth - 1, done) if depth > 0 else 1
        else:
            inner = value.values() if isinstance(value, dict) else value
            done[key] = 1 + sum(_weigh(one, known, depth, done) for one in inner)
    return done[key]


def _name(value: Mapping[str, Any]) -> str | None:
    said = value.get("$ref")
    return said.removeprefix("#/$defs/") if isinstance(said, str) and said.startswith("#/$defs/") else None
