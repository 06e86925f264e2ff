"""Compiles phrases and regular expressions of operators for RE2, whose search time is linear.

An expression has Python's meaning. Constructs that RE2 cannot run in linear time are rejected by name. `\\w`, `\\d` and
`\\s` are expanded to Python's sets. RE2 has word boundaries for ASCII only, so `\\b` at the start or end of an
expression becomes a matched character, or the end of the text.

Each expression is compiled twice: as written, and with normalised letters for normalised text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import re2  # type: ignore[import-untyped]  # it has no types

from rightseat.guards import regex_parser
from rightseat.guards.normalization import INVISIBLE, normalize, normalize_character
from rightseat.guards.regex_parser import (
    Alternatives,
    Anchor,
    AnyCharacter,
    CaseGroup,
    Character,
    CharacterSet,
    Node,
    Nodes,
    Repetition,
    UnsupportedConstruct,
    measure,
)

MAX_MATCH_CHARS = 4096
"""Characters that one pattern may match; at most so much of an answer is held back."""
MAX_PROGRAM_BYTES = 16 * 1024 * 1024
"""Of one compiled expression with RE2's cached states. Beyond, it is rejected or slower."""
MAX_REPEATS = 1000  # RE2's limit for one repetition
MAX_GROUP_CHARS = 4000  # of phrases compiled into one expression

CATEGORIES = {"d": r"\p{Nd}", "s": r"\t-\r\x{1c}-\x{1f}\x{85}\pZ", "w": r"\pL\pN_"}
"""Python's \\d, \\s and \\w inside a class."""
ASCII_CATEGORIES = {"d": "0-9", "s": r"\t-\r ", "w": "0-9A-Za-z_"}
ANCHORS = {
    Anchor.TEXT_START: r"\A",
    Anchor.LINE_START: "(?m:^)",
    Anchor.TEXT_END: r"\z",
    Anchor.LINE_END: "(?m:$)",
    Anchor.LAST_LINE_END: r"(?:\n?\z)",
}
WORD, NON_WORD = r"[\pL\pN\pM_]", r"[^\pL\pN\pM_]"
"""A character of a word, and one next to a word. Marks belong to their letters."""


class BadPattern(ValueError):
    """Invalid, or not searchable in streamed text."""


class Expression:
    """A compiled expression. `max_chars` is how many characters it can match."""

    def __init__(self, source: str, max_chars: int) -> None:
        options = re2.Options()
        options.max_mem = MAX_PROGRAM_BYTES
        options.case_sensitive = False
        options.log_errors = False
        options.never_capture = True
        self.max_chars = max_chars
        self._compile = re2.compile(source, options)

    def is_in(self, text: str, start: int = 0, *, final: bool = True) -> bool:
        """Whether there is a match from `start` on. Unless `final`, a match at the end does not count."""
        data = text.encode("utf-8", "replace")
        end = len(data)
        if end == len(text):  # ASCII
            if not final and end:
                end -= 1
        else:
            start = len(text[:start].encode("utf-8", "replace"))
            if not final:
                end -= len(text[-1].encode("utf-8", "replace"))
        # Not re2.Set, which takes several at once: when memory runs out, it reports no match.
        return self._compile.search(data, start, end) is not None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """The start and the end of each match, without the characters around it that are part of no word."""
        data, start = text.encode("utf-8", "replace"), 0
        read = chars = 0  # the bytes before the last match, and their characters
        while (match := self._compile.search(data, start)) is not None:
            chars += len(data[read : match.start()].decode("utf-8", "replace"))
            read = match.start()
            begin, end = chars, chars + len(data[read : match.end()].decode("utf-8", "replace"))
            while begin < end and not is_in_word(text[begin]):
                begin += 1
            while begin < end and not is_in_word(text[end - 1]):
                end -= 1
            if begin < end:
                yield begin, end
            start = max(match.start() + 1, match.end() - 1)  # the character after a match may be the one before another


def is_in_word(character: str) -> bool:
    return character.isalnum() or character in "_+"


