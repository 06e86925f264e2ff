"""Parses a regular expression in Python syntax into nodes that can be searched in linear time.

The caller has compiled the expression with `re.compile`, so the parser is given valid expressions only. Flags are
resolved here: a node means the same wherever it stands. Groups without effect on the match are dissolved.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

UNLIMITED = 1 << 32
"""Of characters or repeats. No repeat in an expression can be as large."""
UNSUPPORTED_GROUPS = {
    "=": ("a look-ahead", "match the characters around it too, or leave it out"),
    "!": ("a negative look-ahead", "match the characters around it too, or leave it out"),
    "<=": ("a look-behind", "match the characters around it too, or leave it out"),
    "<!": ("a negative look-behind", "match the characters around it too, or leave it out"),
    "P=": ("a back-reference", "write out what it repeats"),
    "(": ("a conditional group", "write two patterns"),
    ">": ("an atomic group", "write (?:…) for (?>…)"),
}
"""By what follows `(?`: the construct and the cure."""
FLAGS = {letter: re.RegexFlag[letter.upper()] for letter in "aimsux"}
CONTROL_CODES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
CATEGORIES = "dDsSwW"

_IGNORED = r"\(\?(?:#(?:\\.|[^\\)])*|[aimsux]+)\)"  # a comment, or flags for the whole expression
IGNORED = re.compile(_IGNORED, re.DOTALL)
IGNORED_IF_VERBOSE = re.compile(rf"{_IGNORED}|[ \t\n\r\v\f]|#(?:\\.|[^\\\n])*", re.DOTALL)
REPEAT = re.compile(r"([*+?])|\{(?:([0-9]*)(,)([0-9]*)|([0-9]+))\}")
GROUP_FLAGS = re.compile(r"\?([aimsux]*)(?:-([imsx]+))?:")
ESCAPE = re.compile(r"\\(?:x(..)|u(.{4})|U(.{8})|N\{([^}]+)\}|(0[0-7]{0,2}|[0-7]{3})|(.))", re.DOTALL)
ESCAPE_IN_SET = re.compile(ESCAPE.pattern.replace("0[0-7]{0,2}|[0-7]{3}", "[0-7]{1,3}"), re.DOTALL)


class UnsupportedConstruct(ValueError):
    """The expression has a construct without a linear search; the message names it and the cure."""


@dataclass(frozen=True, slots=True)
class Character:
    code: int


@dataclass(frozen=True, slots=True)
class AnyCharacter:
    includes_newline: bool


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """`members` are ranges of codes, and letters of categories: `d` for `\\d`. If `is_ascii`, these are ASCII."""

    members: "tuple[tuple[int, int] | str, ...]"
    is_negated: bool
    is_ascii: bool


class Anchor(Enum):
    TEXT_START = auto()
    LINE_START = auto()
    TEXT_END = auto()
    LINE_END = auto()
    LAST_LINE_END = auto()
    """The end of the text, or before a line break there."""
    BOUNDARY = auto()
    NO_BOUNDARY = auto()


@dataclass(frozen=True, slots=True)
class Alternatives:
    sequences: "tuple[Nodes, ...]"


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Nodes that ignore the case of letters although those around it do not, or the reverse."""

    nodes: "Nodes"
    ignores_case: bool


@dataclass(frozen=True, slots=True)
class Repetition:
    nodes: "Nodes"
    least: int
    most: int
    is_lazy: bool


Node = Character | AnyCharacter | CharacterSet | Anchor | Alternatives | CaseGroup | Repetition
Nodes = tuple[Node, ...]


def parse(expression: str, flags: int) -> Nodes:
    """Parse an expression; `flags` are those of the compiled expression."""
    return RegexParser(expression).parse_alternatives(flags)


def measure(nodes: Sequence[Node]) -> tuple[int, int]:
    """Return the least and the most characters that the nodes match."""
    least = most = 0
    for node in nodes:
        low, high = _measure_node(node)
        least, most = min(least + low, UNLIMITED), min(most + high, UNLIMITED)
    return least, most


def _measure_node(node: Node) -> tuple[int, int]:
    match node:
        case Anchor():
            return 0, 0
        case Character() | AnyCharacter() | CharacterSet():
            return 1, 1
        case CaseGroup(nodes):
            return measure(nodes)
        case Alternatives(sequences):
            lows, highs = zip(*map(measure, sequences), strict=True)
            return min(lows), max(highs)
        case Repetition(nodes, least, most):
            low, high = measure(nodes)
            return low * least, high * most


