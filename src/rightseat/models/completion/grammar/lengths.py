"""Measures the text lengths of a node, and restricts a node to a range of lengths.

The nodes come from a pattern: no rules, and each `Chars` is one character. The result is exact if one repetition
decides the length; if several do, each gets a share.
"""

from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.prefix_tree import make_choice

Length = tuple[int, int | None]
MAX_SHARED_CHARS = 32
"""Maximum length of one of many repeated parts, unless it must be longer."""


def measure(node: Node) -> Length:
    match node:
        case LiteralText(text):
            return len(text), len(text)
        case Chars():
            return 1, 1
        case Concat(parts):
            return _sum([measure(part) for part in parts])
        case Choice(options):
            lengths = [measure(option) for option in options]
            most = [high for _, high in lengths if high is not None]
            return min(low for low, _ in lengths), max(most) if len(most) == len(lengths) else None
        case Repeat(part, least, most_times):
            low, high = measure(part)
            if high == 0 or most_times == 0:
                return 0, 0
            return low * least, None if high is None or most_times is None else high * most_times
    raise TypeError(f"{type(node).__name__} is not in a pattern")


def _sum(lengths: list[Length]) -> Length:
    known = [high for _, high in lengths if high is not None]
    return sum(low for low, _ in lengths), sum(known) if len(known) == len(lengths) else None


def fit(node: Node, low: int, high: int) -> Node | None:
    """Restrict the node to texts of `low` to `high` characters; None if there are none."""
    shortest, longest = measure(node)
    if shortest > high or (longest is not None and longest < low):
        return None
    if low <= shortest and longest is not None and longest <= high:
        return node
    match node:
        case Concat(parts):
            return _sequence(parts, low, high)
        case Choice(options):
            kept = [fitting for option in options if (fitting := fit(option, low, high)) is not None]
            return make_choice(kept) if kept else None
        case Repeat(part, least, most):
            return _repeat(part, least, most, low, high)
    return None


def _sequence(parts: tuple[Node, ...], low: int, high: int) -> Node | None:
    lengths = [measure(part) for part in parts]
    wanted = _share_length(lengths, low, high)
    fitted = []
    for part, (least, most) in zip(parts, wanted, strict=True):
        fitting = fit(part, least, most)
        if fitting is None:
            return None
        fitted.append(fitting)
    return Concat(tuple(fitted))


def _share_length(lengths: list[Length], low: int, high: int) -> list[tuple[int, int]]:
    """Return the minimum and maximum length of each part, so that their sum is within the bounds."""
    least = [shortest for shortest, _ in lengths]
    missing = low - sum(least)
    variable = [place for place, (shortest, longest) in enumerate(lengths) if longest is None or longest > shortest]
    variable.sort(
        key=lambda place: lengths[place][1] or high + 1
    )  # parts with a small range first; the others take the rest
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
    shortest, longest = measure(part)
    if longest == 0:
        return LiteralText("") if low == 0 else None
    if shortest == 0:  # exclude empty repetitions, which would make the grammar ambiguous
        least, shortest = 0, 1
    if longest is None or longest > shortest:
        each = max(shortest, min(longest or high, MAX_SHARED_CHARS, high // max(least, 1)))
        if most is not None:
            each = max(each, -(-low // most))
        narrowed = fit(part, shortest, min(each, high))
        if narrowed is None:
            return None
        part = narrowed
        shortest, longest = measure(part)
    if longest is None:
        return None
    fewest = max(least, -(-low // shortest))
    count = high // longest if most is None else min(high // longest, most)
    return Repeat(part, fewest, count) if fewest <= count else _repeat_fixed(part, least, most, low, high)


def _repeat_fixed(part: Node, least: int, most: int | None, low: int, high: int) -> Node | None:
    """Use one length for all repetitions, if different lengths cannot satisfy the bounds."""
    shortest, _ = measure(part)
    size = max(shortest, 1)
    fixed = fit(part, size, size)
    fewest, count = max(least, -(-low // size)), high // size if most is None else min(most, high // size)
    return Repeat(fixed, fewest, count) if fixed is not None and fewest <= count else None
