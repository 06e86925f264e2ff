"""How long the texts of a node can be, and the node narrowed to the lengths that are wanted.

The nodes are those of a pattern: no rules, one character a `Chars`. Narrowing is exact where one repetition decides the
length; where several share it, each gets a part.
"""

from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Repeat, Sequence

Length = tuple[int, int | None]
SHARED = 32
"""How long one of many repeated parts may be, unless it must be longer."""


def of(node: Node) -> Length:
    match node:
        case Literal(text):
            return len(text), len(text)
        case Chars():
            return 1, 1
        case Sequence(parts):
            return _sum([of(part) for part in parts])
        case Choice(options):
            lengths = [of(option) for option in options]
            most = [high for _, high in lengths if high is not None]
            return min(low for low, _ in lengths), max(most) if len(most) == len(lengths) else None
        case Repeat(part, least, most_times):
            low, high = of(part)
            if high == 0 or most_times == 0:
                return 0, 0
            return low * least, None if high is None or most_times is None else high * most_times
    raise TypeError(f"{type(node).__name__} is not in a pattern")


def _sum(lengths: list[Length]) -> Length:
    known = [high for _, high in lengths if high is not None]
    return sum(low for low, _ in lengths), sum(known) if len(known) == len(lengths) else None


def fit(node: Node, low: int, high: int) -> Node | None:
    """The part of it that is `low` to `high` characters long; None where none is found."""
    shortest, longest = of(node)
    if shortest > high or (longest is not None and longest < low):
        return None
    if low <= shortest and longest is not None and longest <= high:
        return node
    match node:
        case Sequence(parts):
            return _sequence(parts, low, high)
        case Choice(options):
            kept = [fitting for option in options if (fitting := fit(option, low, high)) is not None]
            return choice(kept) if kept else None
        case Repeat(part, least, most):
            return _repeat(part, least, most, low, high)
    return None


def _sequence(parts: tuple[Node, ...], low: int, high: int) -> Node | None:
    lengths = [of(part) for part in parts]
    wanted = _shares(lengths, low, high)
    fitted = []
    for part, (least, most) in zip(parts, wanted, strict=True):
        fitting = fit(part, least, most)
        if fitting is None:
            return None
        fitted.append(fitting)
    return Sequence(tuple(fitted))


def _shares(lengths: list[Length], low: int, high: int) -> list[tuple[int, int]]:
    """What each part must and may have, so that all together are within the bounds."""
    least = [shortest for shortest, _ in lengths]
    missing = low - sum(least)
    variable = [place for place, (shortest, longest) in enumerate(lengths) if longest is None or longest > shortest]
    variable.sort(key=lambda place: lengths[place][1] or high + 1)  # what has little room leaves the rest to the others
    for count, place in enumerate(variable):
        longest = lengths[place][1]
        taken = -(-max(missing, 0) // (len(variable) - count))
        taken = taken if longest is None else min(taken, longest - least[place])
        least[place] += taken
        missing -= taken
    spare = high - sum(least)
    most = list(least)
    for count, place in enumerate(variable):
        longest = lengths[place][1]
        share = spare // (len(variable) - count)
        share = share if longest is None else min(share, longest - least[place])
        most[place] += share
        spare -= share
    return list(zip(least, most, strict=True))


def _repeat(part: Node, least: int, most: int | None, low: int, high: int) -> Node | None:
    shortest, longest = of(part)
    if longest == 0:
        return Literal("") if low == 0 else None
    if shortest == 0:  # an empty turn says nothing: leave it out, or every turn could be taken in many ways
        least, shortest = 0, 1
    if longest is None or longest > shortest:
        each = max(shortest, min(longest or high, SHARED, high // max(least, 1)))
        if most is not None:
            each = max(each, -(-low // most))
        narrowed = fit(part, shortest, min(each, high))
        if narrowed is None:
            return None
        part = narrowed
        shortest, longest = of(part)
    if longest is None:
        return None
    fewest = max(least, -(-low // shortest))
    count = high // longest if most is None else min(high // longest, most)
    return Repeat(part, fewest, count) if fewest <= count else _exactly(part, least, most, low, high)


def _exactly(part: Node, least: int, most: int | None, low: int, high: int) -> Node | None:
    """All repetitions of one length, where parts of different lengths cannot be brought between the bounds."""
    shortest, _ = of(part)
    size = max(shortest, 1)
    fixed = fit(part, size, size)
    fewest, count = max(least, -(-low // size)), high // size if most is None else min(most, high // size)
    return Repeat(fixed, fewest, count) if fixed is not None and fewest <= count else None
