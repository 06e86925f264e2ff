"""Merges two schemas into one that accepts only values that both accept.

`base` is the outer schema; `other` is one of its `allOf`, an option, or the target of its `$ref`. A keyword that cannot
be merged fails with its name.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.json_schema import PATTERNS
from rightseat.models.completion.grammar.keywords import NON_ASSERTIONS, select_assertions
from rightseat.models.completion.grammar.protocol import Compiler, Schema

PROPERTY_KEYWORDS = frozenset({"properties", "patternProperties", "additionalProperties"})
ITEM_KEYWORDS = frozenset({"prefixItems", "items", "additionalItems"})


def merge(compiler: Compiler, base: Schema, other: Schema, where: str) -> Schema:
    if base is False or other is False:
        return False
    base, other = resolve_head(compiler, base, where), resolve_head(compiler, other, where)
    if base is False or other is False:
        return False
    if base is True or other is True:
        return other if base is True else base
    compiler.count_step()
    merged = dict(base)
    for key, value in other.items():
        if key in PROPERTY_KEYWORDS or key in ITEM_KEYWORDS:
            continue
        if key.startswith("unevaluated"):
            compiler.fail(where, key, "is inside a combination, where it cannot be enforced")
        if key not in merged:
            merged[key] = value
        elif merged[key] != value or type(merged[key]) is not type(value):
            combined = _combine(compiler, key, merged[key], value, where)
            if combined is UNSATISFIABLE:
                return False
            merged[key] = combined
    if PROPERTY_KEYWORDS & other.keys():
        _merge_properties(compiler, merged, base, other, where)
    if ITEM_KEYWORDS & other.keys():
        _merge_items(compiler, merged, base, other, where)
    return merged


def resolve_head(compiler: Compiler, schema: Schema, where: str) -> Schema:
    """Return the schema with its top-level `$ref` resolved."""
    seen: set[str] = set()
    while isinstance(schema, dict) and "$ref" in schema:
        reference = schema["$ref"]
        if reference in seen:
            compiler.fail(where, "$ref", f"{reference!r} is circular")
        seen.add(reference)
        compiler.count_step()
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = compiler.resolve(reference, where)
        if not select_assertions(beside):
            schema = target
        elif isinstance(target, dict) and "$ref" in target:
            schema = {**target, "allOf": [beside, *target.get("allOf", ())]}
        else:
            schema = merge(compiler, beside, target, where)
    return schema


def flatten(compiler: Compiler, schema: Schema, where: str) -> Schema:
    """Return the schema with its top-level `$ref` and `allOf` resolved."""
    schema = resolve_head(compiler, schema, where)
    rounds = 0
    while isinstance(schema, dict) and "allOf" in schema:
        rounds += 1
        if rounds > compiler.bounds.depth:
            compiler.fail(where, "allOf", "combines schemas endlessly")
        merged: Schema = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            merged = merge(compiler, merged, part, where)
        if merged is False:
            compiler.fail_unsatisfiable(where, "allOf", "has parts that no value satisfies together")
        schema = resolve_head(compiler, merged, where)
    return schema


def check_option_count(compiler: Compiler, number: int, where: str) -> None:
    if number > compiler.bounds.options:
        compiler.fail(where, "anyOf", f"expands to {number} options; the maximum is {compiler.bounds.options}")


UNSATISFIABLE = object()


def _combine(compiler: Compiler, key: str, one: Any, two: Any, where: str) -> Any:
    if key in NON_ASSERTIONS:
        return one
    combine = MERGERS.get(key)
    if combine is None:
        compiler.fail(where, key, "is given twice by combined schemas, in ways that cannot be merged")
    return combine(compiler, one, two)


def _intersect_types(_: Compiler, one: Any, two: Any) -> Any:
    ours = [one] if isinstance(one, str) else one
    theirs = [two] if isinstance(two, str) else two
    kept = [kind for kind in ours if kind in theirs or (kind == "integer" and "number" in theirs)]
    kept += [kind for kind in theirs if kind == "integer" and "number" in ours and kind not in kept]
    return kept or UNSATISFIABLE


def _intersect_values(_: Compiler, one: Any, two: Any) -> Any:
    theirs = {msgspec.json.encode(value, order="deterministic") for value in two}
    return [value for value in one if msgspec.json.encode(value, order="deterministic") in theirs] or UNSATISFIABLE


def _multiply_options(compiler: Compiler, one: Any, two: Any) -> Any:
    check_option_count(compiler, len(one) * len(two), compiler.where)
    return [{"allOf": [first, second]} for first in one for second in two]


def _merge_multiple_of(compiler: Compiler, one: Any, two: Any) -> Any:
    if isinstance(one, int) and isinstance(two, int):
        return math.lcm(one, two)
    compiler.fail(compiler.where, "multipleOf", f"is both {one} and {two}")


def _merge_dependent(_: Compiler, one: Any, two: Any) -> Any:
    return {**one, **{name: two[name] if name not in one else [*one[name], *two[name]] for name in two}}


Merger = Callable[[Compiler, Any, Any], Any]
MERGERS: dict[str, Merger] = {
    "type": _intersect_types,
    "enum": _intersect_values,
    "const": lambda _, one, two: UNSATISFIABLE,
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
    "multipleOf": _merge_multiple_of,
    "pattern": lambda _, one, two: (one, two),
    "propertyNames": lambda _, one, two: {"allOf": [one, two]},
    "dependentRequired": _merge_dependent,
    "allOf": lambda _, one, two: [*one, *two],
    "anyOf": _multiply_options,
}


def _merge_properties(
    compiler: Compiler, merged: dict[str, Any], base: dict[str, Any], other: dict[str, Any], where: str
) -> None:
    """A property declared on one side must also satisfy the other side's rules for undeclared properties."""
    for one, two in ((base, other), (other, base)):
        if "patternProperties" in one and ("additionalProperties" in two or two.get("patternProperties")):
            compiler.fail(where, "patternProperties", "is combined with another schema's rules for unnamed properties")
    names = dict.fromkeys([*base.get("properties", ()), *other.get("properties", ())])
    if names or "properties" in base or "properties" in other:
        merged["properties"] = {
            name: _intersect(_find_property_schema(base, name), _find_property_schema(other, name)) for name in names
        }
    if "additionalProperties" in other:
        merged["additionalProperties"] = _intersect(
            base.get("additionalProperties", True), other["additionalProperties"]
        )
    if "patternProperties" in other:
        merged["patternProperties"] = other["patternProperties"]


