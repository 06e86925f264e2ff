"""Translates schemas of an OpenAPI document to JSON Schema draft 2020-12, for requests or for responses.

References are inlined. Recursive ones stay as `#/$defs/NAME`, with `$defs` at the top level; a name has the same
meaning in all schemas of a plugin, so that a schema combined from several can hold all of their `$defs`.
"""

import re
from typing import Any, Literal

from rightseat.json_schema import check_schema
from rightseat.plugins.definition import Schema
from rightseat.plugins.loading import keywords
from rightseat.plugins.loading.limits import PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode
from rightseat.plugins.loading.references import NodeKey, References, has_reference, node_key

Direction = Literal["request", "response"]

MAX_DEPTH = 100
MAX_ALTERNATIVES = 8


class SchemaTranslator:
    """`is_openapi_30`: schemas of OpenAPI 3.0 differ from JSON Schema in a few keywords."""

    def __init__(
        self, references: References, limits: PluginLimits, report: DiagnosticReport, *, is_openapi_30: bool
    ) -> None:
        self._references = references
        self._limits = limits
        self._report = report
        self._is_openapi_30 = is_openapi_30
        self._depth = 0
        self._ready: dict[tuple[NodeKey, Direction], dict[str, Any]] = {}
        self._names: dict[tuple[NodeKey, Direction], str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._translated: dict[tuple[NodeKey, Direction], Schema] = {}

    def translate(self, node: SourceNode, direction: Direction) -> Schema:
        """Translate and check a schema, once for all operations that refer to it."""
        shared = self._references.find_target(node) if has_reference(node) and len(node.value) == 1 else None
        key = (node_key(shared or node), direction)
        if key not in self._translated:
            self._translated[key] = self._translate(node, direction)
        return self._translated[key]

    def _translate(self, node: SourceNode, direction: Direction) -> Schema:
        schema = self._translate_node(node, direction)
        used = self._find_used_definitions(schema)
        full_schema = {**schema, "$defs": used} if used else schema
        if count_values(full_schema) > self._limits.max_values:
            message = f"the schema has more than {self._limits.max_values:,} values after references are inlined."
            self._report.add("E230", node, message)
            return {}
        self._check(node, full_schema)
        return full_schema

    def _check(self, node: SourceNode, schema: Schema) -> None:
        try:
            check_schema(dict(schema))
        except (ValueError, RecursionError) as error:
            cause = getattr(error, "message", "") or type(error).__name__
            self._report.add("E231", node, f"invalid JSON Schema: {cause[:300]}.")

    def _translate_node(self, node: SourceNode, direction: Direction) -> dict[str, Any]:
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                self._report.add("E230", node, f"references are nested more than {MAX_DEPTH} levels deep.")
                return {}
            return self._dispatch(node, direction)
        finally:
            self._depth -= 1

    def _dispatch(self, node: SourceNode, direction: Direction) -> dict[str, Any]:
        match node.value:
            case None:
                return {}
            case bool():
                return {} if node.value else {"not": {}}
            case [_]:
                self._report.add(
                    "W223", node, "the schema is a list; its only element is used.", "remove the leading -"
                )
                return self._translate_node(next(node.elements()), direction)
            case [_, _, *_]:
                self._report.add(
                    "E221", node, "the schema is a list of several schemas.", "write one schema, or use anyOf"
                )
                return {}
            case dict():
                return (
                    self._translate_reference(node, direction)
                    if has_reference(node)
                    else self._translate_object(node, direction)
                )
        self._report.add("E231", node, "a schema should be a mapping.")
        return {}

    def _translate_reference(self, node: SourceNode, direction: Direction) -> dict[str, Any]:
        target = self._references.find_target(node)
        if target is None:
            return {}
        kept = ("description",) if self._is_openapi_30 else tuple(node.value)
        beside = {key: node.value[key] for key in kept if key in node.value and key != "$ref"}
        if self._references.is_recursive(target):
            return {"$ref": f"#/$defs/{self._define(target, direction)}", **beside}
        key = (node_key(target), direction)
        if key not in self._ready:
            self._ready[key] = self._translate_node(target, direction)
        if not beside:
            return self._ready[key]
        written = SourceNode(node.source, node.path, beside)
        return {**self._ready[key], **self._translate_object(written, direction)}

    def _define(self, target: SourceNode, direction: Direction) -> str:
        key = (node_key(target), direction)
        if key not in self._names:
            last = str(target.path[-1]) if target.path else "document"
            base = re.sub(r"[^A-Za-z0-9_]", "_", last) + ("" if direction == "request" else "_read")
            taken = set(self._names.values())
            name = next(one for one in (base, *(f"{base}_{n}" for n in range(2, 10_000))) if one not in taken)
            self._names[key] = name
            depth, self._depth = self._depth, 0
            self._definitions[name] = self._translate_node(target, direction)
            self._depth = depth
        return self._names[key]

    def _find_used_definitions(self, schema: Any) -> dict[str, Any]:
        """Return the definitions that a schema uses, directly and indirectly."""
        found: dict[str, Any] = {}
        todo = sorted(find_definition_names(schema))
        while todo:
            name = todo.pop()
            if name not in found and name in self._definitions:
                found[name] = self._definitions[name]
                todo += sorted(find_definition_names(found[name]))
        return found

    def _translate_object(self, node: SourceNode, direction: Direction) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for key, child in node.items():
            if key in keywords.SCHEMA_KEYWORDS:
                schema[key] = self._translate_node(child, direction)
            elif key in keywords.SCHEMA_LIST_KEYWORDS and isinstance(child.value, list):
                schema[key] = [self._translate_node(one, direction) for one in child.elements()]
                if key in ("anyOf", "oneOf") and len(schema[key]) > MAX_ALTERNATIVES:
                    message = f"{len(schema[key])} alternatives are too many for a model to choose from reliably."
                    self._report.add("W224", child, message, f"at most {MAX_ALTERNATIVES}")
            elif key in keywords.SCHEMA_MAP_KEYWORDS and isinstance(child.value, dict):
                schema[key] = {name: self._translate_node(one, direction) for name, one in child.items()}
            elif key not in keywords.DROPPED_KEYWORDS:
                schema[key] = child.value
        self._drop_hidden_properties(node, schema, direction)
        keywords.normalize(
            node, schema, self._report, is_openapi_30=self._is_openapi_30, is_request=direction == "request"
        )
        return keywords.merge_all_of(schema)

    def _drop_hidden_properties(self, node: SourceNode, schema: dict[str, Any], direction: Direction) -> None:
        """Drop `readOnly` properties from requests and `writeOnly` ones from responses."""
        mark = "readOnly" if direction == "request" else "writeOnly"
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        hidden = {name for name, one in properties.items() if isinstance(one, dict) and one.get(mark) is True}
        if hidden:
            schema["properties"] = {name: one for name, one in properties.items() if name not in hidden}
            if isinstance(required := schema.get("required"), list):
                schema["required"] = [name for name in required if not isinstance(name, str) or name not in hidden]


def find_definition_names(schema: Any) -> set[str]:
    """Return the definitions that a schema refers to directly. Shared parts are visited once."""
    found: set[str] = set()
    seen: set[int] = set()
    todo = [schema]
    while todo:
        one = todo.pop()
        if not isinstance(one, dict | list) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, list):
            todo += one
            continue
        ref = one.get("$ref")
        if isinstance(ref, str) and ref.startswith("#/$defs/"):
            found.add(ref.removeprefix("#/$defs/"))
        todo += one.values()
    return found


def count_values(value: Any, counts: dict[int, int] | None = None) -> int:
    """Return the number of values when written out. Shared parts are computed once and counted each time."""
    counts = {} if counts is None else counts
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in counts:
        inner = value.values() if isinstance(value, dict) else value
        counts[id(value)] = 1 + sum(count_values(one, counts) for one in inner)
    return counts[id(value)]
