"""Proves that options of `oneOf` are disjoint. True is proven; False may also mean unknown.

A grammar can generate one of several options, but not exclude a value that fits two of them. Without the proof, a tool
with `oneOf` would be dropped, or its calls could be invalid. Pydantic writes discriminated unions as `oneOf`.
"""

from typing import Any

import jsonschema_rs

from rightseat.json_schema import SchemaValidator
from rightseat.models.completion.grammar import references
from rightseat.models.completion.grammar.all_of import flatten
from rightseat.models.completion.grammar.enums import list_values
from rightseat.models.completion.grammar.protocol import Compiler, Schema

ALL_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
MEMBER_KEYWORDS = frozenset({"anyOf", "oneOf", "dependentSchemas", "dependencies"})
"""Keywords that may declare further members."""
MAX_DEPTH = 4


def are_disjoint(compiler: Compiler, made: Schema, other: Schema, where: str, depth: int = 0) -> bool:
    """Whether no value generated for `made` is valid for `other`."""
    if made is False or other is False:
        return True
    compiler.count_step()
    if depth > MAX_DEPTH:
        return False
    one, two = flatten(compiler, made, where), flatten(compiler, other, where)
    if one is False or two is False:
        return True
    if one is True or two is True:
        return False
    shared = _intersect_types(list_types(one), list_types(two))
    if not shared:
        return True
    if (values := list_values(one)) is not None:
        return not any(_may_fit(compiler, two, value) for value in values)
    if (values := list_values(two)) is not None:
        return not any(_may_fit(compiler, one, value) for value in values)
    if shared <= {"integer", "number"}:
        return _have_disjoint_ranges(one, two)
    return shared == {"object"} and _are_objects_disjoint(compiler, one, two, where, depth)


def _intersect_types(ours: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """An integer is a number."""
    mixed = ("integer" in ours and "number" in theirs) or ("number" in ours and "integer" in theirs)
    return ours & theirs | ({"integer"} if mixed else frozenset())


def are_tagged(compiler: Compiler, options: list[Schema], where: str) -> bool:
    """Whether all options are objects with a distinct required constant; avoids comparing all pairs."""
    flattened = [flatten(compiler, option, where) for option in options]
    objects = [option for option in flattened if isinstance(option, dict) and option.get("type") == "object"]
    if len(objects) < len(options):
        return False
    names = set.intersection(
        *({*option.get("required", ())} & option.get("properties", {}).keys() for option in objects)
    )
    return any(_are_distinct([option["properties"][name] for option in objects]) for name in names)


def _are_distinct(tags: list[Schema]) -> bool:
    values = [value for tag in tags if isinstance(tag, dict) for value in list_values(tag) or ()]
    are_listed = all(isinstance(tag, dict) and list_values(tag) for tag in tags)
    return are_listed and all(isinstance(value, str) for value in values) and len({*values}) == len(values)


def list_types(schema: dict[str, Any]) -> frozenset[str]:
    values = list_values(schema)
    if values is not None:
        return frozenset(get_type(value) for value in values)
    kind = schema.get("type")
    return ALL_TYPES if kind is None else frozenset([kind] if isinstance(kind, str) else kind)


def get_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names: dict[type, str] = {float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _may_fit(compiler: Compiler, schema: dict[str, Any], value: object) -> bool:
    """True also if it cannot be determined."""
    try:
        return SchemaValidator(references.make_standalone(compiler.root, schema)).is_valid(value)
    except (ValueError, jsonschema_rs.ReferencingError):
        return True


def _have_disjoint_ranges(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return _below(one, two) or _below(two, one)


def _below(low: dict[str, Any], high: dict[str, Any]) -> bool:
    for top in ("maximum", "exclusiveMaximum"):
        for bottom in ("minimum", "exclusiveMinimum"):
            if isinstance(low.get(top), int | float) and isinstance(high.get(bottom), int | float):
                open_ends = top.startswith("e") or bottom.startswith("e")
                if low[top] < high[bottom] or (open_ends and low[top] == high[bottom]):
                    return True
    return False


def _are_objects_disjoint(compiler: Compiler, one: dict[str, Any], two: dict[str, Any], where: str, depth: int) -> bool:
    ours, theirs = one.get("properties", {}), two.get("properties", {})
    always, needed = set(one.get("required", ())), set(two.get("required", ()))
    if ours and not MEMBER_KEYWORDS & one.keys() and needed - ours.keys() - always:
        return True  # only declared members are generated
    if two.get("additionalProperties") is False and "patternProperties" not in two and always - theirs.keys():
        return True
    telling = [name for name in always | needed if name in ours and name in theirs]
    return any(are_disjoint(compiler, ours[name], theirs[name], where, depth + 1) for name in telling)
