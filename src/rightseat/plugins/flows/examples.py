"""Builds a value that fits a JSON Schema, for dry runs: the documented example, or the simplest valid value."""

from collections.abc import Mapping

from rightseat.core.types import JsonValue

DEFAULTS: dict[str, JsonValue] = {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "null": None}
MAX_DEPTH = 8


def build_example(schema: Mapping[str, JsonValue], depth: int = 0) -> JsonValue:
    examples, choices = schema.get("examples"), schema.get("enum")
    if isinstance(examples, list) and examples:
        return examples[0]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if isinstance(choices, list) and choices:
        return choices[0]
    if depth > MAX_DEPTH:
        return None
    for name in ("anyOf", "oneOf", "allOf"):
        others = schema.get(name)
        if isinstance(others, list) and others and isinstance(others[0], Mapping):
            return build_example(others[0], depth + 1)
    return build_by_type(schema, depth)


def build_by_type(schema: Mapping[str, JsonValue], depth: int) -> JsonValue:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(properties, Mapping):
        inner = {name: one for name, one in properties.items() if isinstance(one, Mapping)}
        return {name: build_example(one, depth + 1) for name, one in inner.items()}
    if isinstance(items, Mapping):
        return [build_example(items, depth + 1)]
    if kind == "object":
        return {}
    return [] if kind == "array" else DEFAULTS.get(str(kind))
