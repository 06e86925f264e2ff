"""A grammar in llguidance's dialect of Lark.

Without recursion all of it is one regular expression, and llguidance has no choice between tokens to make. With it,
there are rules; and because a token is always the longest one possible, they are made of the tokens that JSON has:
strings, numbers, and literals, each with the space that may follow.
"""

from collections.abc import Iterable, Iterator, Mapping

from rightseat.models.completion.grammar import nodes, recursion

HEAD = "%llguidance {}\n"


def write(grammar: nodes.Grammar) -> str:
    rules = recursion.find_reachable(grammar.root, grammar.rules)
    terminals = set(rules) if not recursive(rules) else set(_all_of(grammar.tokens & rules.keys(), rules)) | {"space"}
    writer = LarkWriter(terminals, whole=len(terminals) == len(rules))
    lines = [f"start: {writer.rule(grammar.root)}"]
    for name, node in rules.items():
        body = writer.terminal(node) if name in terminals else writer.rule(node)
        lines.append(f"{writer.name(name)}: {body}")
    return HEAD + "\n".join([*lines, *writer.more]) + "\n"


def recursive(rules: Mapping[str, nodes.Node]) -> bool:
    left = {name: set(recursion.find_calls(node)) for name, node in rules.items()}
    while left:
        leaves = {name for name, others in left.items() if not others & left.keys()}
        if not leaves:
            return True
        left = {name: others for name, others in left.items() if name not in leaves}
    return False


def _all_of(names: Iterable[str], rules: Mapping[str, nodes.Node]) -> Iterator[str]:
    for name in names:
        yield name
        yield from recursion.find_reachable(rules[name], rules)


class LarkWriter:
    def __init__(self, terminals: set[str], *, whole: bool) -> None:
        self.terminals = terminals
        self.whole = whole
        self.more: list[str] = []
        self._pieces: dict[str, str] = {}

    def name(self, name: str) -> str:
        plain = name.replace("-", "_")
        return f"T_{plain.upper()}" if name in self.terminals else f"r_{plain}"

    def terminal(self, node: nodes.Node) -> str:
        """Inside of a regular expression."""
        match node:
            case nodes.LiteralText(text):
                return quoted(text)
            case nodes.Chars(ranges, negated):
                return f"/{chars(ranges, negated)}/"
            case nodes.Rule(name):
                return self.name(name)
            case nodes.Concat(parts):
                return " ".join(bracketed(part, self.terminal(part)) for part in nodes.flatten_parts(parts)) or '""'
            case nodes.Choice(options):
                return " | ".join(bracketed(option, self.terminal(option)) for option in options)
            case nodes.Repeat(part, least, most):
                return bracketed(part, self.terminal(part)) + times(least, most) if most != 0 else '""'
            case nodes.Until(end, most):
                return until(end, most)

    def rule(self, node: nodes.Node) -> str:
        """Outside: what is no rule is a terminal with a name of its own."""
        if self.whole:
            return self.piece(self.terminal(node))
        match node:
            case nodes.Rule(name):
                return self.piece(quoted(" ")) + "?" if name == "space" else self.name(name)
            case TokenConcat(parts):
                return self.piece(self.terminal(nodes.Concat(parts)))
            case nodes.Concat(parts):
                return (
                    " ".join(bracketed(part, self.rule(part)) for part in together(nodes.flatten_parts(parts))) or '""'
                )
            case nodes.Choice(options):
                return " | ".join(bracketed(option, self.rule(option)) for option in options)
            case nodes.Repeat(part, least, most):
                return bracketed(part, self.rule(part)) + times(least, most) if most != 0 else '""'
            case nodes.LiteralText(""):
                return '""'
        return self.piece(self.terminal(node))

    def piece(self, text: str) -> str:
        if text.isidentifier():
            return text
        name = self._pieces.get(text)
        if name is None:
            name = self._pieces[text] = f"P_{len(self._pieces)}"
            self.more.append(f"{name}: {text}")
        return name


class TokenConcat(nodes.Concat, frozen=True):
    """Parts that are one token."""


def together(parts: list[nodes.Node]) -> list[nodes.Node]:
    """A literal and the space behind it; free text and the literal that ends it."""
    joined: list[nodes.Node] = []
    for part in parts:
        before = joined[-1] if joined else None
        space = isinstance(before, nodes.LiteralText) and part == nodes.Rule("space")
        end = isinstance(before, nodes.Until) and isinstance(part, nodes.LiteralText)
        if before is not None and (space or end):
            joined[-1] = TokenConcat((before, part))
        else:
            joined.append(part)
    return joined


def bracketed(node: nodes.Node, text: str) -> str:
    return (
        text if isinstance(node, nodes.LiteralText | nodes.Chars | nodes.Rule) or text.isidentifier() else f"({text})"
    )


def times(least: int, most: int | None) -> str:
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    return "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"


def until(end: str, most: int | None) -> str:
    """Any text, and not one with the word in it."""
    anything = "/(?s:.*)/" if most is None else f"/(?s:.{{0,{most}}})/"
    return f"{anything} & ~(/(?s:.*)/ {quoted(end)} /(?s:.*)/)"


def quoted(text: str) -> str:
    return '"' + "".join(_string(sign) for sign in text) + '"'


def _string(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else sign


def chars(ranges: tuple[tuple[int, int], ...], negated: bool) -> str:
    inside = "".join(_code(low) if low == high else f"{_code(low)}-{_code(high)}" for low, high in ranges)
    return f"[{'^' if negated else ''}{inside}]"


def _code(code: int) -> str:
    sign = chr(code)
    return sign if sign.isascii() and sign.isalnum() else f"\\u{{{code:x}}}"
