"""GBNF, read back into nodes by the rules of llama.cpp's own reader."""

from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, Grammar, LiteralText, Node, Repeat, Rule

WIDTHS = {"x": 2, "u": 4, "U": 8}
SIGNS = {"n": "\n", "r": "\r", "t": "\t"}
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
MOST_TIMES = 2_000


def read(source: str) -> Grammar:
    rules: dict[str, Node] = {}
    for line in source.removesuffix("\n").split("\n"):
        name, _, body = line.partition(" ::= ")
        assert name, line
        assert set(name) <= NAME, line
        assert name not in rules, f"{name} is there twice"
        reader = Reader(body)
        rules[name] = reader.options()
        assert reader.at == len(body), f"{line[:80]!r} is not read from {body[reader.at : reader.at + 20]!r} on"
    root = rules.pop("root")
    return Grammar(root, rules)


class Reader:
    def __init__(self, body: str) -> None:
        self.body = body
        self.at = 0

    def options(self) -> Node:
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        return Choice(tuple(options)) if len(options) > 1 else options[0]

    def sequence(self) -> Node:
        parts: list[Node] = []
        self.space()
        while self.at < len(self.body) and self.body[self.at] not in "|)":
            parts.append(self.counted(self.one()))
            self.space()
        return Concat(tuple(parts))

    def one(self) -> Node:
        if self.take('"'):
            text = ""
            while not self.take('"', spaced=False):
                text += self.character()
            return LiteralText(text)
        if self.take("["):
            return self.set()
        if self.take("("):
            inner = self.options()
            assert self.take(")"), "a parenthesis stays open"
            return inner
        start = self.at
        while self.at < len(self.body) and self.body[self.at] in NAME:
            self.at += 1
        assert self.at > start, f"nothing can be read at {self.body[start : start + 20]!r}"
        return Rule(self.body[start : self.at])

    def set(self) -> Node:
        negated = self.take("^", spaced=False)
        ranges: list[tuple[int, int]] = []
        while not self.take("]", spaced=False):
            low = high = ord(self.character())
            if self.body[self.at] == "-" and self.body[self.at + 1] != "]":
                self.at += 1
                high = ord(self.character())
            ranges.append((low, high))
        return Chars(tuple(ranges), negated)

    def character(self) -> str:
        sign = self.body[self.at]
        self.at += 1
        if sign != "\\":
            return sign
        escape = self.body[self.at]
        self.at += 1
        if escape in WIDTHS:
            digits = self.body[self.at : self.at + WIDTHS[escape]]
            self.at += WIDTHS[escape]
            return chr(int(digits, 16))
        assert escape in '"\\[]nrt', f"llama.cpp does not know the escape {escape!r}"
        return SIGNS.get(escape, escape)

    def counted(self, node: Node) -> Node:
        for sign, least, most in (("?", 0, 1), ("*", 0, None), ("+", 1, None)):
            if self.take(sign, spaced=False):
                return Repeat(node, least, most)
        if not self.take("{", spaced=False):
            return node
        end = self.body.index("}", self.at)
        low, comma, high = self.body[self.at : end].partition(",")
        self.at = end + 1
        times = int(high) if high else None if comma else int(low)
        assert (times or int(low)) < MOST_TIMES, "llama.cpp refuses to repeat so often"
        assert isinstance(node, Chars | Rule), "llama.cpp counts what is repeated, too"
        return Repeat(node, int(low), times)

    def take(self, sign: str, *, spaced: bool = True) -> bool:
        if spaced:
            self.space()
        if self.body.startswith(sign, self.at):
            self.at += 1
            return True
        return False

    def space(self) -> None:
        while self.at < len(self.body) and self.body[self.at] == " ":
            self.at += 1
