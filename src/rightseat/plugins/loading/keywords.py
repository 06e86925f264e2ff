"""The keywords of one schema: what OpenAPI 3.0 and the original guide say otherwise than JSON Schema does."""

from typing import Any

from rightseat.plugins.loading import patterns
from rightseat.plugins.loading.notes import Node, Notes

OF_ONE = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "contains",
        "propertyNames",
        "if",
        "then",
        "else",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
OF_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
OF_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
DROPPED = frozenset(
    {
        "$id",
        "$schema",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$defs",
        "definitions",
        "discriminator",
        "xml",
        "externalDocs",
    }
)
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_MERGED = frozenset({"type", "properties", "required", "description", "title"})


def settle(node: Node, schema: dict[str, Any], notes: Notes, *, is_old: bool, is_request: bool) -> None:
    """Changes `schema`, which is this node's own, into JSON Schema."""
    _settle_type(node, schema, notes)
    if is_old:
        _settle_bounds(schema)
        _settle_nullable(schema)
    if "example" in schema:
        schema.setdefault("examples", [schema.pop("example")])
    if not isinstance(schema.get("examples", []), list):
        schema["examples"] = [schema["examples"]]
    if "pattern" in schema:
        _settle_pattern(node, schema, notes, is_request=is_request)


def merged(schema: dict[str, Any]) -> dict[str, Any]:
    """Without `allOf` where its parts are objects that say nothing against each other."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or not parts:
        return schema
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    if len(parts) == 1 and not set(rest) & set(parts[0]) - {"description", "title"}:
        return {**parts[0], **rest}
    properties: dict[str, Any] = {}
    required: dict[str, None] = {}
    for part in (*parts, rest):
        if not set(part) <= _MERGED or part.get("type", "object") != "object":
            return schema
        if not isinstance(part.get("properties", {}), dict) or not _are_texts(part.get("required", [])):
            return schema
        for name, one in part.get("properties", {}).items():
            if properties.setdefault(name, one) != one:
                return schema
        required |= dict.fromkeys(part.get("required", ()))
    whole: dict[str, Any] = {**rest, "type": "object", "properties": properties}
    return {**whole, "required": list(required)} if required else whole


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _settle_type(node: Node, schema: dict[str, Any], notes: Notes) -> None:
    said = schema.get("type")
    place = node.get("type")
    if said is None or place is None:
        schema.pop("type", None)
        return
    types: list[str] = []
    for one in said if isinstance(said, list) else [said]:
        match one:
            case "any":
                notes.add("W220", place, "the type `any` is read as no type.", "leave `type` out")
                schema.pop("type")
                return
            case "timestamp":
                notes.add("W221", place, "the type `timestamp` is read as a number or a text.", "use integer or string")
                schema["x-timestamp"] = True
                types += ["integer", "string"]
            case "date":
                notes.add("W222", place, "the type `date` is read as text.", "use type: string, format: date")
                schema.setdefault("format", "date")
                types.append("string")
            case str() if one in TYPES:
                types.append(one)
            case _:
                known = ", ".join(sorted(TYPES))
                notes.add("E220", place, f"unknown type {str(one)[:60]!r}.", f"one of: {known}")
                schema.pop("type", None)
                return
    schema["type"] = types[0] if len(types) == 1 else list(dict.fromkeys(types))


def _settle_bounds(schema: dict[str, Any]) -> None:
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            is_exclusive = schema.pop(exclusive)
            if is_exclusive and bound in schema:
                schema[exclusive] = schema.pop(bound)


def _settle_nullable(schema: dict[str, Any]) -> None:
    if schema.pop("nullable", False) is not True:
        return
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = list(dict.fromkeys([*types, "null"]))
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    elif "allOf" in schema:
        schema["anyOf"] = [{"allOf": schema.pop("allOf")}, {"type": "null"}]


def _settle_pattern(node: Node, schema: dict[str, Any], notes: Notes, *, is_request: bool) -> None:
    """Of what is no string the JSON text is matched, which a validator of JSON Schema does not do."""
    pattern = schema.pop("pattern")
    place = node.get("pattern") or node
    if not is_request:
        return
    if not isinstance(pattern, str):
        notes.add("E222", place, "a pattern should be text.", "use quotes")
        return
    if found := patterns.problem(pattern):
        notes.add("E222", place, f"the pattern cannot be used: {found}.", "no back-references and no look-around")
        return
    said = schema.get("type", list(TYPES))
    types = set(said if isinstance(said, list) else [said])
    if "string" in types:
        schema["pattern"] = patterns.anchored(pattern)
    if types == {"null"} or types - {"string", "null"}:
        schema["x-text-pattern"] = patterns.anchored(pattern)
