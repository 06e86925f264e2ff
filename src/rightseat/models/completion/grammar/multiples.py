"""Compiles `multipleOf` within two bounds.

If the step divides a power of ten, its last digits repeat: multiples of 25 end in 00, 25, 50 or 75. The multiples of
any other step are listed, `MAX_LISTED` on each side of the one nearest to zero. Grammars have no arithmetic: without
this module a tool with `multipleOf` would be dropped.
"""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from rightseat.models.completion.grammar.nodes import Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.numbers import Bound, build_integers, concat
from rightseat.models.completion.grammar.prefix_tree import make_choice, make_literal_choice

MAX_LISTED = 1_000
MAX_POWER = 4


def build_multiples(step: Decimal, low: Bound | None, high: Bound | None, digits: int) -> Node | None:
    """None if there are no multiples."""
    first = _quotient(low, step, ROUND_CEILING, 1)
    last = _quotient(high, step, ROUND_FLOOR, -1)
    power = _power(step)
    if power is None or (first is not None and last is not None and last - first < MAX_LISTED):
        return _list_multiples(step, first, last)
    return _build_repeating(step, power, first, last, digits)


def _quotient(bound: Bound | None, step: Decimal, rounding: str, inwards: int) -> int | None:
    if bound is None:
        return None
    quotient = (bound.at / step).to_integral_value(rounding)
    return int(quotient) + (inwards if bound.open and quotient * step == bound.at else 0)


def _power(step: Decimal) -> int | None:
    """Return the smallest power of ten that the step divides into few enough parts."""
    for exponent in range(MAX_POWER + 1):
        parts = Decimal(10) ** exponent / step
        if parts == parts.to_integral_value():
            return exponent if parts <= MAX_LISTED else None
    return None


def _list_multiples(step: Decimal, first: int | None, last: int | None) -> Node | None:
    """List the multiples around the one nearest to zero."""
    if first is not None and last is not None and first > last:
        return None
    middle = max(0, first) if first is not None else 0
    middle = min(middle, last) if last is not None else middle
    low = middle - MAX_LISTED if first is None else max(first, middle - MAX_LISTED)
    high = middle + MAX_LISTED if last is None else min(last, middle + MAX_LISTED)
    return _enumerate(step, range(low, high + 1))


def _enumerate(step: Decimal, counts: Iterable[int]) -> Node:
    return make_literal_choice(_format(step * count) for count in counts)


def _build_repeating(step: Decimal, power: int, first: int | None, last: int | None, digits: int) -> Node | None:
    options: list[Node] = []
    for sign, low, high in ((1, first, last), (-1, _negate(last), _negate(first))):
        start = max(low or 0, 0 if sign > 0 else 1)
        if high is None or high >= start:
            options += _build_upwards(step * sign, power, start, high, digits)
    return make_choice(options) if options else None


def _build_upwards(step: Decimal, power: int, start: int, high: int | None, digits: int) -> list[Node]:
    """List the multiples before the first and after the last full cycle of endings; use full cycles in between."""
    turn = int(Decimal(10) ** power / abs(step))
    first = max(1, -(-start // turn))
    last = None if high is None else (high + 1) // turn - 1
    if high is not None and last is not None and last < first:
        return [_enumerate(step, range(start, high + 1))]
    single = [*range(start, first * turn), *(range((last + 1) * turn, high + 1) if last and high else ())]
    turns = build_integers(first, last, max(1, digits - power))
    minus = [LiteralText("-")] if step < 0 else []
    whole = [concat([*minus, turns, _build_endings(abs(step), power, turn)])] if turns is not None else []
    return [*whole, *([_enumerate(step, single)] if single else [])]


def _negate(value: int | None) -> int | None:
    return None if value is None else -value


def _build_endings(step: Decimal, power: int, turn: int) -> Node:
    if power:
        return make_literal_choice(_format(step * count).zfill(power) for count in range(turn))
    fractions = [_format(step * count)[1:] for count in range(1, turn)]
    return Repeat(make_literal_choice(fractions), 0, 1) if fractions else Concat(())


def _format(value: Decimal) -> str:
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text