@dataclass(frozen=True, slots=True)
class Pattern:
    """`normalized` is for normalised text, `raw` for text as written; either may be None."""

    normalized: Expression | None
    raw: Expression | None
    max_chars: int


def pattern(expression: str) -> Pattern:
    """Compile a bounded regular expression, ignoring case."""
    try:
        flags = re.compile(expression, re.IGNORECASE).flags
        return _compile_pattern(expression, regex_parser.parse(expression, flags))
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"{expression!r} is not a valid pattern: {error}.") from None
    except UnsupportedConstruct as error:
        raise BadPattern(f"{expression!r} {error}") from None


def _compile_pattern(expression: str, nodes: Nodes) -> Pattern:
    minimum, maximum = measure(nodes)
    if minimum == 0:
        raise BadPattern(f"{expression!r} matches the empty text.")
    _check_length(maximum, expression)
    raw = _compile(Translation(expression, nodes).source, maximum + 2, expression)
    plain = _normalize_nodes(nodes)
    minimum, maximum = measure(plain)
    if minimum == 0:
        return Pattern(None, raw, raw.max_chars)
    _check_length(maximum, expression)
    normalized = _compile(Translation(expression, plain).source, maximum + 2, expression)
    return Pattern(normalized, raw, max(raw.max_chars, normalized.max_chars))


def _check_length(maximum: int, expression: str) -> None:
    if maximum > MAX_MATCH_CHARS:
        raise BadPattern(
            f"{expression[:80]!r} can match more than {MAX_MATCH_CHARS:,} characters. Answers are held back for the "
            "length of a match, so a pattern must be bounded: write {1,64} for + and {0,64} for *."
        )


def phrase(text: str) -> Pattern:
    if not _normalize_phrase(text):
        raise BadPattern("An empty phrase would match everywhere.")
    if len(_normalize_phrase(text)) > MAX_MATCH_CHARS:
        raise BadPattern(f"The phrase {text[:80]!r} has more than {MAX_MATCH_CHARS:,} characters.")
    return phrases([text])[0]


def phrases(texts: Iterable[str]) -> list[Pattern]:
    """Match phrases as whole words, with any white space between them, and invisible characters anywhere."""
    groups: list[list[str]] = []
    remaining = 0
    for text in texts:
        plain = _normalize_phrase(text)
        remaining -= len(plain)
        if remaining < 0:
            groups.append([])
            remaining = MAX_GROUP_CHARS - len(plain)
        groups[-1].append(plain)
    return [_compile_phrases(group) for group in groups]


def _normalize_phrase(phrase: str) -> str:
    return normalize(phrase).replace(INVISIBLE, "").strip()


def _compile_phrases(plain: Sequence[str]) -> Pattern:
    gap = f"(?: |{INVISIBLE} ?)"
    words = (gap.join(f"{INVISIBLE}?".join(map(re.escape, word)) for word in one.split(" ")) for one in plain)
    source = rf"(?:^|{NON_WORD})(?:{'|'.join(words)})(?:{NON_WORD}|$)"
    expression = _compile(source, max(map(len, plain)) + 2, plain[0])
    return Pattern(expression, None, expression.max_chars)


def _compile(source: str, max_chars: int, pattern_text: str) -> Expression:
    try:
        return Expression(source, max_chars)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        if "too large" in reason:
            reason = (
                f"it needs more than {MAX_PROGRAM_BYTES >> 20} MB. Repeat less often, or write [A-Za-z0-9_] for \\w: "
                "each \\w has the letters of every script"
            )
        raise BadPattern(f"{pattern_text!r} cannot be searched in linear time: {reason}.") from None


def _normalize_nodes(nodes: Nodes) -> Nodes:
    """Normalise the letters of the nodes. A class that excludes letters stays unchanged."""
    plain: list[Node] = []
    for node in nodes:
        match node:
            case Character(code):
                plain += (Character(ord(letter)) for letter in normalize_character(chr(code)) if letter != INVISIBLE)
            case CharacterSet(is_negated=False):
                plain.append(_normalize_set(node))
            case Alternatives(sequences):
                plain += _normalize_alternatives(sequences)
            case CaseGroup(inner, ignores_case):
                plain.append(CaseGroup(_normalize_nodes(inner), ignores_case))
            case Repetition(inner, least, most, is_lazy):
                plain.append(Repetition(_normalize_nodes(inner), least, most, is_lazy))
            case _:
                plain.append(node)
    return tuple(plain)


