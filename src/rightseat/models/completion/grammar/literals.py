"""One of many texts, as a tree of their common beginnings: at each character an engine has few ways to go on."""

from collections.abc import Iterable

from rightseat.models.completion.grammar.nodes import Choice, Literal, Node, Sequence

FEW = 8
DEEPEST = 24


def one_of(texts: Iterable[str]) -> Node:
    different = list(dict.fromkeys(texts))
    if len(different) <= FEW:
        return choice([Literal(text) for text in different])
    return _tree(sorted(different), 0, 0)


def choice(options: list[Node]) -> Node:
    return options[0] if len(options) == 1 else Choice(tuple(options))


def _tree(texts: list[str], start: int, depth: int) -> Node:
    """`texts` are sorted and share their first `start` characters."""
    if len(texts) <= 2 or depth >= DEEPEST:
        return choice([Literal(text[start:]) for text in texts])
    options: list[Node] = []
    first = 0
    while first < len(texts):
        last = _same_next(texts, first, start)
        options.append(_branch(texts[first:last], start, depth))
        first = last
    return choice(options)


def _same_next(texts: list[str], first: int, start: int) -> int:
    """Where the texts end that go on with the same character as the one at `first`."""
    head = texts[first][start : start + 1]
    last = first + 1
    while last < len(texts) and head and texts[last][start : start + 1] == head:
        last += 1
    return last


def _branch(texts: list[str], start: int, depth: int) -> Node:
    if len(texts) == 1:
        return Literal(texts[0][start:])
    low, high = texts[0], texts[-1]
    end = start
    while end < len(low) and end < len(high) and low[end] == high[end]:
        end += 1
    return Sequence((Literal(low[start:end]), _tree(texts, end, depth + 1)))
