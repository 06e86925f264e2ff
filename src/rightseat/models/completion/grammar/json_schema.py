"""For engines that take nothing but JSON Schema: the schema itself, with an end to every string and array."""

from typing import Any

from rightseat.models.completion.grammar.bounds import Bounds

WITH_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
LISTS = ("prefixItems", "allOf", "anyOf", "oneOf")
ONE = (
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)


def bounded(schema: Any, bounds: Bounds | None = None) -> Any:
    """`maxLength`, `maxItems` and, where `properties` are declared, `additionalProperties: false` added.

    References stay as they are, and so does what stands under `not`, `if` and `contains`: there a bound would
    let other values through.
    """
    return _bounded(schema, bounds or Bounds(), 0)


def _bounded(schema: Any, bounds: Bounds, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > bounds.depth:
        return schema
    result = dict(schema)
    for key in WITH_NAMES:
        if isinstance(schema.get(key), dict):
            result[key] = {name: _bounded(inner, bounds, depth + 1) for name, inner in schema[key].items()}
    for key in LISTS:
        if isinstance(schema.get(key), list):
            result[key] = [_bounded(inner, bounds, depth + 1) for inner in schema[key]]
    for key in ONE:
        if isinstance(schema.get(key), dict) and key not in ("not", "if", "contains"):
            result[key] = _bounded(schema[key], bounds, depth + 1)
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if "string" in kinds and not {"enum", "const", "pattern", "format"} & schema.keys():
        result["maxLength"] = min(
            schema.get("maxLength", max(bounds.text, schema.get("minLength", 0))), bounds.longest_text
        )
    if "array" in kinds and not {"enum", "const"} & schema.keys():
        result["maxItems"] = min(
            schema.get("maxItems", max(bounds.items, schema.get("minItems", 0))), bounds.most_items
        )
    if "object" in kinds and _closable(schema):
        result["additionalProperties"] = False
    return result


def _closable(schema: dict[str, Any]) -> bool:
    """Whether nothing beside `properties` may name further members."""
    beside = {"additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref"}
    names = schema.get("properties")
    return isinstance(names, dict) and not beside & schema.keys() and names.keys() >= set(schema.get("required", ()))
