"""Counts the work of a validation before it is done: alternatives and references can multiply it without bound.

Thirty definitions that each name the next one twice are 2 kB, and a billion comparisons.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

MAX_VISITS = 50_000
"""Takes 0.1 s to count, and less to validate."""
MAX_VISITS_WITH_REASONS = 1_000
"""A reason takes 45 us to write, and each alternative has its own."""
MAX_PATTERNS = 1_000
MAX_COUNTED_PATTERNS = 100
"""Patterns that take up to 2 ms each to compile."""

COUNTED = re.compile(r"\{\d|\\[pPwWdDsS]")
BACKTRACKING = re.compile(r"\(\?[=!<]|\\[1-9]")
BACKTRACKING_VISITS = 250  # 10,000 steps take 0.5 ms
VALUES_IN_A_VISIT = 20  # of `enum`
META_SCHEMAS = re.compile(r"https?://json-schema\.org/")

ONE = ("not", "if", "then", "else")
MANY = ("allOf", "anyOf", "oneOf")
BY_NAME = ("dependentSchemas", "dependencies")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
OF_MEMBERS = ("additionalProperties", "unevaluatedProperties")
OF_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")
UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


class SchemaTooCostly(ValueError):
    """The schema, or a validation against it, would take too long."""


def check_patterns(schema: Any) -> None:
    """Raises `SchemaTooCostly` if the patterns would take too long to compile."""
    patterns = [pattern for list_object in list_objects(schema) for pattern in list_patterns(list_object)]
    counted = sum(COUNTED.search(pattern) is not None for pattern in patterns)
    if len(patterns) > MAX_PATTERNS or counted > MAX_COUNTED_PATTERNS:
        raise SchemaTooCostly(
            f"the schema has {len(patterns):,} patterns, {counted:,} of them with counts or classes; the maxima are "
            f"{MAX_PATTERNS:,} and {MAX_COUNTED_PATTERNS:,}"
        )


def list_objects(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and everything in it that may be one, the outermost first."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def list_patterns(schema: dict[str, Any]) -> list[str]:
    rules = schema.get("patternProperties")
    found = [*rules] if isinstance(rules, dict) else []
    if isinstance(schema.get("pattern"), str):
        found.append(schema["pattern"])
    return found


class AppliedSchema(NamedTuple):
    """What a schema applies: to the same value, to its members by name, to each member, each name, and the items."""

    visits: int
    same: Sequence[Any]
    properties: dict[str, Any]
    members: Sequence[Any]
    names: Sequence[Any]
    first_items: Sequence[Any]
    items: Sequence[Any]
    backtracks: bool


class SchemaCost:
    """Of one schema, for many values."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._applied: dict[int, AppliedSchema | None] = {}
        self._ending: set[int] = set()  # schemas that do not lead back to themselves for the same value
        self._anchors: dict[str, Any] | None = None

    def check(self, value: Any, most: int = MAX_VISITS) -> int:
        """How many subschemas are applied to the value and its parts. Raises `SchemaTooCostly` above `most`."""
        visits, waiting, known = 0, [(self._root, value)], self._applied
        while waiting:
            schema, part = waiting.pop()
            visits += 1
            applied = known[id(schema)] if id(schema) in known else self._describe(schema)
            if applied is None:
                continue
            if id(schema) not in self._ending:
                self._refuse_circles(schema)
            visits += applied.visits
            if applied.backtracks and isinstance(part, str):
                visits += BACKTRACKING_VISITS
            waiting += [(one, part) for one in applied.same]
            coming = count_parts(applied, part)  # in advance: a list may have millions of items
            if visits + len(waiting) + coming > most:
                raise refuse_steps(most)
            if isinstance(part, dict):
                waiting += [(inner, part[name]) for name, inner in applied.properties.items() if name in part]
                waiting += [(member, inner) for member in applied.members for inner in part.values()]
                waiting += [(one, name) for one in applied.names for name in part]
            elif isinstance(part, list):
                waiting += zip(applied.first_items, part, strict=False)
                waiting += [(item, inner) for item in applied.items for inner in part]
        if visits > most:
            raise refuse_steps(most)
        return visits

    def _describe(self, schema: Any) -> AppliedSchema | None:
        applied = describe(schema, self._list_same(schema)) if isinstance(schema, dict) else None
        self._applied[id(schema)] = applied
        return applied

    def _refuse_circles(self, schema: Any) -> None:
        """Raises `SchemaTooCostly` if the schema, or one that it applies, applies itself to the same value."""
        waiting = [(schema, iter(self._find_same(schema)))]
        above = {id(schema)}
        while waiting:
            current, others = waiting[-1]
            inner = next((other for other in others if id(other) not in self._ending), None)
            if inner is None:
                waiting.pop()
                above.discard(id(current))
                self._ending.add(id(current))
            elif id(inner) in above:
                raise SchemaTooCostly("the schema applies itself to the same value, again and again: see its `$ref`")
            else:
                waiting.append((inner, iter(self._find_same(inner))))
                above.add(id(inner))

    def _find_same(self, schema: Any) -> Sequence[Any]:
        applied = self._applied[id(schema)] if id(schema) in self._applied else self._describe(schema)
        return applied.same if applied else ()

    def _list_same(self, schema: dict[str, Any]) -> list[Any]:
        found = [schema[name] for name in ONE if name in schema]
        for name in MANY:
            if isinstance(schema.get(name), list):
                found += schema[name]
        for name in BY_NAME:
            if isinstance(schema.get(name), dict):
                found += schema[name].values()
        found += [self._resolve(schema[name]) for name in REFERENCES if isinstance(schema.get(name), str)]
        return found * (2 if any(name in schema for name in UNEVALUATED) else 1)  # again, for what they have evaluated

    def _resolve(self, reference: str) -> Any:
        """Raises `SchemaTooCostly` for a reference that leads elsewhere than to a place or an anchor in the schema."""
        anchors = self._find_anchors()
        place, _, fragment = reference.partition("#")
        if META_SCHEMAS.match(place):
            return True
        if not (fragment.startswith("/") or reference == "#"):
            if (fragment or place) in anchors and not (fragment and place):
                return anchors[fragment or place]
            raise refuse_reference(reference)
        if place:
            raise refuse_reference(reference)
        found = self._root
        for piece in unquote(fragment).split("/")[1:]:
            name = piece.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                raise refuse_reference(reference)
        return found

    def _find_anchors(self) -> dict[str, Any]:
        """Schemas by their anchors. Raises `SchemaTooCostly` if references may be relative to a part of the schema."""
        if self._anchors is None:
            anchors: dict[str, Any] = {}
            for list_object in list_objects(self._root):
                if list_object is not self._root and any(
                    isinstance(list_object.get(name), str) for name in ("$id", "id")
                ):
                    raise SchemaTooCostly("a schema with references cannot have `$id` in a part of it")
                for name in ("$anchor", "$dynamicAnchor"):
                    if (
                        isinstance(list_object.get(name), str)
                        and anchors.setdefault(list_object[name], list_object) is not list_object
                    ):
                        raise SchemaTooCostly(f"the anchor {list_object[name]!r} is in the schema twice")
            self._anchors = anchors
        return self._anchors