def _normalize_alternatives(sequences: Iterable[Nodes]) -> Nodes:
    """Leave out those of invisible characters alone; otherwise the alternatives would match the empty text."""
    pairs = ((nodes, _normalize_nodes(nodes)) for nodes in sequences)
    visible = tuple(plain for nodes, plain in pairs if measure(plain)[1] or not measure(nodes)[1])
    return (Alternatives(visible),) if visible else ()


def _normalize_set(node: CharacterSet) -> CharacterSet:
    letters = (chr(member[0]) for member in node.members if isinstance(member, tuple) and member[0] == member[1])
    plain = filter(lambda text: len(text) == 1, map(normalize_character, letters))
    members = (*node.members, *((ord(letter), ord(letter)) for letter in plain))
    return CharacterSet(members, node.is_negated, node.is_ascii)


class Translation:
    """Translates nodes to RE2 syntax."""

    def __init__(self, pattern_text: str, nodes: Nodes) -> None:
        self._pattern = pattern_text
        self.source = self._sequence(nodes, is_first=True, is_last=True)

    def _sequence(self, nodes: Nodes, *, is_first: bool, is_last: bool) -> str:
        parts = []
        for place, node in enumerate(nodes):
            first, last = is_first and place == 0, is_last and place == len(nodes) - 1
            if node is Anchor.BOUNDARY or node is Anchor.NO_BOUNDARY:
                before, after = nodes[:place], nodes[place + 1 :]
                parts.append(self._boundary(node, before, after, is_first=first, is_last=last))
            else:
                parts.append(self._node(node, is_first=first, is_last=last))
        return "".join(parts)

    def _node(self, node: Node, *, is_first: bool, is_last: bool) -> str:
        match node:
            case Character(code):
                return _character(code)
            case AnyCharacter(includes_newline):
                return "(?s:.)" if includes_newline else r"[^\n]"
            case CharacterSet():
                return _class(node)
            case Anchor():
                return ANCHORS[node]
            case Alternatives(sequences):
                ways = (self._sequence(nodes, is_first=is_first, is_last=is_last) for nodes in sequences)
                return f"(?:{'|'.join(ways)})"
            case CaseGroup(nodes, ignores_case):
                source = self._sequence(nodes, is_first=is_first, is_last=is_last)
                return f"(?{'' if ignores_case else '-'}i:{source})"
            case Repetition(nodes, least, most, is_lazy):
                source = f"(?:{self._sequence(nodes, is_first=False, is_last=False)})"
                return _repeat(source, least, most, "?" if is_lazy else "")
            case _:
                assert_never(node)

    def _boundary(self, anchor: Anchor, before: Nodes, after: Nodes, *, is_first: bool, is_last: bool) -> str:
        left, right = _edge(before, backward=True), _edge(after)
        is_word_left, is_word_right = _is_word(left), _is_word(right)
        if anchor is Anchor.BOUNDARY and is_first and is_word_right is not None:
            return rf"(?:\A|{NON_WORD})" if is_word_right else WORD
        if anchor is Anchor.BOUNDARY and is_last and is_word_left is not None:
            return rf"(?:{NON_WORD}|\z)" if is_word_left else WORD
        if is_word_left is not None and is_word_right is not None:
            is_boundary = is_word_left != is_word_right
            if is_boundary is (anchor is Anchor.BOUNDARY):
                return ""  # it always holds
        if "word" not in left or "word" not in right:
            return r"\b" if anchor is Anchor.BOUNDARY else r"\B"
        raise BadPattern(
            f"{self._pattern!r} has a word boundary (\\b or \\B) between letters that may be beyond ASCII, which "
            r"cannot be searched in linear time: write the character that ends the word, such as \W or a blank."
        )


