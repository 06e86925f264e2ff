"""Random words of a grammar."""

import random
from functools import cache

from rightseat.models.completion.grammar.nodes import (
    Chars,
    Choice,
    Concat,
    Grammar,
    LiteralText,
    Node,
    Repeat,
    Rule,
    Until,
)

DEEP = 40
SURROGATES = range(0xD800, 0xE000)
LIKELY = [*range(0x20, 0x7F), 0x0A, 0xE9, 0x4E2D, 0x1F600]


class Speaker:
    """Says words of a grammar; below `DEEP` calls it takes the shortest way out."""

    def __init__(self, grammar: Grammar, seed: int) -> None:
        self.grammar = grammar
        self.random = random.Random(seed)
        self.height = heights(grammar)

    def word(self) -> str:
        return self.say(self.grammar.root, 0)

    def say(self, node: Node, depth: int) -> str:
        match node:
            case LiteralText(text):
                return text
            case Chars(ranges, negated):
                return self.character(ranges, negated)
            case Rule(name):
                return self.say(self.grammar.rules[name], depth + 1)
            case Concat(parts):
                return "".join([self.say(part, depth) for part in parts])
            case Choice(options):
                return self.say(self.one(options, depth), depth)
            case Repeat(part, least, most):
                return "".join([self.say(part, depth) for _ in range(self.times(least, most, depth))])
            case Until(end, most):
                return self.free(end, most)

    def one(self, options: tuple[Node, ...], depth: int) -> Node:
        if depth > DEEP:
            return min(options, key=lambda option: height(option, self.height))
        return self.random.choice(options)

    def times(self, least: int, most: int | None, depth: int) -> int:
        if depth > DEEP:
            return least
        end = least + 8 if most is None else most
        few = min(end, least + int(self.random.expovariate(0.6)))
        return self.random.choices((few, end if end <= 40 else few, least), (8, 1, 1))[0]

    def character(self, ranges: tuple[tuple[int, int], ...], negated: bool) -> str:
        if negated:
            allowed = [code for code in LIKELY if not any(low <= code <= high for low, high in ranges)]
            return chr(self.random.choice(allowed))
        low, high = self.random.choice(ranges)
        edge = self.random.choice((low, high, self.random.randint(low, high)))
        return chr(edge) if edge not in SURROGATES else chr(low)

    def free(self, end: str, most: int | None) -> str:
        letters = [*dict.fromkeys(end), "x", "\n", "é"]
        size = self.random.randint(0, 12 if most is None else min(most, 12))
        text = "".join(self.random.choice(letters) for _ in range(size))
        return text if (text + end).find(end) == len(text) else ""


def heights(grammar: Grammar) -> dict[str, float]:
    """How many calls each rule needs at least."""
    known = dict.fromkeys(grammar.rules, float("inf"))
    grown = True
    while grown:
        new = {name: 1 + height(node, known) for name, node in grammar.rules.items()}
        grown, known = new != known, new
    return known


def height(node: Node, known: dict[str, float]) -> float:
    match node:
        case Rule(name):
            return known[name]
        case Concat(parts):
            return max((height(part, known) for part in parts), default=0)
        case Choice(options):
            return min((height(option, known) for option in options), default=float("inf"))
        case Repeat(part, least, _):
            return height(part, known) if least else 0
    return 0


class Listener:
    """Says whether a text is a word of a grammar: all places at which a node can end, from each place on."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self.grammar = grammar
        self.text = text
        self.ends = cache(self._ends)

    def accepts(self) -> bool:
        return len(self.text) in self.ends(self.grammar.root, 0)

    def _ends(self, node: Node, at: int) -> frozenset[int]:
        match node:
            case LiteralText(text):
                return frozenset([at + len(text)] if self.text.startswith(text, at) else ())
            case Chars(ranges, negated):
                if at >= len(self.text):
                    return frozenset()
                code = ord(self.text[at])
                return frozenset([at + 1] if any(low <= code <= high for low, high in ranges) != negated else ())
            case Rule(name):
                return self.ends(self.grammar.rules[name], at)
            case Concat(parts):
                places = frozenset([at])
                for part in parts:
                    places = frozenset(end for place in places for end in self.ends(part, place))
                return places
            case Choice(options):
                return frozenset(end for option in options for end in self.ends(option, at))
            case Repeat(part, least, most):
                return self.repeated(part, least, most, at)
            case Until(end, most):
                last = len(self.text) if most is None else min(len(self.text), at + most)
                return frozenset(place for place in range(at, last + 1) if end not in self.text[at:place])

    def repeated(self, part: Node, least: int, most: int | None, at: int) -> frozenset[int]:
        found: set[int] = {at} if least == 0 else set()
        places, count = frozenset([at]), 0
        while places and (most is None or count < most):
            places = frozenset(end for place in places for end in self.ends(part, place))
            count += 1
            if count >= least:
                if places <= found:
                    break
                found |= places
        return frozenset(found)


def accepts(grammar: Grammar, text: str) -> bool:
    return Listener(grammar, text).accepts()
