"""Arrays: the first items one by one, the rest alike, as many as fit."""

from typing import TYPE_CHECKING, Any

from rightseat.models.completion.grammar import listing, objects
from rightseat.models.completion.grammar.listing import listed
from rightseat.models.completion.grammar.merging import flat, in_order
from rightseat.models.completion.grammar.nodes import Literal, Node, Repeat, Sequence

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

EMPTY = Literal("[]")
MOST_FIRST = 64


def build(work: "Work", schema: dict[str, Any], where: str) -> Node:
    first, rest = in_order(schema)
    first, rest = contained(work, schema, list(first), rest, where)
    least, most = count(work, schema, first, where)
    if schema.get("uniqueItems") and most > 1:
        if (values := plain_values(work, first, rest, where)) is not None:
            return unique(work, rest, values, least, most, where)
        most = single(work, least, where)
    if rest is False:
        most = min(most, len(first))
        if least > most:
            work.impossible(where, "minItems", f"is {least}, and {most} items are allowed")
    if most == 0:
        return EMPTY
    if len(first) > MOST_FIRST:
        work.fail(where, "prefixItems", f"has {len(first)} schemas; {MOST_FIRST} are the most")
    return work.named("array", Sequence((Literal("["), _items(work, first, rest, least, most, where), Literal("]"))))


def contained(work: "Work", schema: dict[str, Any], first: list[Any], rest: Any, where: str) -> tuple[list[Any], Any]:
    """What `contains` asks for is put first."""
    if "contains" not in schema or schema.get("minContains", 1) == 0:
        return first, rest
    if first:
        work.fail(where, "contains", "stands beside `prefixItems`; one of the two can be enforced")
    wanted = schema["contains"] if rest is True else {"allOf": [rest, schema["contains"]]}
    times = int(schema.get("minContains", 1))
    if times > MOST_FIRST:
        work.fail(where, "minContains", f"is {times}; {MOST_FIRST} are the most")
    return [wanted] * times, rest


def count(work: "Work", schema: dict[str, Any], first: list[Any], where: str) -> tuple[int, int]:
    bounds = work.bounds
    least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
    if "contains" in schema:
        least = max(least, len(first))
    if most is not None and most < least:
        work.fail(where, "maxItems", f"is {most}, below the {least} that must be there: no array fits")
    if least > bounds.most_items:
        work.fail(where, "minItems", f"is {least}; an array is held to {bounds.most_items} items at most")
    if most is not None:
        return least, min(int(most), bounds.most_items)
    if first and "items" not in schema and "contains" not in schema:
        return least, max(least, len(first))
    return least, max(bounds.items, least, len(first))


def plain_values(work: "Work", first: list[Any], rest: Any, where: str) -> list[Any] | None:
    """What the items may be, where that is a list of plain values."""
    rest = flat(work, rest, where)
    values = listed(rest) if isinstance(rest, dict) and not first else None
    return None if values is None or any(isinstance(value, dict | list) for value in values) else values


def unique(work: "Work", rest: Any, values: list[Any], least: int, most: int, where: str) -> Node:
    """Each value of the items' `enum` at most once, in its order."""
    rest = flat(work, rest, where)
    kept = [*dict.fromkeys(listing.text(value) for value in listing.fitting(work, rest, values, where))]
    if least > len(kept):
        work.impossible(where, "minItems", f"is {least}, and there are {len(kept)} different values")
    members = [objects.Member(Literal(text), False) for text in kept]
    inside = objects.listed(work, members, least, min(most, len(kept)), where, "uniqueItems")
    return work.named("array", Sequence((Literal("["), inside, Literal("]"))))


def single(work: "Work", least: int, where: str) -> int:
    """How many items an array has whose items no grammar can tell apart: one is always unique."""
    if least > 1:
        text = "can be enforced for more than one item only where the items are an `enum` of plain values"
        work.fail(where, "uniqueItems", text)
    work.narrow(where, "uniqueItems", "is held by an array of one item at most, as the items are no `enum`")
    return 1


def _items(work: "Work", first: list[Any], rest: Any, least: int, most: int, where: str) -> Node:
    """From the last one to the first: what may be missing is optional together with all that is behind it."""
    comma = (Literal(","), work.space)
    single = first[:most]
    inside: Node | None = None
    if most > len(single) and rest is not False:
        inside = _alike(
            work, work.build(rest, f"{where}/items"), max(0, least - len(single)), most - len(single), bool(single)
        )
    for place in range(len(single) - 1, -1, -1):
        item = work.build(single[place], f"{where}/prefixItems/{place}")
        parts: list[Node] = [*comma, item] if place else [item]
        inside = Sequence((*parts, *([inside] if inside is not None else [])))
        if place >= least:
            inside = Repeat(inside, 0, 1)
    return inside if inside is not None else Literal("")


def _alike(work: "Work", item: Node, least: int, most: int, behind: bool) -> Node:
    more = Sequence((Literal(","), work.space, item))
    if behind:
        return Repeat(more, least, most)
    inside: Node = Sequence((item, Repeat(more, max(0, least - 1), most - 1))) if most > 1 else item
    return inside if least else Repeat(inside, 0, 1)