def _edge(nodes: Sequence[Node], *, backward: bool = False) -> set[str]:
    """Kinds of characters that the nodes can begin with, or end with if `backward`.

    These are `ascii` and `word` (letters and digits), and `other`.
    """
    kinds: set[str] = set()
    for node in reversed(nodes) if backward else nodes:
        is_optional = False
        match node:
            case Anchor():
                continue
            case Character(code):
                kinds |= _kind(chr(code))
            case CharacterSet(members, is_negated=False):
                kinds |= _kinds_in(members)
            case Alternatives(sequences):
                kinds = kinds.union(*(_edge(inner, backward=backward) for inner in sequences))
            case CaseGroup(inner):
                kinds |= _edge(inner, backward=backward)
            case Repetition(inner, least):
                kinds |= _edge(inner, backward=backward)
                is_optional = least == 0
            case _:
                kinds |= {"ascii", "word", "other"}
        if not is_optional:
            return kinds
    return kinds | {"ascii", "word", "other"}


def _kinds_in(members: Sequence[tuple[int, int] | str]) -> set[str]:
    kinds: set[str] = set()
    for member in members:
        match member:
            case (int(first), int(last)) if last - first < MAX_REPEATS:
                kinds = kinds.union(*(_kind(chr(code)) for code in range(first, last + 1)))
            case "d":
                kinds |= {"ascii"}  # other digits are normalised
            case "w":
                kinds |= {"ascii", "word"}
            case "s":
                kinds |= {"other"}
            case _:
                kinds |= {"ascii", "word", "other"}
    return kinds


def _kind(character: str) -> set[str]:
    if character.isalnum() or character == "_":
        return {"ascii"} if character.isascii() else {"word"}
    return {"other"}


def _is_word(kinds: set[str]) -> bool | None:
    """Whether every character of these kinds belongs to a word; None if only some do."""
    return None if "other" in kinds and len(kinds) > 1 else "other" not in kinds


def _repeat(one: str, minimum: int, maximum: int, lazy: str) -> str:
    """RE2 repeats at most 1,000 times; more is written as several repeats."""
    parts = []
    while maximum > MAX_REPEATS:
        parts.append(f"{one}{{{min(minimum, MAX_REPEATS)},{MAX_REPEATS}}}{lazy}")
        minimum, maximum = max(0, minimum - MAX_REPEATS), maximum - MAX_REPEATS
    return "".join([*parts, f"{one}{{{minimum},{maximum}}}{lazy}"])


def _class(node: CharacterSet) -> str:
    members, is_negated = node.members, node.is_negated
    if len(members) == 1 and _is_opposite(members[0]):
        members, is_negated = (str(members[0]).lower(),), not is_negated
    if any(map(_is_opposite, members)):
        inside = "".join(map(_python_member, members))
        return _expand_class(f"^{inside}" if is_negated else inside, is_ascii=node.is_ascii)
    categories = ASCII_CATEGORIES if node.is_ascii else CATEGORIES
    return f"[{'^' if is_negated else ''}{''.join(_member(member, categories) for member in members)}]"


def _is_opposite(member: tuple[int, int] | str) -> bool:
    return isinstance(member, str) and member.isupper()


def _member(member: tuple[int, int] | str, categories: dict[str, str]) -> str:
    if isinstance(member, str):
        return categories[member]
    return "-".join(map(_character, dict.fromkeys(member)))


def _python_member(member: tuple[int, int] | str) -> str:
    if isinstance(member, str):
        return f"\\{member}"
    return f"\\U{member[0]:08x}-\\U{member[1]:08x}"


@lru_cache(64)
def _expand_class(inside: str, *, is_ascii: bool) -> str:
    """Expand a class that RE2 cannot combine, such as [^\\W\\d], to the ranges that Python matches."""
    every = "".join(map(chr, range(0x40000)))  # beyond there are no letters, digits or blanks
    spans = (one.span() for one in re.finditer(f"[{inside}]+", every, re.ASCII if is_ascii else 0))
    ranges = ((first, end - 1 if end < len(every) else 0x10FFFF) for first, end in spans)
    return f"[{''.join(f'{_character(first)}-{_character(last)}' for first, last in ranges)}]"


def _character(code: int) -> str:
    return f"\\x{{{code:x}}}"
