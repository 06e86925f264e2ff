"""Normalizes the keywords of one schema: where OpenAPI 3.0 and the original guide differ from JSON Schema."""

from typing import Any

from rightseat.plugins.loading import patterns
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

SCHEMA_KEYWORDS = frozenset(
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
SCHEMA_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYWORDS = frozenset({"properties", "patternProperties", "dependentSchemas"})
DROPPED_KEYWORDS = frozenset(
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
_MERGEABLE_KEYWORDS = frozenset({"type", "properties", "required", "description", "title"})


def normalize(
    node: SourceNode, schema: dict[str, Any], report: DiagnosticReport, *, is_openapi_30: bool, is_request: bool
) -> None:
    """Change `schema`, a copy that belongs to this node, into JSON Schema in place."""
    _normalize_type(node, schema, report)
    if is_openapi_30:
        _normalize_bounds(schema)
        _normalize_nullable(schema)
    if "example" in schema:
        schema.setdefault("examples", [schema.pop("example")])
    if not isinstance(schema.get("examples", []), list):
        schema["examples"] = [schema["examples"]]
    if "pattern" in schema:
        _normalize_pattern(node, schema, report, is_request=is_request)


def merge_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Merge `allOf` into one object if its parts do not conflict; otherwise return the schema unchanged."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or not parts:
        return schema
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    if len(parts) == 1 and not set(rest) & set(parts[0]) - {"description", "title"}:
        return {**parts[0], **rest}
    properties: dict[str, Any] = {}
    required: dict[str, None] = {}
    for part in (*parts, rest):
        if not set(part) <= _MERGEABLE_KEYWORDS or part.get("type", "object") != "object":
            return schema
        if not isinstance(part.get("properties", {}), dict) or not _are_texts(part.get("required", [])):
            return schema
        for name, one in part.get("properties", {}).items():
            if properties.setdefault(name, one) != one:
                return schema
        required |= dict.fromkeys(part.get("required", ()))
    merged: dict[str, Any] = {**rest, "type": "object", "properties": properties}
    return {**merged, "required": list(required)} if required else merged


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _normalize_type(node: SourceNode, schema: dict[str, Any], report: DiagnosticReport) -> None:
    declared = schema.get("type")
    place = node.get("type")
    if declared is None or place is None:
        schema.pop("type", None)
        return
    types: list[str] = []
    for one in declared if isinstance(declared, list) else [declared]:
        match one:
            case "any":
                report.add("W220", place, "the type `any` is read as no type.", "leave `type` out")
                schema.pop("type")
                return
            case "timestamp":
                report.add(
                    "W221", place, "the type `timestamp` is read as a number or a string.", "use integer or string"
                )
                schema["x-timestamp"] = True
                types += ["integer", "string"]
            case "date":
                report.add("W222", place, "the type `date` is read as text.", "use type: string, format: date")
                schema.setdefault("format", "date")
                types.append("string")
            case str() if one in TYPES:
                types.append(one)
            case _:
                known = ", ".join(sorted(TYPES))
                report.add("E220", place, f"unknown type {str(one)[:60]!r}.", f"one of: {known}")
                schema.pop("type", None)
                return
    schema["type"] = types[0] if len(types) == 1 else list(dict.fromkeys(types))


def _normalize_bounds(schema: dict[str, Any]) -> None:
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            is_exclusive = schema.pop(exclusive)
            if is_exclusive and bound in schema:
                schema[exclusive] = schema.pop(bound)


def _normalize_nullable(schema: dict[str, Any]) -> None:
    if schema.pop("nullable", False) is not True:
        return
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = list(dict.fromkeys([*types, "null"]))
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    elif "allOf" in schema:
        schema["anyOf"] = [{"allOf": schema.pop("allOf")}, {"type": "null"}]


def _normalize_pattern(node: SourceNode, schema: dict[str, Any], report: DiagnosticReport, *, is_request: bool) -> None:
    """Match non-strings by their JSON text, which JSON Schema validators do not do."""
    pattern = schema.pop("pattern")
    place = node.get("pattern") or node
    if not is_request:
        return
    if not isinstance(pattern, str):
        report.add("E222", place, "a pattern should be text.", "use quotes")
        return
    if found := patterns.find_problem(pattern):
        report.add("E222", place, f"unsupported pattern: {found}.", "avoid back-references and look-around")
        return
    declared = schema.get("type", list(TYPES))
    types = set(declared if isinstance(declared, list) else [declared])
    if "string" in types:
        schema["pattern"] = patterns.anchor(pattern)
    if types == {"null"} or types - {"string", "null"}:
        schema["x-text-pattern"] = patterns.anchor(pattern)
