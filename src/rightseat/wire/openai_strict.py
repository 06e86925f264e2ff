"""Checks whether OpenAI accepts a JSON schema with `strict: true`, which forces the model to follow it.

The rules are those of OpenAI's structured outputs: an object at the root; every object closed
(`additionalProperties: false`) with all its properties required; only the keywords below; at most ten levels, 5,000
properties and 1,000 enum values. OpenAI rejects any other schema with HTTP 400.
"""

from collections.abc import Mapping
from typing import Any

KEYWORDS = (
    {"$defs", "$ref", "anyOf", "const", "description", "enum", "title", "type"}
    | {"additionalProperties", "properties", "required"}
    | {"items", "maxItems", "minItems"}
    | {"format", "pattern"}
    | {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
)
FORMATS = {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
MAX_DEPTH = 10
MAX_PROPERTIES = 5_000
MAX_ENUM_VALUES = 1_000


def allows_strict(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") != "object" or schema.get("additionalProperties") is not False:
        return False  # most schemas fail here, and the check runs for every request
    return StrictSchemaChecker().allows(schema, 1)


class StrictSchemaChecker:
    def __init__(self) -> None:
        self._properties = 0
        self._values = 0

    def allows(self, schema: Any, depth: int) -> bool:
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or not KEYWORDS.issuperset(schema):
            return False
        if "$ref" not in schema and not {"type", "anyOf", "enum", "const"} & schema.keys():
            return False
        return self._allows_values(schema) and self._allows_object(schema) and self._allows_parts(schema, depth)

    def _allows_values(self, schema: Mapping[str, Any]) -> bool:
        kinds = schema.get("type", "null")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        values = schema.get("enum", ())
        self._values += len(values) if isinstance(values, list) else 0
        reference = schema.get("$ref", "#")
        return (
            all(isinstance(kind, str) and kind in TYPES for kind in kinds)
            and schema.get("format", "date") in FORMATS
            and isinstance(reference, str)
            and reference.startswith("#")
            and self._values <= MAX_ENUM_VALUES
        )

    def _allows_object(self, schema: Mapping[str, Any]) -> bool:
        kinds = schema.get("type")
        if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
            return "properties" not in schema
        properties, required = schema.get("properties", {}), schema.get("required")
        if not isinstance(properties, Mapping) or not isinstance(required, list):
            return False
        self._properties += len(properties)
        is_closed = schema.get("additionalProperties") is False and sorted(map(str, required)) == sorted(properties)
        return is_closed and self._properties <= MAX_PROPERTIES

    def _allows_parts(self, schema: Mapping[str, Any], depth: int) -> bool:
        parts = [*schema.get("properties", {}).values()]
        if isinstance(definitions := schema.get("$defs", {}), Mapping):
            parts += definitions.values()
        options = schema.get("anyOf", [])
        if not isinstance(options, list):
            return False
        parts += options
        if "items" in schema:
            parts.append(schema["items"])
        elif schema.get("type") == "array":
            return False
        return all(self.allows(part, depth + 1) for part in parts)
