"""The nodes of a grammar, independent of the backend that enforces it.

text        LiteralText("<tool_call>")  exactly this
characters  Chars(((97, 122),))         one of these code points; `negated`: any but these
structure   Concat, Choice, Repeat      one after another; one of; so many times
names       Rule("value")               a rule of the grammar; the only way to recursion
free text   Until("</parameter>")       any text that does not contain `end`, without the end itself
"""

from collections.abc import Mapping

import msgspec


class LiteralText(msgspec.Struct, frozen=True, gc=False):
    text: str


class Chars(msgspec.Struct, frozen=True, gc=False):
    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


class Concat(msgspec.Struct, frozen=True, gc=False):
    parts: "tuple[Node, ...]"


class Choice(msgspec.Struct, frozen=True, gc=False):
    options: "tuple[Node, ...]"


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """`most` of None is unlimited."""

    part: "Node"
    least: int = 0
    most: int | None = None


class Rule(msgspec.Struct, frozen=True, gc=False):
    name: str


class Until(msgspec.Struct, frozen=True, gc=False):
    """`most` limits its length in characters."""

    end: str
    most: int | None = None


Node = LiteralText | Chars | Concat | Choice | Repeat | Rule | Until


class Grammar(msgspec.Struct, frozen=True):
    """`tokens` are rules that a backend may treat as one token, such as a string or a number."""

    root: Node
    rules: Mapping[str, Node]
    tokens: frozenset[str] = frozenset()


def flatten_parts(parts: tuple[Node, ...]) -> list[Node]:
    """Return the parts with nested concatenations expanded."""
    flat: list[Node] = []
    for part in parts:
        if type(part) is Concat:
            flat += flatten_parts(part.parts)
        else:
            flat.append(part)
    return flat
