"""`multipleOf`: numbers that a step divides, between two bounds.

A step that divides a power of ten repeats its endings: multiples of 25 end in 00, 25, 50 or 75, whatever stands before.
The multiples of any other step are listed, `LISTED` on each side of the one that is nearest to zero.
"""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from rightseat.models.completion.grammar.literals import choice, one_of
from rightseat.models.completion.grammar.nodes import Literal, Node, Repeat, Sequence
from rightseat.models.completion.grammar.numbers import Bound, integers, sequence

LISTED = 1_000
LARGEST_POWER = 4


def multiples(step: Decimal, low: Bound | None, high: Bound | None, digits: int) -> Node | None:
    """None where there are none."""
    first = _quotient(low, step, ROUND_CEILING, 1)
    last = _quotient(high, step, ROUND_FLOOR, -1)
    power = _power(step)
    if power is None or (first is not None and last is not None and last - first < LISTED):
        return _listed(step, first, last)
    return _repeating(step, power, first, last, digits)


def _quotient(bound: Bound | None, step: Decimal, rounding: str, inwards: int) -> int | None:
    if bound is None:
        return None
    quotient = (bound.at / step).to_integral_value(rounding)
    return int(quotient) + (inwards if bound.open and quotient * step == bound.at else 0)


def _power(step: Decimal) -> int | None:
    """The smallest power of ten, from 1 on, that the step divides into few enough parts."""
    for exponent in range(LARGEST_POWER + 1):
        parts = Decimal(10) ** exponent / step
        if parts == parts.to_integral_value():
            return exponent if parts <= LISTED else None
    return None


def _listed(step: Decimal, first: int | None, last: int | None) -> Node | None:
    """Those around the one that is nearest to zero."""
    if first is not None and last is not None and first > last:
        return None
    middle = max(0, first) if first is not None else 0
    middle = min(middle, last) if last is not None else middle
    low = middle - LISTED if first is None else max(first, middle - LISTED)
    high = middle + LISTED if last is None else min(last, middle + LISTED)
    return _one_by_one(step, range(low, high + 1))


def _one_by_one(step: Decimal, counts: Iterable[int]) -> Node:
    return one_of(_plain(step * count) for count in counts)


def _repeating(step: Decimal, power: int, first: int | None, last: int | None, digits: int) -> Node | None:
    options: list[Node] = []
    for sign, low, high in ((1, first, last), (-1, _minus(last), _minus(first))):
        start = max(low or 0, 0 if sign > 0 else 1)
        if high is None or high >= start:
            options += _upwards(step * sign, power, start, high, digits)
    return choice(options) if options else None


def _upwards(step: Decimal, power: int, start: int, high: int | None, digits: int) -> list[Node]:
    """One by one up to the first whole turn of endings and behind the last one; whole turns between them."""
    turn = int(Decimal(10) ** power / abs(step))
    first = max(1, -(-start // turn))
    last = None if high is None else (high + 1) // turn - 1
    if high is not None and last is not None and last < first:
        return [_one_by_one(step, range(start, high + 1))]
    single = [*range(start, first * turn), *(range((last + 1) * turn, high + 1) if last and high else ())]
    turns = integers(first, last, max(1, digits - power))
    minus = [Literal("-")] if step < 0 else []
    whole = [sequence([*minus, turns, _endings(abs(step), power, turn)])] if turns is not None else []
    return [*whole, *([_one_by_one(step, single)] if single else [])]


def _minus(value: int | None) -> int | None:
    return None if value is None else -value


def _endings(step: Decimal, power: int, turn: int) -> Node:
    if power:
        return one_of(_plain(step * count).zfill(power) for count in range(turn))
    fractions = [_plain(step * count)[1:] for count in range(1, turn)]
    return Repeat(one_of(fractions), 0, 1) if fractions else Sequence(())


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text
