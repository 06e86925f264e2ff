"""What is left of a grammar once the beginning of a text was said: its derivative, taken character by character.

An engine holds a model to a grammar from its own first character on. Where an answer goes on in the middle, it has to
be held to the rest of the grammar instead.
"""

from collections.abc import Iterator, Mapping

import msgspec

from rightseat.models.completion.grammar.nodes import (
    Chars,
    Choice,
    Grammar,
    Literal,
    Node,
    Repeat,
    Rule,
    Sequence,
    Until,
    flattened,
)

LONGEST = 20_000  # characters that are followed; each takes some microseconds
MOST_WAYS = 64  # in which a text may be read at once


def after(grammar: Grammar, said: str) -> Grammar | None:
    """None where the text is no beginning of anything that the grammar lets through, or cannot be followed.

    A text that stops within what may become the end of an `Until` is not followed: no node says how that goes on.
    """
    if len(said) > LONGEST:
        return None
    ways: list[_Way] = [_Way((grammar.root,))]
    same: set[str] = set()  # characters that leave the ways as they are: most of a free text's
    for character in said:
        if character in same:
            continue
        new = [following for way in ways for following in _step(way, character, grammar.rules)]
        if len(new) == len(ways) == 1 and new[0] is ways[0]:
            same.add(character)
            continue
        ways, same = list(dict.fromkeys(new)) if len(new) > 1 else new, set()
        if not ways or len(ways) > MOST_WAYS:
            return None
    rest = [Sequence(way.parts) for way in ways if not way.held]
    if len(rest) < len(ways) or not rest:
        return None
    return msgspec.structs.replace(grammar, root=rest[0] if len(rest) == 1 else Choice(tuple(rest)))


class _Way(msgspec.Struct, frozen=True):
    """One way to read what was said: what must follow, and how much of the end of its first `Until` was said."""

    parts: tuple[Node, ...]
    held: int = 0


def _step(way: _Way, character: str, rules: Mapping[str, Node]) -> Iterator[_Way]:
    if not way.parts:
        return
    first, rest = way.parts[0], way.parts[1:]
    match first:
        case Literal(text=""):
            yield from _step(_Way(rest), character, rules)
        case Literal(text=text):
            if text[0] == character:
                yield _Way((Literal(text[1:]), *rest) if len(text) > 1 else rest)
        case Chars(ranges=ranges, negated=negated):
            if any(low <= ord(character) <= high for low, high in ranges) is not negated:
                yield _Way(rest)
        case Sequence(parts=parts):
            yield from _step(_Way((*flattened(parts), *rest)), character, rules)
        case Choice(options=options):
            for option in options:
                yield from _step(_Way((option, *rest)), character, rules)
        case Rule(name=name):
            yield from _step(_Way((rules[name], *rest)), character, rules)
        case Repeat():
            yield from _repeated(first, rest, character, rules)
        case Until():
            yield from _free(first, way, character, rules)


def _repeated(node: Repeat, rest: tuple[Node, ...], character: str, rules: Mapping[str, Node]) -> Iterator[_Way]:
    """Once more, or not. What can be empty may have been as often as it had to be."""
    if node.most != 0:
        most = None if node.most is None else node.most - 1
        again = Repeat(node.part, max(node.least - 1, 0), most)
        yield from _consumed(node.part, (again, *rest), character, rules)
    if node.least == 0 or _is_nullable(node.part, rules):
        yield from _step(_Way(rest), character, rules)


def _consumed(part: Node, then: tuple[Node, ...], character: str, rules: Mapping[str, Node]) -> Iterator[_Way]:
    """The character is the first of the part itself: one that lets nothing through would be repeated for ever."""
    for way in _step(_Way((part, _END)), character, rules):
        yield _Way((*way.parts[:-1], *then), way.held)


def _free(node: Until, way: _Way, character: str, rules: Mapping[str, Node]) -> Iterator[_Way]:
    """One more character of a text without its end; or the text was over before it."""
    rest = way.parts[1:]
    if node.most != 0:
        said = node.end[: way.held] + character
        while not node.end.startswith(said):
            said = said[1:]
        if node.most is None and len(said) == way.held == 0:
            yield way
        elif len(said) < len(node.end):
            most = None if node.most is None else node.most - 1
            yield _Way((Until(node.end, most), *rest), len(said))
    yield from _step(_Way(rest), character, rules)


def _is_nullable(node: Node, rules: Mapping[str, Node]) -> bool:
    match node:
        case Literal(text=text):
            return not text
        case Chars():
            return False
        case Sequence(parts=parts):
            return all(_is_nullable(part, rules) for part in parts)
        case Choice(options=options):
            return any(_is_nullable(option, rules) for option in options)
        case Repeat(part=part, least=least):
            return least == 0 or _is_nullable(part, rules)
        case Rule(name=name):
            return _is_nullable(rules[name], rules)
        case Until():
            return True


_END = Chars(())
"""No character: nothing goes beyond it."""
