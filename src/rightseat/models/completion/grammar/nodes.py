"""A grammar, free of the engine that will hold the model to it.

text        Literal("<tool_call>")     exactly this
characters  Chars(((97, 122),))        one of these code points; `negated`: any but these
order       Sequence, Choice, Repeat   one after another; one of; so many times
names       Rule("value")              what the grammar calls by that name; the only way to recursion
free text   Until("</parameter>")      any text in which `end` does not occur, without the end itself
"""

from collections.abc import Mapping

import msgspec


class Literal(msgspec.Struct, frozen=True, gc=False):
    text: str


class Chars(msgspec.Struct, frozen=True, gc=False):
    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


class Sequence(msgspec.Struct, frozen=True, gc=False):
    parts: "tuple[Node, ...]"


class Choice(msgspec.Struct, frozen=True, gc=False):
    options: "tuple[Node, ...]"


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """`most` of None is without an end."""

    part: "Node"
    least: int = 0
    most: int | None = None


class Rule(msgspec.Struct, frozen=True, gc=False):
    name: str


class Until(msgspec.Struct, frozen=True, gc=False):
    """`most` bounds its length in characters."""

    end: str
    most: int | None = None


Node = Literal | Chars | Sequence | Choice | Repeat | Rule | Until


class Grammar(msgspec.Struct, frozen=True):
    """`tokens` are rules for something that is read as one piece: a string, a number."""

    root: Node
    rules: Mapping[str, Node]
    tokens: frozenset[str] = frozenset()


def flattened(parts: tuple[Node, ...]) -> list[Node]:
    """The parts of a sequence, those of sequences in it among them."""
    flat: list[Node] = []
    for part in parts:
        if type(part) is Sequence:
            flat += flattened(part.parts)
        else:
            flat.append(part)
    return flat
