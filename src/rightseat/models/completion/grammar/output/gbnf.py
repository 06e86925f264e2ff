"""A grammar in llama.cpp's GBNF.

llama.cpp unrolls every repetition and refuses one that comes to 2,000 rules, counting what is repeated. So what is
repeated is one character or a rule, and a longer repetition is made of blocks: so many full ones, and the rest.

vLLM reads GBNF as well, and its readers disagree on escapes. xgrammar reads `\\x` up to the last hex digit, so
`[^\\x3Cc]` is "not U+03CC" to it. llguidance drops the leading zeros of `\\u` and `\\U`, and refuses what is left. They
agree on `\\xHH` with no hex digit behind it, and on characters that stand for themselves: that is what is written.
"""

import re
from functools import lru_cache

from rightseat.models.completion.grammar import free_text, nodes

UNROLLED = 1_100
"""Times something is repeated before it is made of blocks."""
BLOCK = 100
_TEXT = {ord('"'): '\\"', ord("\\"): "\\\\", 10: "\\n", 13: "\\r", 9: "\\t"}
_TEXT.update({code: f"\\x{code:02X}" for code in (*range(32), 127) if code not in _TEXT})
_DIGITS_BEHIND_ESCAPE = re.compile(r"([\x00-\x08\x0B\x0C\x0E-\x1F\x7F][0-9A-Fa-f]+)")
_HEX_DIGITS = frozenset("0123456789ABCDEFabcdef")


def write(grammar: nodes.Grammar) -> str:
    """Only the rules that its root needs, in the order in which they are needed."""
    writer = GbnfWriter()
    lines = [f"root ::= {writer.options(grammar.root)}"]
    lines += [f"{name} ::= {writer.options(grammar.rules[name])}" for name in writer.needed]  # which grows meanwhile
    return "\n".join([*lines, *writer.more]) + "\n"


class GbnfWriter:
    def __init__(self) -> None:
        self.needed: list[str] = []
        self.more: list[str] = []
        self._known: set[str] = set()
        self._parts: dict[str, str] = {}
        self._texts: dict[tuple[str, int | None], str] = {}

    def options(self, node: nodes.Node) -> str:
        """Where alternatives may stand without parentheses."""
        if type(node) is nodes.Choice:
            return " | ".join([self.sequence(option) for option in node.options])
        return self.sequence(node)

    def sequence(self, node: nodes.Node) -> str:
        """Where parts may stand without parentheses; neighbouring texts become one."""
        if type(node) is not nodes.Concat:
            return self.one(node)
        parts: list[str] = []
        text = ""
        for part in nodes.flatten_parts(node.parts):
            if type(part) is nodes.LiteralText:
                text += part.text
                continue
            if text:
                parts.append(quoted(text))
                text = ""
            parts.append(self.one(part))
        if text or not parts:
            parts.append(quoted(text))
        return " ".join(parts)

    def one(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Rule):
            return self.rule(node.name)
        if isinstance(node, nodes.LiteralText):
            return quoted(node.text)
        if isinstance(node, nodes.Repeat):
            return self.repeat(node.part, node.least, node.most)
        if isinstance(node, nodes.Chars):
            return chars(node.ranges, node.negated)
        if isinstance(node, nodes.Until):
            return self.until(node.end, node.most)
        return f"({self.options(node)})"

    def rule(self, name: str) -> str:
        if name not in self._known:
            self._known.add(name)
            self.needed.append(name)
        return name

    def repeat(self, part: nodes.Node, least: int, most: int | None) -> str:
        if most == 0:
            return '""'
        if (least, most) == (1, 1):
            return self.one(part)
        single = self.one(part)
        if (least, most) == (0, 1):
            return f"({single})?" if isinstance(part, nodes.Repeat) else f"{single}?"
        if not isinstance(part, nodes.Chars | nodes.Rule):
            single = self.part(single)
        if most is None and least < 2:
            return f"{single}{'+' if least else '*'}"
        if max(least, most or 0) <= UNROLLED:
            return f"{single}{{{least},{'' if most is None else most}}}" if least != most else f"{single}{{{least}}}"
        return self.part(self.blocks(single, least, most))

    def blocks(self, single: str, least: int, most: int | None) -> str:
        """Between `least` and `most`, never more than `BLOCK` of one and of blocks at once."""
        full = self.part(f"{single}{{{BLOCK}}}")
        head = f"{self.times(full, least // BLOCK)} {self.times(single, least % BLOCK)}".strip() if least else ""
        if most is None:
            return f"{head} {single}*".strip()
        blocks, rest = divmod(most - least, BLOCK)
        short = [f"{full}{{0,{blocks - 1}}} {single}{{0,{BLOCK - 1}}}"] if blocks else []
        long = f"{self.times(full, blocks)} {single}{{0,{rest}}}" if rest else self.times(full, blocks)
        return f"{head} ({' | '.join([*short, long.strip()])})".strip() if most > least else head

    def times(self, single: str, count: int) -> str:
        return f"{single}{{{count}}}" if count else ""

    def part(self, text: str) -> str:
        """A rule for a text, the same one for equal texts."""
        name = self._parts.get(text)
        if name is None:
            name = self._parts[text] = f"part-{len(self._parts)}"
            inner = text[1:-1] if text.startswith("(") and _closed(text) else text
            self.more.append(f"{name} ::= {inner}")
        return name

    def until(self, end: str, most: int | None) -> str:
        name = self._texts.get((end, most))
        if name is None:
            root, rules = free_text.build_rules(end, most, f"until-{len(self._texts)}")
            self._known |= rules.keys()
            name = self._texts[end, most] = self.part(self.options(root))
            self.more += [f"{rule} ::= {self.options(node)}" for rule, node in rules.items()]
        return name


def _closed(text: str) -> bool:
    """Whether the first parenthesis is closed by the last; what it cannot see, it denies."""
    return text.count("(") == 1 and text.endswith(")")


def quoted(text: str) -> str:
    pieces = _DIGITS_BEHIND_ESCAPE.split(text)  # every second one is an escape and the digits behind it
    pieces[::2] = [piece.translate(_TEXT) for piece in pieces[::2]]
    pieces[1::2] = ["".join(map(_escaped, piece)) for piece in pieces[1::2]]
    return f'"{"".join(pieces)}"'


@lru_cache(1024)
def chars(ranges: tuple[tuple[int, int], ...], negated: bool) -> str:
    inside = ""
    for low, high in ranges:
        inside += _member(chr(low), is_behind_escape=inside[-4:-2] == "\\x")
        if low < high:
            inside += f"-{_member(chr(high))}"
    return f"[{'^' if negated else ''}{inside}]"


def _member(sign: str, *, is_behind_escape: bool = False) -> str:
    if not sign.isascii() or (sign.isalnum() and not (is_behind_escape and sign in _HEX_DIGITS)):
        return sign
    return _escaped(sign)


def _escaped(sign: str) -> str:
    return f"\\x{ord(sign):02X}"