def count_parts(applied: AppliedSchema, part: Any) -> int:
    """To how many parts of this one the schema applies others, at least."""
    if isinstance(part, dict):
        return (len(applied.members) + len(applied.names)) * len(part)
    return len(applied.items) * len(part) if isinstance(part, list) else 0


def refuse_steps(most: int) -> SchemaTooCostly:
    return SchemaTooCostly(f"the validation needs more than {most:,} steps: alternatives and references multiply")


def refuse_reference(reference: str) -> SchemaTooCostly:
    return SchemaTooCostly(f"the reference {reference[:200]!r} leads to no place and to no anchor in the schema")


def describe(schema: dict[str, Any], same: Sequence[Any]) -> AppliedSchema | None:
    """None if nothing is applied, and the schema itself costs nothing more."""
    rules, properties = schema.get("patternProperties"), schema.get("properties")
    first = [one for name in ("prefixItems", "items") if isinstance(schema.get(name), list) for one in schema[name]]
    applied = AppliedSchema(
        visits=len(schema["enum"]) // VALUES_IN_A_VISIT if isinstance(schema.get("enum"), list) else 0,
        same=same,
        properties=properties if isinstance(properties, dict) else {},
        members=[
            *(schema[name] for name in OF_MEMBERS if isinstance(schema.get(name), dict)),
            *(rules.values() if isinstance(rules, dict) else ()),
        ],
        names=[
            *([schema["propertyNames"]] if isinstance(schema.get("propertyNames"), dict) else ()),
            *({"pattern": pattern} for pattern in (rules if isinstance(rules, dict) else ())),
        ],
        first_items=first,
        items=[schema[name] for name in OF_ITEMS if isinstance(schema.get(name), dict)],
        backtracks=any(BACKTRACKING.search(pattern) for pattern in list_patterns(schema)),
    )
    return applied if any(applied) else None
