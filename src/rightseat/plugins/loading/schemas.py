"""Schemas of a document → JSON Schema, draft 2020-12, for requests or for responses.

References are put in place. One that leads back to itself stays, as `#/$defs/NAME`, with `$defs` at the top; names are
the same in all schemas of a plugin, so that what is put together from several can have all of their `$defs`.
"""

import re
from typing import Any, Literal

from rightseat.core.json_schema import check_schema
from rightseat.plugins.definition import Schema
from rightseat.plugins.loading import keywords
from rightseat.plugins.loading.limits import Limits
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.references import Key, References, has_reference, key_of

Direction = Literal["request", "response"]

DEEPEST = 100
MOST_ALTERNATIVES = 8


class Translator:
    """`is_old` says that the document is OpenAPI 3.0, whose schemas are not quite JSON Schema."""

    def __init__(self, references: References, limits: Limits, notes: Notes, *, is_old: bool) -> None:
        self._references = references
        self._limits = limits
        self._notes = notes
        self._is_old = is_old
        self._depth = 0
        self._ready: dict[tuple[Key, Direction], dict[str, Any]] = {}
        self._names: dict[tuple[Key, Direction], str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._whole: dict[tuple[Key, Direction], Schema] = {}

    def translate(self, node: Node, direction: Direction) -> Schema:
        """A schema that many operations refer to is translated and checked once."""
        shared = self._references.target(node) if has_reference(node) and len(node.value) == 1 else None
        key = (key_of(shared or node), direction)
        if key not in self._whole:
            self._whole[key] = self._translate(node, direction)
        return self._whole[key]

    def _translate(self, node: Node, direction: Direction) -> Schema:
        schema = self._schema(node, direction)
        used = self._used(schema)
        whole = {**schema, "$defs": used} if used else schema
        if weigh(whole) > self._limits.values:
            self._notes.add("E230", node, f"references make more than {self._limits.values:,} values of this schema.")
            return {}
        self._check(node, whole)
        return whole

    def _check(self, node: Node, schema: Schema) -> None:
        try:
            check_schema(dict(schema))
        except (ValueError, RecursionError) as error:
            said = getattr(error, "message", "") or type(error).__name__
            self._notes.add("E231", node, f"this is no JSON Schema: {said[:300]}.")

    def _schema(self, node: Node, direction: Direction) -> dict[str, Any]:
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                self._notes.add("E230", node, f"references lead more than {DEEPEST} levels deep.")
                return {}
            return self._dispatch(node, direction)
        finally:
            self._depth -= 1

    def _dispatch(self, node: Node, direction: Direction) -> dict[str, Any]:
        match node.value:
            case None:
                return {}
            case bool():
                return {} if node.value else {"not": {}}
            case [_]:
                self._notes.add("W223", node, "the schema is a list; its one element is used.", "leave the - out")
                return self._schema(next(node.elements()), direction)
            case [_, _, *_]:
                self._notes.add("E221", node, "the schema is a list of several.", "give one schema, or use anyOf")
                return {}
            case dict():
                return self._reference(node, direction) if has_reference(node) else self._plain(node, direction)
        self._notes.add("E231", node, "a schema should be a mapping.")
        return {}

    def _reference(self, node: Node, direction: Direction) -> dict[str, Any]:
        target = self._references.target(node)
        if target is None:
            return {}
        kept = ("description",) if self._is_old else tuple(node.value)
        beside = {key: node.value[key] for key in kept if key in node.value and key != "$ref"}
        if self._references.is_recursive(target):
            return {"$ref": f"#/$defs/{self._define(target, direction)}", **beside}
        key = (key_of(target), direction)
        if key not in self._ready:
            self._ready[key] = self._schema(target, direction)
        if not beside:
            return self._ready[key]
        written = Node(node.source, node.path, beside)
        return {**self._ready[key], **self._plain(written, direction)}

    def _define(self, target: Node, direction: Direction) -> str:
        key = (key_of(target), direction)
        if key not in self._names:
            last = str(target.path[-1]) if target.path else "document"
            base = re.sub(r"[^A-Za-z0-9_]", "_", last) + ("" if direction == "request" else "_read")
            taken = set(self._names.values())
            name = next(one for one in (base, *(f"{base}_{n}" for n in range(2, 10_000))) if one not in taken)
            self._names[key] = name
            depth, self._depth = self._depth, 0
            self._definitions[name] = self._schema(target, direction)
            self._depth = depth
        return self._names[key]

    def _used(self, schema: Any) -> dict[str, Any]:
        """The definitions that a schema leads to, and those that they lead to."""
        found: dict[str, Any] = {}
        todo = sorted(names_in(schema))
        while todo:
            name = todo.pop()
            if name not in found and name in self._definitions:
                found[name] = self._definitions[name]
                todo += sorted(names_in(found[name]))
        return found

    def _plain(self, node: Node, direction: Direction) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for key, child in node.items():
            if key in keywords.OF_ONE:
                schema[key] = self._schema(child, direction)
            elif key in keywords.OF_LISTS and isinstance(child.value, list):
                schema[key] = [self._schema(one, direction) for one in child.elements()]
                if key in ("anyOf", "oneOf") and len(schema[key]) > MOST_ALTERNATIVES:
                    said = f"{len(schema[key])} alternatives are many for a model."
                    self._notes.add("W224", child, said, f"at most {MOST_ALTERNATIVES}")
            elif key in keywords.OF_MAPS and isinstance(child.value, dict):
                schema[key] = {name: self._schema(one, direction) for name, one in child.items()}
            elif key not in keywords.DROPPED:
                schema[key] = child.value
        self._hide(node, schema, direction)
        keywords.settle(node, schema, self._notes, is_old=self._is_old, is_request=direction == "request")
        return keywords.merged(schema)

    def _hide(self, node: Node, schema: dict[str, Any], direction: Direction) -> None:
        """What is only read is not sent, and what is only written does not come back."""
        mark = "readOnly" if direction == "request" else "writeOnly"
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        hidden = {name for name, one in properties.items() if isinstance(one, dict) and one.get(mark) is True}
        if hidden:
            schema["properties"] = {name: one for name, one in properties.items() if name not in hidden}
            if isinstance(required := schema.get("required"), list):
                schema["required"] = [name for name in required if not isinstance(name, str) or name not in hidden]


def names_in(schema: Any) -> set[str]:
    """The definitions that a schema refers to by itself. Parts that stand in many places are looked at once."""
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
        said = one.get("$ref")
        if isinstance(said, str) and said.startswith("#/$defs/"):
            found.add(said.removeprefix("#/$defs/"))
        todo += one.values()
    return found


def weigh(value: Any, known: dict[int, int] | None = None) -> int:
    """How many values it is when written out. Parts that stand in many places are counted once, and weigh each time."""
    known = {} if known is None else known
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(weigh(one, known) for one in inner)
    return known[id(value)]
