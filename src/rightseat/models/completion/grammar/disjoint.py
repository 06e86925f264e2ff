"""`oneOf`: whether a value made for one option can fit another. A `True` is proven; a `False` may only be unknown."""

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from rightseat.core.json_schema import PATTERNS
from rightseat.models.completion.grammar import references
from rightseat.models.completion.grammar.listing import listed
from rightseat.models.completion.grammar.merging import flat

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

Schema = dict[str, Any] | bool
ALL = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
ADDING = frozenset({"anyOf", "oneOf", "dependentSchemas", "dependencies"})
"""What may declare further members."""
DEEPEST = 4


def apart(work: "Work", made: Schema, other: Schema, where: str, depth: int = 0) -> bool:
    """Whether no value that is generated for `made` fits `other`."""
    if made is False or other is False:
        return True
    work.step()
    if depth > DEEPEST:
        return False
    one, two = flat(work, made, where), flat(work, other, where)
    if one is False or two is False:
        return True
    if one is True or two is True:
        return False
    shared = _shared(kinds(one), kinds(two))
    if not shared:
        return True
    if (values := listed(one)) is not None:
        return not any(_fits(work, two, value) for value in values)
    if (values := listed(two)) is not None:
        return not any(_fits(work, one, value) for value in values)
    if shared <= {"integer", "number"}:
        return _outside(one, two)
    return shared == {"object"} and _objects_apart(work, one, two, where, depth)


def _shared(ours: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """An integer is a number."""
    mixed = ("integer" in ours and "number" in theirs) or ("number" in ours and "integer" in theirs)
    return ours & theirs | ({"integer"} if mixed else frozenset())


def tagged(work: "Work", options: list[Schema], where: str) -> bool:
    """Whether all are objects that a required member tells apart: the usual case, without comparing each with each."""
    flattened = [flat(work, option, where) for option in options]
    objects = [option for option in flattened if isinstance(option, dict) and option.get("type") == "object"]
    if len(objects) < len(options):
        return False
    names = set.intersection(
        *({*option.get("required", ())} & option.get("properties", {}).keys() for option in objects)
    )
    return any(_different([option["properties"][name] for option in objects]) for name in names)


def _different(tags: list[Schema]) -> bool:
    values = [value for tag in tags if isinstance(tag, dict) for value in listed(tag) or ()]
    told = all(isinstance(tag, dict) and listed(tag) for tag in tags)
    return told and all(isinstance(value, str) for value in values) and len({*values}) == len(values)


def kinds(schema: dict[str, Any]) -> frozenset[str]:
    values = listed(schema)
    if values is not None:
        return frozenset(kind_of(value) for value in values)
    kind = schema.get("type")
    return ALL if kind is None else frozenset([kind] if isinstance(kind, str) else kind)


def kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names: dict[type, str] = {float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _fits(work: "Work", schema: dict[str, Any], value: object) -> bool:
    """True also where it cannot be said."""
    try:
        return jsonschema_rs.is_valid(
            references.standing(work.root, schema), value, pattern_options=PATTERNS, offline=True
        )
    except (ValueError, jsonschema_rs.ReferencingError):
        return True


def _outside(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return _below(one, two) or _below(two, one)


def _below(low: dict[str, Any], high: dict[str, Any]) -> bool:
    for top in ("maximum", "exclusiveMaximum"):
        for bottom in ("minimum", "exclusiveMinimum"):
            if isinstance(low.get(top), int | float) and isinstance(high.get(bottom), int | float):
                open_ends = top.startswith("e") or bottom.startswith("e")
                if low[top] < high[bottom] or (open_ends and low[top] == high[bottom]):
                    return True
    return False


def _objects_apart(work: "Work", one: dict[str, Any], two: dict[str, Any], where: str, depth: int) -> bool:
    ours, theirs = one.get("properties", {}), two.get("properties", {})
    always, needed = set(one.get("required", ())), set(two.get("required", ()))
    if ours and not ADDING & one.keys() and needed - ours.keys() - always:
        return True  # only declared members are generated
    if two.get("additionalProperties") is False and "patternProperties" not in two and always - theirs.keys():
        return True
    telling = [name for name in always | needed if name in ours and name in theirs]
    return any(apart(work, ours[name], theirs[name], where, depth + 1) for name in telling)
