"""Compiles arrays: the first items one by one, the rest by one schema, within the length limits."""

from typing import Any

from rightseat.models.completion.grammar import enums, objects
from rightseat.models.completion.grammar.all_of import flatten, split_items
from rightseat.models.completion.grammar.enums import list_values
from rightseat.models.completion.grammar.nodes import Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.protocol import Compiler

EMPTY = LiteralText("[]")
MAX_PREFIX_ITEMS = 64


def build(compiler: Compiler, schema: dict[str, Any], where: str) -> Node:
    first, rest = split_items(schema)
    first, rest = apply_contains(compiler, schema, list(first), rest, where)
    least, most = read_length(compiler, schema, first, where)
    if schema.get("uniqueItems") and most > 1:
        if (values := find_plain_values(compiler, first, rest, where)) is not None:
            return build_unique(compiler, rest, values, least, most, where)
        most = single(compiler, least, where)
    if rest is False:
        most = min(most, len(first))
        if least > most:
            compiler.fail_unsatisfiable(where, "minItems", f"is {least}, and {most} items are allowed")
    if most == 0:
        return EMPTY
    if len(first) > MAX_PREFIX_ITEMS:
        compiler.fail(where, "prefixItems", f"has {len(first)} schemas; the maximum is {MAX_PREFIX_ITEMS}")
    return compiler.named(
        "array", Concat((LiteralText("["), _build_items(compiler, first, rest, least, most, where), LiteralText("]")))
    )


def apply_contains(
    compiler: Compiler, schema: dict[str, Any], first: list[Any], rest: Any, where: str
) -> tuple[list[Any], Any]:
    """Put the items that `contains` requires first."""
    if "contains" not in schema or schema.get("minContains", 1) == 0:
        return first, rest
    if first:
        compiler.fail(where, "contains", "stands beside `prefixItems`; one of the two can be enforced")
    wanted = schema["contains"] if rest is True else {"allOf": [rest, schema["contains"]]}
    times = int(schema.get("minContains", 1))
    if times > MAX_PREFIX_ITEMS:
        compiler.fail(where, "minContains", f"is {times}; the maximum is {MAX_PREFIX_ITEMS}")
    return [wanted] * times, rest


def read_length(compiler: Compiler, schema: dict[str, Any], first: list[Any], where: str) -> tuple[int, int]:
    bounds = compiler.bounds
    least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
    if "contains" in schema:
        least = max(least, len(first))
    if most is not None and most < least:
        compiler.fail(where, "maxItems", f"is {most}, below the {least} that must be there: no array fits")
    if least > bounds.most_items:
        compiler.fail(where, "minItems", f"is {least}; arrays are limited to {bounds.most_items} items")
    if most is not None:
        return least, min(int(most), bounds.most_items)
    if first and "items" not in schema and "contains" not in schema:
        return least, max(least, len(first))
    return least, max(bounds.items, least, len(first))


def find_plain_values(compiler: Compiler, first: list[Any], rest: Any, where: str) -> list[Any] | None:
    """Return the allowed values if the items are an `enum` of plain values, else None."""
    rest = flatten(compiler, rest, where)
    values = list_values(rest) if isinstance(rest, dict) and not first else None
    return None if values is None or any(isinstance(value, dict | list) for value in values) else values


def build_unique(compiler: Compiler, rest: Any, values: list[Any], least: int, most: int, where: str) -> Node:
    """Allow each value of the items' `enum` at most once, in order."""
    rest = flatten(compiler, rest, where)
    kept = [*dict.fromkeys(enums.to_json(value) for value in enums.filter_valid(compiler, rest, values, where))]
    if least > len(kept):
        compiler.fail_unsatisfiable(where, "minItems", f"is {least}, and there are {len(kept)} different values")
    members = [objects.Member(LiteralText(text), False) for text in kept]
    inside = objects.join_members(compiler, members, least, min(most, len(kept)), where, "uniqueItems")
    return compiler.named("array", Concat((LiteralText("["), inside, LiteralText("]"))))


def single(compiler: Compiler, least: int, where: str) -> int:
    """Limit the array to one item, because a grammar cannot compare items that are not an `enum`."""
    if least > 1:
        text = "can be enforced for more than one item only where the items are an `enum` of plain values"
        compiler.fail(where, "uniqueItems", text)
    compiler.narrow(where, "uniqueItems", "limits the array to one item, because the items are not an `enum`")
    return 1


def _build_items(compiler: Compiler, first: list[Any], rest: Any, least: int, most: int, where: str) -> Node:
    """Build from the last item to the first: an optional item is optional together with all that follow."""
    comma = (LiteralText(","), compiler.space)
    single = first[:most]
    inside: Node | None = None
    if most > len(single) and rest is not False:
        inside = _build_rest(
            compiler,
            compiler.build(rest, f"{where}/items"),
            max(0, least - len(single)),
            most - len(single),
            bool(single),
        )
    for place in range(len(single) - 1, -1, -1):
        item = compiler.build(single[place], f"{where}/prefixItems/{place}")
        parts: list[Node] = [*comma, item] if place else [item]
        inside = Concat((*parts, *([inside] if inside is not None else [])))
        if place >= least:
            inside = Repeat(inside, 0, 1)
    return inside if inside is not None else LiteralText("")


def _build_rest(compiler: Compiler, item: Node, least: int, most: int, behind: bool) -> Node:
    more = Concat((LiteralText(","), compiler.space, item))
    if behind:
        return Repeat(more, least, most)
    inside: Node = Concat((item, Repeat(more, max(0, least - 1), most - 1))) if most > 1 else item
    return inside if least else Repeat(inside, 0, 1)