def _find_property_schema(schema: dict[str, Any], name: str) -> Schema:
    declared: dict[str, Schema] = schema.get("properties", {})
    if name in declared:
        return declared[name]
    if any(matches(pattern, name) for pattern in schema.get("patternProperties", ())):
        return True
    undeclared: Schema = schema.get("additionalProperties", True)
    return undeclared


def matches(pattern: str, name: str) -> bool:
    validator = _compile_pattern(pattern)
    return validator is None or validator.is_valid(name)


@lru_cache(256)
def _compile_pattern(pattern: str) -> jsonschema_rs.Draft202012Validator | None:
    """None if the pattern is not a valid regular expression, which fails later, when it is compiled."""
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=PATTERNS, offline=True)
    except ValueError:
        return None


def _intersect(one: Schema, two: Schema) -> Schema:
    if one is False or two is False:
        return False
    if one is True or two is True or one is two:
        return two if one is True else one
    return {"allOf": [one, two]}


def _merge_items(
    compiler: Compiler, merged: dict[str, Any], base: dict[str, Any], other: dict[str, Any], where: str
) -> None:
    (ours, rest), (theirs, others) = split_items(base), split_items(other)
    merged.pop("additionalItems", None)
    width = max(len(ours), len(theirs))
    if width:
        merged["prefixItems"] = [
            _intersect(ours[place] if place < len(ours) else rest, theirs[place] if place < len(theirs) else others)
            for place in range(width)
        ]
    merged["items"] = _intersect(rest, others)
    if merged["items"] is True and "items" not in base and "items" not in other:
        del merged["items"]


def split_items(schema: dict[str, Any]) -> tuple[list[Schema], Schema]:
    """Return the schemas of the first items, and the schema of the rest, for the keywords of any draft."""
    items = schema.get("items", True)
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    return schema.get("prefixItems", []), items
