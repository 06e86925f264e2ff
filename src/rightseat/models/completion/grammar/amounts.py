"""Numbers and integers: what a schema says of their size and step."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rightseat.models.completion.grammar.multiples import multiples
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.numbers import Bound, integers, numbers

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

LARGEST = 10**18
FINEST = Decimal(10) ** -9


def build(work: "Work", kind: str, schema: dict[str, Any], where: str) -> Node:
    low = _bound(work, schema, "minimum", "exclusiveMinimum", max, where)
    high = _bound(work, schema, "maximum", "exclusiveMaximum", min, where)
    digits = work.bounds.digits
    if "multipleOf" in schema:
        node = multiples(_step(work, kind, schema, where), low, high, digits)
    elif kind == "integer":
        node = integers(low.first(1) if low else None, high.first(-1) if high else None, digits)
    else:
        node = numbers(low, high, digits)
    if node is None:
        keyword = next((key for key in ("maximum", "exclusiveMaximum", "minimum") if key in schema), "multipleOf")
        work.impossible(where, keyword, f"leaves no {kind} that fits")
    return work.named(kind, node)


def _bound(
    work: "Work",
    schema: dict[str, Any],
    closed: str,
    strict: str,
    inner: Callable[[Iterable[Decimal]], Decimal],
    where: str,
) -> Bound | None:
    """The inner one of the two. One that is out of reach is none, or refused where all else is beyond it."""
    edge = schema.get(strict)
    limit = schema.get(closed)
    if isinstance(edge, bool):  # draft 4: it makes the other one strict
        edge, limit = (limit, None) if edge else (None, limit)
    bounds = [Bound(Decimal(str(edge)), True)] if edge is not None else []
    bounds += [Bound(Decimal(str(limit)), False)] if limit is not None else []
    if not bounds:
        return None
    at = inner(bound.at for bound in bounds)
    if abs(at) <= LARGEST:
        return next(bound for bound in bounds if bound.at == at)
    if (at > 0) is (closed == "minimum"):
        work.fail(where, closed if limit is not None else strict, f"is {at}; numbers are held to {LARGEST}")
    return None


def _step(work: "Work", kind: str, schema: dict[str, Any], where: str) -> Decimal:
    step = Decimal(str(schema["multipleOf"]))
    if not FINEST <= step <= LARGEST:
        work.fail(where, "multipleOf", f"is {step}; it can be enforced from {FINEST:f} to {LARGEST}")
    if kind == "integer":
        step = Decimal(step.as_integer_ratio()[0])
    return step
