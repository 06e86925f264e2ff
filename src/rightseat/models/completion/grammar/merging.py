"""Two schemas → one that takes what both take.

`base` stands outside, `other` is one of its `allOf`, an option, or what its `$ref` names. What cannot be merged is
refused by name.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import msgspec

from rightseat.core.json_schema import PATTERNS
from rightseat.models.completion.grammar.keywords import ALONE, significant

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

Schema = dict[str, Any] | bool
TOGETHER = frozenset({"properties", "patternProperties", "additionalProperties"})
IN_ORDER = frozenset({"prefixItems", "items", "additionalItems"})


def merge(work: "Work", base: Schema, other: Schema, where: str) -> Schema:
    if base is False or other is False:
        return False
    base, other = opened(work, base, where), opened(work, other, where)
    if base is False or other is False:
        return False
    if base is True or other is True:
        return other if base is True else base
    work.step()
    merged = dict(base)
    for key, value in other.items():
        if key in TOGETHER or key in IN_ORDER:
            continue
        if key.startswith("unevaluated"):
            work.fail(where, key, "stands inside of a combination, where it cannot be enforced")
        if key not in merged:
            merged[key] = value
        elif merged[key] != value or type(merged[key]) is not type(value):
            combined = _combine(work, key, merged[key], value, where)
            if combined is NOTHING:
                return False
            merged[key] = combined
    if TOGETHER & other.keys():
        _properties(work, merged, base, other, where)
    if IN_ORDER & other.keys():
        _items(work, merged, base, other, where)
    return merged


def opened(work: "Work", schema: Schema, where: str) -> Schema:
    """The schema without a `$ref` at its head."""
    seen: set[str] = set()
    while isinstance(schema, dict) and "$ref" in schema:
        reference = schema["$ref"]
        if reference in seen:
            work.fail(where, "$ref", f"{reference!r} goes round in a circle")
        seen.add(reference)
        work.step()
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = work.target(reference, where)
        if not significant(beside):
            schema = target
        elif isinstance(target, dict) and "$ref" in target:
            schema = {**target, "allOf": [beside, *target.get("allOf", ())]}
        else:
            schema = merge(work, beside, target, where)
    return schema


def flat(work: "Work", schema: Schema, where: str) -> Schema:
    """The schema without `$ref` and `allOf` at its head."""
    schema = opened(work, schema, where)
    rounds = 0
    while isinstance(schema, dict) and "allOf" in schema:
        rounds += 1
        if rounds > work.bounds.depth:
            work.fail(where, "allOf", "combines schemas without end")
        merged: Schema = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            merged = merge(work, merged, part, where)
        if merged is False:
            work.impossible(where, "allOf", "has parts that no value fits at once")
        schema = opened(work, merged, where)
    return schema


def count(work: "Work", number: int, where: str) -> None:
    if number > work.bounds.options:
        work.fail(where, "anyOf", f"comes to {number} options; {work.bounds.options} are the most")


NOTHING = object()


def _combine(work: "Work", key: str, one: Any, two: Any, where: str) -> Any:
    if key in ALONE:
        return one
    combine = COMBINED.get(key)
    if combine is None:
        work.fail(where, key, "is given twice by combined schemas, in ways that cannot be merged")
    return combine(work, one, two)


def _types(_: "Work", one: Any, two: Any) -> Any:
    ours = [one] if isinstance(one, str) else one
    theirs = [two] if isinstance(two, str) else two
    kept = [kind for kind in ours if kind in theirs or (kind == "integer" and "number" in theirs)]
    kept += [kind for kind in theirs if kind == "integer" and "number" in ours and kind not in kept]
    return kept or NOTHING


def _common(_: "Work", one: Any, two: Any) -> Any:
    theirs = {msgspec.json.encode(value, order="deterministic") for value in two}
    return [value for value in one if msgspec.json.encode(value, order="deterministic") in theirs] or NOTHING


def _options(work: "Work", one: Any, two: Any) -> Any:
    count(work, len(one) * len(two), work.where)
    return [{"allOf": [first, second]} for first in one for second in two]


def _step(work: "Work", one: Any, two: Any) -> Any:
    if isinstance(one, int) and isinstance(two, int):
        return math.lcm(one, two)
    work.fail(work.where, "multipleOf", f"is {one} and {two} at once")


def _named(_: "Work", one: Any, two: Any) -> Any:
    return {**one, **{name: two[name] if name not in one else [*one[name], *two[name]] for name in two}}


Combine = Callable[["Work", Any, Any], Any]
COMBINED: dict[str, Combine] = {
    "type": _types,
    "enum": _common,
    "const": lambda _, one, two: NOTHING,
    "required": lambda _, one, two: [*one, *(name for name in two if name not in one)],
    "minimum": lambda _, one, two: max(one, two),
    "exclusiveMinimum": lambda _, one, two: max(one, two),
    "maximum": lambda _, one, two: min(one, two),
    "exclusiveMaximum": lambda _, one, two: min(one, two),
    "minLength": lambda _, one, two: max(one, two),
    "maxLength": lambda _, one, two: min(one, two),
    "minItems": lambda _, one, two: max(one, two),
    "maxItems": lambda _, one, two: min(one, two),
    "minProperties": lambda _, one, two: max(one, two),
    "maxProperties": lambda _, one, two: min(one, two),
    "minContains": lambda _, one, two: max(one, two),
    "uniqueItems": lambda _, one, two: one or two,
    "multipleOf": _step,
    "pattern": lambda _, one, two: (one, two),
    "propertyNames": lambda _, one, two: {"allOf": [one, two]},
    "dependentRequired": _named,
    "allOf": lambda _, one, two: [*one, *two],
    "anyOf": _options,
}


def _properties(work: "Work", merged: dict[str, Any], base: dict[str, Any], other: dict[str, Any], where: str) -> None:
    """A property of one side alone must also fit what the other side says of all it does not name."""
    for one, two in ((base, other), (other, base)):
        if "patternProperties" in one and ("additionalProperties" in two or two.get("patternProperties")):
            work.fail(where, "patternProperties", "is combined with another schema's rules for unnamed properties")
    names = dict.fromkeys([*base.get("properties", ()), *other.get("properties", ())])
    if names or "properties" in base or "properties" in other:
        merged["properties"] = {name: _both(_said(base, name), _said(other, name)) for name in names}
    if "additionalProperties" in other:
        merged["additionalProperties"] = _both(base.get("additionalProperties", True), other["additionalProperties"])
    if "patternProperties" in other:
        merged["patternProperties"] = other["patternProperties"]


def _said(schema: dict[str, Any], name: str) -> Schema:
    declared: dict[str, Schema] = schema.get("properties", {})
    if name in declared:
        return declared[name]
    if any(matches(pattern, name) for pattern in schema.get("patternProperties", ())):
        return True
    said: Schema = schema.get("additionalProperties", True)
    return said


def matches(pattern: str, name: str) -> bool:
    validator = _compiled(pattern)
    return validator is None or validator.is_valid(name)


@lru_cache(256)
def _compiled(pattern: str) -> jsonschema_rs.Draft202012Validator | None:
    """None: it is no regular expression, and refused where it is built."""
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=PATTERNS, offline=True)
    except ValueError:
        return None


def _both(one: Schema, two: Schema) -> Schema:
    if one is False or two is False:
        return False
    if one is True or two is True or one is two:
        return two if one is True else one
    return {"allOf": [one, two]}


def _items(work: "Work", merged: dict[str, Any], base: dict[str, Any], other: dict[str, Any], where: str) -> None:
    (ours, rest), (theirs, others) = in_order(base), in_order(other)
    merged.pop("additionalItems", None)
    width = max(len(ours), len(theirs))
    if width:
        merged["prefixItems"] = [
            _both(ours[place] if place < len(ours) else rest, theirs[place] if place < len(theirs) else others)
            for place in range(width)
        ]
    merged["items"] = _both(rest, others)
    if merged["items"] is True and "items" not in base and "items" not in other:
        del merged["items"]


def in_order(schema: dict[str, Any]) -> tuple[list[Schema], Schema]:
    """The schemas of the first items, and that of all behind them; in the words of every draft."""
    items = schema.get("items", True)
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    return schema.get("prefixItems", []), items
