"""Computes the derivative of a grammar: what it still accepts after a given beginning of the text.

A backend applies a grammar from the first generated character. To continue a partial response, it needs the rest of the
grammar instead.
"""

from collections.abc import Iterator, Mapping

import msgspec

from rightseat.models.completion.grammar import nodes

MAX_CHARS = 20_000  # each character takes a few microseconds
MAX_PARSES = 64  # parses of an ambiguous text that are followed at once


def derive(grammar: nodes.Grammar, prefix: str) -> nodes.Grammar | None:
    """None if the grammar accepts no text with this beginning, or a limit is exceeded.

    Also None if the text stops inside a possible end of an `Until`, because no node can express the rest.
    """
    if len(prefix) > MAX_CHARS:
        return None
    ways: list[_Parse] = [_Parse((grammar.root,))]
    same: set[str] = set()  # characters that do not change the parses, such as most of a free text
    for character in prefix:
        if character in same:
            continue
        new = [following for way in ways for following in _advance(way, character, grammar.rules)]
        if len(new) == len(ways) == 1 and new[0] is ways[0]:
            same.add(character)
            continue
        ways, same = list(dict.fromkeys(new)) if len(new) > 1 else new, set()
        if not ways or len(ways) > MAX_PARSES:
            return None
    rest = [nodes.Concat(way.parts) for way in ways if not way.held]
    if len(rest) < len(ways) or not rest:
        return None
    return msgspec.structs.replace(grammar, root=rest[0] if len(rest) == 1 else nodes.Choice(tuple(rest)))


class _Parse(msgspec.Struct, frozen=True):
    """One parse of the prefix: the nodes that must follow, and how much of the first `Until`'s end was matched."""

    parts: tuple[nodes.Node, ...]
    held: int = 0


def _advance(way: _Parse, character: str, rules: Mapping[str, nodes.Node]) -> Iterator[_Parse]:
    if not way.parts:
        return
    first, rest = way.parts[0], way.parts[1:]
    match first:
        case nodes.LiteralText(text=""):
            yield from _advance(_Parse(rest), character, rules)
        case nodes.LiteralText(text=text):
            if text[0] == character:
                yield _Parse((nodes.LiteralText(text[1:]), *rest) if len(text) > 1 else rest)
        case nodes.Chars(ranges=ranges, negated=negated):
            if any(low <= ord(character) <= high for low, high in ranges) is not negated:
                yield _Parse(rest)
        case nodes.Concat(parts=parts):
            yield from _advance(_Parse((*nodes.flatten_parts(parts), *rest)), character, rules)
        case nodes.Choice(options=options):
            for option in options:
                yield from _advance(_Parse((option, *rest)), character, rules)
        case nodes.Rule(name=name):
            yield from _advance(_Parse((rules[name], *rest)), character, rules)
        case nodes.Repeat():
            yield from _advance_repeat(first, rest, character, rules)
        case nodes.Until():
            yield from _advance_until(first, way, character, rules)


def _advance_repeat(
    node: nodes.Repeat, rest: tuple[nodes.Node, ...], character: str, rules: Mapping[str, nodes.Node]
) -> Iterator[_Parse]:
    """Repeat once more, or stop. A part that can be empty satisfies any minimum."""
    if node.most != 0:
        most = None if node.most is None else node.most - 1
        again = nodes.Repeat(node.part, max(node.least - 1, 0), most)
        yield from _advance_part(node.part, (again, *rest), character, rules)
    if node.least == 0 or _is_nullable(node.part, rules):
        yield from _advance(_Parse(rest), character, rules)


def _advance_part(
    part: nodes.Node, then: tuple[nodes.Node, ...], character: str, rules: Mapping[str, nodes.Node]
) -> Iterator[_Parse]:
    """The part itself must consume the character; an empty part would repeat forever."""
    for way in _advance(_Parse((part, _END)), character, rules):
        yield _Parse((*way.parts[:-1], *then), way.held)


def _advance_until(node: nodes.Until, way: _Parse, character: str, rules: Mapping[str, nodes.Node]) -> Iterator[_Parse]:
    """Consume one more character of free text, or end the text before it."""
    rest = way.parts[1:]
    if node.most != 0:
        matched = node.end[: way.held] + character
        while not node.end.startswith(matched):
            matched = matched[1:]
        if node.most is None and len(matched) == way.held == 0:
            yield way
        elif len(matched) < len(node.end):
            most = None if node.most is None else node.most - 1
            yield _Parse((nodes.Until(node.end, most), *rest), len(matched))
    yield from _advance(_Parse(rest), character, rules)


def _is_nullable(node: nodes.Node, rules: Mapping[str, nodes.Node]) -> bool:
    match node:
        case nodes.LiteralText(text=text):
            return not text
        case nodes.Chars():
            return False
        case nodes.Concat(parts=parts):
            return all(_is_nullable(part, rules) for part in parts)
        case nodes.Choice(options=options):
            return any(_is_nullable(option, rules) for option in options)
        case nodes.Repeat(part=part, least=least):
            return least == 0 or _is_nullable(part, rules)
        case nodes.Rule(name=name):
            return _is_nullable(rules[name], rules)
        case nodes.Until():
            return True


_END = nodes.Chars(())
"""Matches no character, so that no parse goes beyond it."""
