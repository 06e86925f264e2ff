"""Builds a choice of many texts as a prefix tree, so that few alternatives remain at each character."""

from collections.abc import Iterable

from rightseat.models.completion.grammar.nodes import Choice, Concat, LiteralText, Node

MAX_FLAT_OPTIONS = 8
MAX_DEPTH = 24


def make_literal_choice(texts: Iterable[str]) -> Node:
    different = list(dict.fromkeys(texts))
    if len(different) <= MAX_FLAT_OPTIONS:
        return make_choice([LiteralText(text) for text in different])
    return _tree(sorted(different), 0, 0)


def make_choice(options: list[Node]) -> Node:
    return options[0] if len(options) == 1 else Choice(tuple(options))


def _tree(texts: list[str], start: int, depth: int) -> Node:
    """`texts` are sorted and share their first `start` characters."""
    if len(texts) <= 2 or depth >= MAX_DEPTH:
        return make_choice([LiteralText(text[start:]) for text in texts])
    options: list[Node] = []
    first = 0
    while first < len(texts):
        last = _same_next(texts, first, start)
        options.append(_branch(texts[first:last], start, depth))
        first = last
    return make_choice(options)


def _same_next(texts: list[str], first: int, start: int) -> int:
    """Return the end of the run of texts that have the same next character as the one at `first`."""
    head = texts[first][start : start + 1]
    last = first + 1
    while last < len(texts) and head and texts[last][start : start + 1] == head:
        last += 1
    return last


def _branch(texts: list[str], start: int, depth: int) -> Node:
    if len(texts) == 1:
        return LiteralText(texts[0][start:])
    low, high = texts[0], texts[-1]
    end = start
    while end < len(low) and end < len(high) and low[end] == high[end]:
        end += 1
    return Concat((LiteralText(low[start:end]), _tree(texts, end, depth + 1)))
