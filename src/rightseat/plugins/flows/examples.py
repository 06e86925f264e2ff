"""A value that fits a schema, for a dry run: what the document gives as an example, else the plainest there is."""

from collections.abc import Mapping

from rightseat.core.values import JsonValue

PLAIN: dict[str, JsonValue] = {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "null": None}
DEEPEST = 8


def example(schema: Mapping[str, JsonValue], depth: int = 0) -> JsonValue:
    examples, choices = schema.get("examples"), schema.get("enum")
    if isinstance(examples, list) and examples:
        return examples[0]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if isinstance(choices, list) and choices:
        return choices[0]
    if depth > DEEPEST:
        return None
    for name in ("anyOf", "oneOf", "allOf"):
        others = schema.get(name)
        if isinstance(others, list) and others and isinstance(others[0], Mapping):
            return example(others[0], depth + 1)
    return of_type(schema, depth)


def of_type(schema: Mapping[str, JsonValue], depth: int) -> JsonValue:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(properties, Mapping):
        return {name: example(inner, depth + 1) for name, inner in properties.items() if isinstance(inner, Mapping)}
    if isinstance(items, Mapping):
        return [example(items, depth + 1)]
    if kind == "object":
        return {}
    return [] if kind == "array" else PLAIN.get(str(kind))
