"""Reads the bounds and the step of numbers and integers, and compiles them."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from rightseat.models.completion.grammar.multiples import build_multiples
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.numbers import Bound, build_integers, build_numbers
from rightseat.models.completion.grammar.protocol import Compiler

MAX_NUMBER = 10**18
MIN_STEP = Decimal(10) ** -9


def build(compiler: Compiler, kind: str, schema: dict[str, Any], where: str) -> Node:
    low = _read_bound(compiler, schema, "minimum", "exclusiveMinimum", max, where)
    high = _read_bound(compiler, schema, "maximum", "exclusiveMaximum", min, where)
    digits = compiler.bounds.digits
    if "multipleOf" in schema:
        node = build_multiples(_read_step(compiler, kind, schema, where), low, high, digits)
    elif kind == "integer":
        node = build_integers(low.first(1) if low else None, high.first(-1) if high else None, digits)
    else:
        node = build_numbers(low, high, digits)
    if node is None:
        keyword = next((key for key in ("maximum", "exclusiveMaximum", "minimum") if key in schema), "multipleOf")
        compiler.fail_unsatisfiable(where, keyword, f"leaves no {kind} that fits")
    return compiler.named(kind, node)


def _read_bound(
    compiler: Compiler,
    schema: dict[str, Any],
    closed: str,
    strict: str,
    inner: Callable[[Iterable[Decimal]], Decimal],
    where: str,
) -> Bound | None:
    """Return the tighter of the two bounds. A bound beyond `MAX_NUMBER` is ignored, or fails if it excludes all."""
    edge = schema.get(strict)
    limit = schema.get(closed)
    if isinstance(edge, bool):  # draft 4: it makes the other one strict
        edge, limit = (limit, None) if edge else (None, limit)
    bounds = [Bound(Decimal(str(edge)), True)] if edge is not None else []
    bounds += [Bound(Decimal(str(limit)), False)] if limit is not None else []
    if not bounds:
        return None
    at = inner(bound.at for bound in bounds)
    if abs(at) <= MAX_NUMBER:
        return next(bound for bound in bounds if bound.at == at)
    if (at > 0) is (closed == "minimum"):
        compiler.fail(where, closed if limit is not None else strict, f"is {at}; numbers are limited to {MAX_NUMBER}")
    return None


def _read_step(compiler: Compiler, kind: str, schema: dict[str, Any], where: str) -> Decimal:
    step = Decimal(str(schema["multipleOf"]))
    if not MIN_STEP <= step <= MAX_NUMBER:
        compiler.fail(where, "multipleOf", f"is {step}; it can be enforced from {MIN_STEP:f} to {MAX_NUMBER}")
    if kind == "integer":
        step = Decimal(step.as_integer_ratio()[0])
    return step