class RegexParser:
    def __init__(self, expression: str) -> None:
        self._text = expression
        self._at = 0

    def parse_alternatives(self, flags: int) -> Nodes:
        sequences = [self._parse_sequence(flags)]
        while self._take("|"):
            sequences.append(self._parse_sequence(flags))
        return sequences[0] if len(sequences) == 1 else (Alternatives(tuple(sequences)),)

    def _parse_sequence(self, flags: int) -> Nodes:
        items: list[Nodes] = []  # a repeat applies to the last one
        ignored = IGNORED_IF_VERBOSE if flags & re.VERBOSE else IGNORED
        while self._at < len(self._text) and not self._text.startswith(("|", ")"), self._at):
            if match := ignored.match(self._text, self._at):
                self._at = match.end()
            elif match := REPEAT.match(self._text, self._at):
                self._at = match.end()
                items[-1] = (self._parse_repetition(items[-1], match),)
            else:
                items.append(self._parse_item(flags))
        return tuple(node for nodes in items for node in nodes)

    def _parse_repetition(self, nodes: Nodes, count: re.Match[str]) -> Repetition:
        sign, low, comma, high, exact = count.groups()
        if self._take("+"):
            raise UnsupportedConstruct(_describe("a possessive repeat", "leave out the + behind the repeat"))
        if sign:
            least, most = {"*": (0, UNLIMITED), "+": (1, UNLIMITED), "?": (0, 1)}[sign]
        elif comma:
            least, most = int(low or 0), int(high or UNLIMITED)
        else:
            least = most = int(exact)
        if measure(nodes)[1] == 0:  # anchors hold once or never, however often they are repeated
            least, most = min(least, 1), min(most, 1)
        return Repetition(nodes, least, most, self._take("?"))

    def _parse_item(self, flags: int) -> Nodes:
        sign = self._text[self._at]
        if sign == "\\":
            return (self._parse_escape(flags),)
        self._at += 1
        match sign:
            case "(":
                return self._parse_group(flags)
            case "[":
                return (self._parse_set(flags),)
            case ".":
                return (AnyCharacter(bool(flags & re.DOTALL)),)
            case "^":
                return (Anchor.LINE_START if flags & re.MULTILINE else Anchor.TEXT_START,)
            case "$":
                return (Anchor.LINE_END if flags & re.MULTILINE else Anchor.LAST_LINE_END,)
        return (Character(ord(sign)),)

    def _parse_group(self, flags: int) -> Nodes:
        """Parse the rest of a group after its `(`."""
        inner_flags = flags
        if match := GROUP_FLAGS.match(self._text, self._at):
            self._at = match.end()
            inner_flags = _change_flags(flags, match[1], match[2] or "")
        elif self._take("?P<"):
            self._at = self._text.index(">", self._at) + 1
        elif self._take("?"):
            following = self._text[self._at : self._at + 2]
            known = (reason for prefix, reason in UNSUPPORTED_GROUPS.items() if following.startswith(prefix))
            raise UnsupportedConstruct(_describe(*next(known, ("an unknown group", "write it without"))))
        nodes = self.parse_alternatives(inner_flags)
        self._at += 1  # the )
        if (flags ^ inner_flags) & re.IGNORECASE:
            return (CaseGroup(nodes, bool(inner_flags & re.IGNORECASE)),)
        return nodes

    def _parse_escape(self, flags: int) -> Node:
        match self._parse_escaped(ESCAPE):
            case int(code):
                return Character(code)
            case "A":
                return Anchor.TEXT_START
            case "Z" | "z":
                return Anchor.TEXT_END
            case "b":
                return Anchor.BOUNDARY
            case "B":
                return Anchor.NO_BOUNDARY
            case letter if letter in CATEGORIES:
                return CharacterSet((letter,), is_negated=False, is_ascii=bool(flags & re.ASCII))
            case letter if not letter.isdecimal():  # of a later Python
                raise UnsupportedConstruct(_describe(f"an unknown escape (\\{letter})", "write the characters"))
        raise UnsupportedConstruct(_describe("a back-reference", "write out what it repeats"))

    def _parse_escaped(self, syntax: re.Pattern[str]) -> int | str:
        """Return the code of an escaped character, or the letter of any other escape."""
        match = syntax.match(self._text, self._at)
        assert match is not None  # noqa: S101  # `re.compile` has refused anything else
        self._at = match.end()
        *digits, name, octal, sign = match.groups()
        if sign is not None:
            return (
                sign
                if sign.isascii() and sign.isalnum() and sign not in "afnrtv"
                else CONTROL_CODES.get(sign, ord(sign))
            )
        if octal is not None:
            return int(octal, 8)
        return ord(unicodedata.lookup(name)) if name is not None else int("".join(filter(None, digits)), 16)

    def _parse_set(self, flags: int) -> Node:
        """Parse the rest of a set after its `[`."""
        is_negated = self._take("^")
        members: list[tuple[int, int] | str] = []
        while not members or not self._take("]"):
            first = last = self._parse_member()
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                last = self._parse_member()
            members.append(first if isinstance(first, str) else (first, int(last)))
        match members:
            case [(int(first), int(last))] if first == last and not is_negated:
                return Character(first)
        return CharacterSet(tuple(members), is_negated, bool(flags & re.ASCII))

    def _parse_member(self) -> int | str:
        if self._text[self._at] == "\\":
            letter = self._parse_escaped(ESCAPE_IN_SET)
            return CONTROL_CODES["b"] if letter == "b" else letter
        self._at += 1
        return ord(self._text[self._at - 1])

    def _take(self, sign: str) -> bool:
        if self._text.startswith(sign, self._at):
            self._at += len(sign)
            return True
        return False


def _change_flags(flags: int, added: str, removed: str) -> int:
    if "a" in added or "u" in added:
        flags &= ~(re.ASCII | re.UNICODE)
    for letter in added:
        flags |= FLAGS[letter]
    for letter in removed:
        flags &= ~FLAGS[letter]
    return flags


def _describe(construct: str, cure: str) -> str:
    return f"has {construct}, which cannot be searched in linear time: {cure}."
