"""Compiles numbers between two bounds, digit by digit.

Integers have no fraction and no exponent. Bounded numbers have no exponent, so that their digits alone determine their
size.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache

from rightseat.models.completion.grammar.nodes import Chars, Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.prefix_tree import make_choice

EMPTY: Node = LiteralText("")
DIGIT = Chars(((48, 57),))
NOT_ZERO = Chars(((49, 57),))
MAX_FRACTION_DIGITS = 6
"""Fraction digits beyond those of a bound."""
MAX_BOUND_DIGITS = 9
"""Fraction digits of a bound; a finer bound is rounded inwards."""


def build_integers(low: int | None, high: int | None, digits: int) -> Node | None:
    """None if there is no such integer."""
    largest = 10 ** max(digits, len(str(abs(low or high or 0))) + 1) - 1
    least, most = -largest if low is None else low, largest if high is None else high
    if least > most:
        return None
    options: list[Node] = []
    if least < 0:
        below = _build_naturals(max(1, -most), -least)
        options.append(Concat((LiteralText("-"), below)))
    if most >= 0:
        options.append(_build_naturals(max(0, least), most))
    return make_choice(options)


@lru_cache(1024)
def _build_naturals(low: int, high: int) -> Node:
    """Split by number of digits: 7..1234 is [7-9], [1-9][0-9], [1-9][0-9][0-9], and 1000 to 1234."""
    options: list[Node] = []
    whole: tuple[int, int] | None = None  # lengths of which every number fits
    for length in range(len(str(low)), len(str(high)) + 1):
        first, last = max(low, 10 ** (length - 1) if length > 1 else 0), min(high, 10**length - 1)
        if length > 1 and first == 10 ** (length - 1) and last == 10**length - 1:
            whole = (whole[0] if whole else length, length)
        else:
            options.append(_same_length(str(first), str(last)))
    if whole:
        options.append(Concat((NOT_ZERO, _digits(whole[0] - 1, whole[1] - 1))))
    return make_choice(options)


def _same_length(low: str, high: str) -> Node:
    same = 0
    while same < len(low) and low[same] == high[same]:
        same += 1
    head = [LiteralText(low[:same])] if same else []
    if same == len(low):
        return head[0] if head else LiteralText("")
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
    return concat([*head, make_choice([*options, *over])])


def _at_least(low: str) -> Node:
    if not low.strip("0"):
        return _digits(len(low), len(low))
    head, rest = int(low[0]), low[1:]
    options = [_then(head, head, _at_least(rest))] if rest else [_then(head, 9, None)]
    if rest and head < 9:
        options.append(_then(head + 1, 9, _digits(len(rest), len(rest))))
    return make_choice(options)


def _at_most(high: str) -> Node:
    if not high.strip("9"):
        return _digits(len(high), len(high))
    head, rest = int(high[0]), high[1:]
    options = [_then(head, head, _at_most(rest))] if rest else [_then(0, head, None)]
    if rest and head > 0:
        options.append(_then(0, head - 1, _digits(len(rest), len(rest))))
    return make_choice(options)


def _then(first: int, last: int, rest: Node | None) -> Node:
    digit: Node = LiteralText(str(first)) if first == last else Chars(((48 + first, 48 + last),))
    return concat([digit, rest]) if rest is not None else digit


def _digits(least: int, most: int) -> Node:
    if most == 0:
        return EMPTY
    return DIGIT if least == most == 1 else Repeat(DIGIT, least, most)


def concat(parts: list[Node]) -> Node:
    kept = [part for part in parts if part != EMPTY]
    return kept[0] if len(kept) == 1 else Concat(tuple(kept)) if kept else EMPTY


ANY_NUMBER: Node = Concat(
    (
        Repeat(LiteralText("-"), 0, 1),
        make_choice([LiteralText("0"), Concat((NOT_ZERO, Repeat(DIGIT, 0, 14)))]),
        Repeat(Concat((LiteralText("."), Repeat(DIGIT, 1, 15))), 0, 1),
        Repeat(
            Concat((Chars(((69, 69), (101, 101))), Repeat(Chars(((43, 43), (45, 45))), 0, 1), Repeat(DIGIT, 1, 2))),
            0,
            1,
        ),
    )
)


def build_numbers(low: "Bound | None", high: "Bound | None", digits: int) -> Node | None:
    """Build decimal numbers between two bounds; None if there are none."""
    if low is None and high is None:
        return ANY_NUMBER
    low = low.inwards(ROUND_CEILING) if low else Bound(-(Decimal(10) ** _count_digits(high, digits)), True)
    high = high.inwards(ROUND_FLOOR) if high else Bound(Decimal(10) ** _count_digits(low, digits), True)
    if low.at > high.at or (low.at == high.at and (low.open or high.open)):
        return None
    options: list[Node] = []
    if low.at < 0:
        under = Bound(Decimal(0), True) if high.at >= 0 else high.mirrored()
        below = _build_decimals(under, low.mirrored())
        options += [Concat((LiteralText("-"), below))] if below is not None else []
    if high.at > 0 or (high.at == 0 and not high.open):
        above = _build_decimals(low if low.at >= 0 else Bound(Decimal(0), False), high)
        options += [above] if above is not None else []
    return make_choice(options) if options else None


class Bound:
    """One end of a range; an open bound is excluded."""

    __slots__ = ("at", "open")

    def __init__(self, at: Decimal, is_open: bool) -> None:
        self.at, self.open = at, is_open

    def mirrored(self) -> "Bound":
        return Bound(-self.at, self.open)

    def inwards(self, rounding: str) -> "Bound":
        moved = (
            self.at.quantize(Decimal(1).scaleb(-MAX_BOUND_DIGITS), rounding=rounding)
            if _is_too_fine(self.at)
            else self.at
        )
        return self if moved == self.at else Bound(moved, False)

    def first(self, inwards: int) -> int:
        """The first integer inside: 1 is upwards, -1 downwards."""
        nearest = int(self.at.to_integral_value(ROUND_CEILING if inwards > 0 else ROUND_FLOOR))
        return nearest + inwards if self.open and nearest == self.at else nearest

    def parts(self) -> tuple[int, str]:
        whole, _, fraction = f"{self.at:f}".partition(".")
        return int(whole), fraction.rstrip("0")


def _is_too_fine(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent < -MAX_BOUND_DIGITS


def _count_digits(other: "Bound | None", digits: int) -> int:
    return max(digits, len(str(int(abs(other.at)))) + 1 if other else 0)


def _build_decimals(low: Bound, high: Bound) -> Node | None:
    """0 <= low <= high."""
    (first, above), (last, below) = low.parts(), high.parts()
    if first == last:
        fraction = _fractions_between(above, low.open, below, high.open)
        return None if fraction is None else concat([LiteralText(str(first)), fraction])
    options: list[Node] = [concat([LiteralText(str(first)), _fractions_above(above, low.open)])]
    if first + 1 <= last - 1:
        options.append(concat([_build_naturals(first + 1, last - 1), _fractions_above("", False)]))
    under = _fractions_below(below, high.open)
    if under is not None:
        options.append(concat([LiteralText(str(last)), under]))
    return make_choice(options)


def _fractions_above(fraction: str, is_open: bool) -> Node:
    """`.…` for fractions at least (or, open, above) this one; nothing where zero fits."""
    if not fraction and not is_open:
        return Repeat(concat([LiteralText("."), Repeat(DIGIT, 1, MAX_FRACTION_DIGITS)]), 0, 1)
    return concat([LiteralText("."), _digits_above(fraction, is_open)])


def _digits_above(digits: str, is_open: bool) -> Node:
    if not digits and is_open:
        return concat([Repeat(LiteralText("0"), 0, 3), NOT_ZERO, Repeat(DIGIT, 0, MAX_FRACTION_DIGITS)])
    if not digits:
        return Repeat(DIGIT, 0, MAX_FRACTION_DIGITS)
    head, rest = int(digits[0]), digits[1:]
    options = [_then(head, head, _digits_above(rest, is_open))]
    if head < 9:
        options.append(_then(head + 1, 9, Repeat(DIGIT, 0, MAX_FRACTION_DIGITS)))
    return make_choice(options)


def _fractions_below(fraction: str, is_open: bool) -> Node | None:
    """`.…` for fractions at most (or, open, below) this one, or nothing; None where not even zero fits."""
    if not fraction:
        return None if is_open else EMPTY
    return Repeat(concat([LiteralText("."), _digits_below(fraction, is_open)]), 0, 1)


def _digits_below(digits: str, is_open: bool) -> Node:
    """One digit at least. `digits` does not end with a zero, so what ends earlier is smaller."""
    head, rest = int(digits[0]), digits[1:]
    options = [_then(0, head - 1, Repeat(DIGIT, 0, MAX_FRACTION_DIGITS))] if head > 0 else []
    if rest:
        options.append(_then(head, head, Repeat(_digits_below(rest, is_open), 0, 1)))
    elif not is_open:
        options.append(_then(head, head, None))
    return make_choice(options)


def _fractions_between(low: str, low_open: bool, high: str, high_open: bool) -> Node | None:
    """Fractions between two, the whole part being the same."""
    width = max(len(low), len(high))
    padded_low, padded_high = low.ljust(width, "0"), high.ljust(width, "0")
    if padded_low == padded_high:
        if low_open or high_open:
            return None
        return LiteralText(f".{low}") if low else EMPTY
    same = 0
    while padded_low[same] == padded_high[same]:
        same += 1
    head = "." + padded_low[:same]
    first, last = int(padded_low[same]), int(padded_high[same])
    inner: list[Node] = [_then(first, first, _digits_above(padded_low[same + 1 :].rstrip("0"), low_open))]
    if first + 1 <= last - 1:
        inner.append(_then(first + 1, last - 1, Repeat(DIGIT, 0, MAX_FRACTION_DIGITS)))
    rest = padded_high[same + 1 :].rstrip("0")
    if rest:
        inner.append(_then(last, last, Repeat(_digits_below(rest, high_open), 0, 1)))
    elif not high_open:
        inner.append(LiteralText(str(last)))
    fraction = concat([LiteralText(head), make_choice(inner)])
    return fraction if low or low_open else Repeat(fraction, 0, 1)
