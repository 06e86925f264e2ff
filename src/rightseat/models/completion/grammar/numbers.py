"""Numbers between two bounds, digit by digit.

An integer is written without fraction and exponent. A bounded number is written without exponent, because then its
digits alone say how large it is.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache

from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.nodes import Chars, Literal, Node, Repeat, Sequence

EMPTY: Node = Literal("")
DIGIT = Chars(((48, 57),))
NOT_ZERO = Chars(((49, 57),))
FRACTION = 6
"""Digits after the point, beyond those of a bound."""
EXACT = 9
"""Digits after the point of a bound that are kept; a finer bound is moved inwards."""


def integers(low: int | None, high: int | None, digits: int) -> Node | None:
    """None where there is no such integer."""
    largest = 10 ** max(digits, len(str(abs(low or high or 0))) + 1) - 1
    least, most = -largest if low is None else low, largest if high is None else high
    if least > most:
        return None
    options: list[Node] = []
    if least < 0:
        below = _naturals(max(1, -most), -least)
        options.append(Sequence((Literal("-"), below)))
    if most >= 0:
        options.append(_naturals(max(0, least), most))
    return choice(options)


@lru_cache(1024)
def _naturals(low: int, high: int) -> Node:
    """Those of each length apart: 7..1234 is [7-9], [1-9][0-9], [1-9][0-9][0-9], and 1000 to 1234."""
    options: list[Node] = []
    whole: tuple[int, int] | None = None  # lengths of which every number fits
    for length in range(len(str(low)), len(str(high)) + 1):
        first, last = max(low, 10 ** (length - 1) if length > 1 else 0), min(high, 10**length - 1)
        if length > 1 and first == 10 ** (length - 1) and last == 10**length - 1:
            whole = (whole[0] if whole else length, length)
        else:
            options.append(_same_length(str(first), str(last)))
    if whole:
        options.append(Sequence((NOT_ZERO, _digits(whole[0] - 1, whole[1] - 1))))
    return choice(options)


def _same_length(low: str, high: str) -> Node:
    same = 0
    while same < len(low) and low[same] == high[same]:
        same += 1
    head = [Literal(low[:same])] if same else []
    if same == len(low):
        return head[0] if head else Literal("")
    rest = len(low) - same - 1
    options: list[Node] = []
    first, last = int(low[same]), int(high[same])
    if low[same + 1 :].strip("0"):
        options.append(_then(first, first, _at_least(low[same + 1 :])))
        first += 1
    over: list[Node] = []
    if high[same + 1 :].strip("9"):
        over.append(_then(last, last, _at_most(high[same + 1 :])))
        last -= 1
    if first <= last:
        options.append(_then(first, last, _digits(rest, rest)))
    return sequence([*head, choice([*options, *over])])


def _at_least(low: str) -> Node:
    if not low.strip("0"):
        return _digits(len(low), len(low))
    head, rest = int(low[0]), low[1:]
    options = [_then(head, head, _at_least(rest))] if rest else [_then(head, 9, None)]
    if rest and head < 9:
        options.append(_then(head + 1, 9, _digits(len(rest), len(rest))))
    return choice(options)


def _at_most(high: str) -> Node:
    if not high.strip("9"):
        return _digits(len(high), len(high))
    head, rest = int(high[0]), high[1:]
    options = [_then(head, head, _at_most(rest))] if rest else [_then(0, head, None)]
    if rest and head > 0:
        options.append(_then(0, head - 1, _digits(len(rest), len(rest))))
    return choice(options)


def _then(first: int, last: int, rest: Node | None) -> Node:
    digit: Node = Literal(str(first)) if first == last else Chars(((48 + first, 48 + last),))
    return sequence([digit, rest]) if rest is not None else digit


def _digits(least: int, most: int) -> Node:
    if most == 0:
        return EMPTY
    return DIGIT if least == most == 1 else Repeat(DIGIT, least, most)


def sequence(parts: list[Node]) -> Node:
    kept = [part for part in parts if part != EMPTY]
    return kept[0] if len(kept) == 1 else Sequence(tuple(kept)) if kept else EMPTY


ANY_NUMBER: Node = Sequence(
    (
        Repeat(Literal("-"), 0, 1),
        choice([Literal("0"), Sequence((NOT_ZERO, Repeat(DIGIT, 0, 14)))]),
        Repeat(Sequence((Literal("."), Repeat(DIGIT, 1, 15))), 0, 1),
        Repeat(
            Sequence((Chars(((69, 69), (101, 101))), Repeat(Chars(((43, 43), (45, 45))), 0, 1), Repeat(DIGIT, 1, 2))),
            0,
            1,
        ),
    )
)


def numbers(low: "Bound | None", high: "Bound | None", digits: int) -> Node | None:
    """Decimal numbers between two bounds; None where there are none."""
    if low is None and high is None:
        return ANY_NUMBER
    low = low.inwards(ROUND_CEILING) if low else Bound(-(Decimal(10) ** _size(high, digits)), True)
    high = high.inwards(ROUND_FLOOR) if high else Bound(Decimal(10) ** _size(low, digits), True)
    if low.at > high.at or (low.at == high.at and (low.open or high.open)):
        return None
    options: list[Node] = []
    if low.at < 0:
        under = Bound(Decimal(0), True) if high.at >= 0 else high.mirrored()
        below = _decimals(under, low.mirrored())
        options += [Sequence((Literal("-"), below))] if below is not None else []
    if high.at > 0 or (high.at == 0 and not high.open):
        above = _decimals(low if low.at >= 0 else Bound(Decimal(0), False), high)
        options += [above] if above is not None else []
    return choice(options) if options else None


class Bound:
    """An end of a range; an open one is itself not in it."""

    __slots__ = ("at", "open")

    def __init__(self, at: Decimal, is_open: bool) -> None:
        self.at, self.open = at, is_open

    def mirrored(self) -> "Bound":
        return Bound(-self.at, self.open)

    def inwards(self, rounding: str) -> "Bound":
        moved = self.at.quantize(Decimal(1).scaleb(-EXACT), rounding=rounding) if _fine(self.at) else self.at
        return self if moved == self.at else Bound(moved, False)

    def first(self, inwards: int) -> int:
        """The first integer inside: 1 is upwards, -1 downwards."""
        nearest = int(self.at.to_integral_value(ROUND_CEILING if inwards > 0 else ROUND_FLOOR))
        return nearest + inwards if self.open and nearest == self.at else nearest

    def parts(self) -> tuple[int, str]:
        whole, _, fraction = f"{self.at:f}".partition(".")
        return int(whole), fraction.rstrip("0")


def _fine(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent < -EXACT


def _size(other: "Bound | None", digits: int) -> int:
    return max(digits, len(str(int(abs(other.at)))) + 1 if other else 0)


def _decimals(low: Bound, high: Bound) -> Node | None:
    """0 <= low <= high."""
    (first, above), (last, below) = low.parts(), high.parts()
    if first == last:
        fraction = _between(above, low.open, below, high.open)
        return None if fraction is None else sequence([Literal(str(first)), fraction])
    options: list[Node] = [sequence([Literal(str(first)), _more(above, low.open)])]
    if first + 1 <= last - 1:
        options.append(sequence([_naturals(first + 1, last - 1), _more("", False)]))
    under = _less(below, high.open)
    if under is not None:
        options.append(sequence([Literal(str(last)), under]))
    return choice(options)


def _more(fraction: str, is_open: bool) -> Node:
    """`.…` for fractions at least (or, open, above) this one; nothing where zero fits."""
    if not fraction and not is_open:
        return Repeat(sequence([Literal("."), Repeat(DIGIT, 1, FRACTION)]), 0, 1)
    return sequence([Literal("."), _digits_above(fraction, is_open)])


def _digits_above(digits: str, is_open: bool) -> Node:
    if not digits and is_open:
        return sequence([Repeat(Literal("0"), 0, 3), NOT_ZERO, Repeat(DIGIT, 0, FRACTION)])
    if not digits:
        return Repeat(DIGIT, 0, FRACTION)
    head, rest = int(digits[0]), digits[1:]
    options = [_then(head, head, _digits_above(rest, is_open))]
    if head < 9:
        options.append(_then(head + 1, 9, Repeat(DIGIT, 0, FRACTION)))
    return choice(options)


def _less(fraction: str, is_open: bool) -> Node | None:
    """`.…` for fractions at most (or, open, below) this one, or nothing; None where not even zero fits."""
    if not fraction:
        return None if is_open else EMPTY
    return Repeat(sequence([Literal("."), _digits_below(fraction, is_open)]), 0, 1)


def _digits_below(digits: str, is_open: bool) -> Node:
    """One digit at least. `digits` does not end with a zero, so what ends earlier is smaller."""
    head, rest = int(digits[0]), digits[1:]
    options = [_then(0, head - 1, Repeat(DIGIT, 0, FRACTION))] if head > 0 else []
    if rest:
        options.append(_then(head, head, Repeat(_digits_below(rest, is_open), 0, 1)))
    elif not is_open:
        options.append(_then(head, head, None))
    return choice(options)


def _between(low: str, low_open: bool, high: str, high_open: bool) -> Node | None:
    """Fractions between two, the whole part being the same."""
    width = max(len(low), len(high))
    padded_low, padded_high = low.ljust(width, "0"), high.ljust(width, "0")
    if padded_low == padded_high:
        if low_open or high_open:
            return None
        return Literal(f".{low}") if low else EMPTY
    same = 0
    while padded_low[same] == padded_high[same]:
        same += 1
    head = "." + padded_low[:same]
    first, last = int(padded_low[same]), int(padded_high[same])
    inner: list[Node] = [_then(first, first, _digits_above(padded_low[same + 1 :].rstrip("0"), low_open))]
    if first + 1 <= last - 1:
        inner.append(_then(first + 1, last - 1, Repeat(DIGIT, 0, FRACTION)))
    rest = padded_high[same + 1 :].rstrip("0")
    if rest:
        inner.append(_then(last, last, Repeat(_digits_below(rest, high_open), 0, 1)))
    elif not high_open:
        inner.append(Literal(str(last)))
    fraction = sequence([Literal(head), choice(inner)])
    return fraction if low or low_open else Repeat(fraction, 0, 1)
