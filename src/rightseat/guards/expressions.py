"""Compiles phrases and regular expressions of operators for RE2, whose search time is linear.

Python's own parser reads an expression, so it has Python's meaning; constructs that RE2 cannot run in linear time are
rejected by name. `\\w`, `\\d` and `\\s` are expanded to Python's sets. RE2 has word boundaries for ASCII only,
so `\\b` at the start or end of an expression becomes a matched character, or the end of the text.

Each expression is compiled twice: as written, and with normalised letters for normalised text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # typeshed has neither of them
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import re2  # type: ignore[import-untyped]  # it has no types

from rightseat.guards.normalization import INVISIBLE, normalize, normalize_character

MAX_MATCH_CHARS = 4096
"""Characters that one pattern may match; at most so much of an answer is held back."""
MAX_PROGRAM_BYTES = 16 * 1024 * 1024
"""Of one compiled expression with RE2's cached states. Beyond, it is rejected or slower."""
MAX_REPEATS = 1000  # RE2's limit for one repetition
MAX_GROUP_CHARS = 4000  # of phrases compiled into one expression

UNSUPPORTED = {
    op.ASSERT: ("a {}", "match the characters around it too, or leave it out"),
    op.ASSERT_NOT: ("a negative {}", "match the characters around it too, or leave it out"),
    op.GROUPREF: ("a back-reference", "write out what it repeats"),
    op.GROUPREF_EXISTS: ("a conditional group", "write two patterns"),
    op.ATOMIC_GROUP: ("an atomic group", "write (?:…) for (?>…)"),
    op.POSSESSIVE_REPEAT: ("a possessive repeat", "leave out the + behind the repeat"),
}
OPPOSITES = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}
CATEGORIES = {
    op.CATEGORY_DIGIT: r"\p{Nd}",
    op.CATEGORY_SPACE: r"\t-\r\x{1c}-\x{1f}\x{85}\pZ",
    op.CATEGORY_WORD: r"\pL\pN_",
}
"""Python's \\d, \\s and \\w inside a class."""
ASCII_CATEGORIES = {op.CATEGORY_DIGIT: "0-9", op.CATEGORY_SPACE: r"\t-\r ", op.CATEGORY_WORD: "0-9A-Za-z_"}
PYTHON_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
NON_WORD = r"[^\pL\pN\pM_]"
"""A character next to a word. Marks belong to their letters."""


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


@dataclass(frozen=True, slots=True)
class Pattern:
    """`normalized` is for normalised text, `raw` for text as written; either may be None."""

    normalized: Expression | None
    raw: Expression | None
    max_chars: int


def pattern(expression: str) -> Pattern:
    """Compile a bounded regular expression, ignoring case."""
    try:
        tree = _parser.parse(expression, re.IGNORECASE)
        re.compile(expression, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"{expression!r} is not a valid pattern: {error}.") from None
    _check_supported(tree, expression)
    minimum, maximum = tree.getwidth()
    if minimum == 0:
        raise BadPattern(f"{expression!r} matches the empty text.")
    _check_length(maximum, expression)
    raw = _compile(Translation(expression, tree).source, maximum + 2, expression)
    plain = _normalize_tree(tree)
    minimum, maximum = plain.getwidth()
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


def _check_supported(items: Any, expression: str) -> None:
    for kind, value in items:
        if kind in UNSUPPORTED:
            what, cure = UNSUPPORTED[kind]
            if kind in (op.ASSERT, op.ASSERT_NOT):
                what = what.format("look-ahead" if value[0] > 0 else "look-behind")
            raise BadPattern(f"{expression!r} has {what}, which cannot be searched in linear time: {cure}.")
        for inner in _inner(kind, value):
            _check_supported(inner, expression)


def _inner(kind: Any, value: Any) -> Sequence[Any]:
    if kind is op.BRANCH:
        return value[1]  # type: ignore[no-any-return]
    if kind is op.SUBPATTERN:
        return (value[3],)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return (value[2],)
    return ()


def _normalize_tree(tree: Any) -> Any:
    """Normalise the letters of the tree. A class that excludes letters stays unchanged."""
    items: list[Any] = []
    for kind, value in tree:
        if kind is op.LITERAL:
            items += ((op.LITERAL, ord(one)) for one in normalize_character(chr(value)) if one != INVISIBLE)
        elif kind is op.IN and value[0][0] is not op.NEGATE:
            plain = (normalize_character(chr(one)) for what, one in value if what is op.LITERAL)
            items.append((kind, [*value, *((op.LITERAL, ord(one)) for one in plain if len(one) == 1)]))
        elif kind is op.BRANCH:
            items.append((kind, (value[0], [_normalize_tree(one) for one in value[1]])))
        elif kind is op.SUBPATTERN:
            items.append((kind, (*value[:3], _normalize_tree(value[3]))))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            items.append((kind, (*value[:2], _normalize_tree(value[2]))))
        else:
            items.append((kind, value))
    return _parser.SubPattern(tree.state, items)


class Translation:
    """Translates a tree of Python's parser to RE2 syntax."""

    def __init__(self, pattern_text: str, tree: Any) -> None:
        self._pattern = pattern_text
        self.source = self._sequence(tree, tree.state.flags, is_first=True, is_last=True)

    def _sequence(self, items: Any, flags: int, *, is_first: bool, is_last: bool) -> str:
        parts = []
        for place, (kind, value) in enumerate(items):
            first, last = is_first and place == 0, is_last and place == len(items) - 1
            if kind is op.AT and value in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
                before, after = items[:place], items[place + 1 :]
                parts.append(self._boundary(value, before, after, is_first=first, is_last=last))
            else:
                parts.append(self._item(kind, value, flags, is_first=first, is_last=last))
        return "".join(parts)

    def _item(self, kind: Any, value: Any, flags: int, *, is_first: bool, is_last: bool) -> str:
        if kind is op.LITERAL:
            return _character(value)
        if kind is op.NOT_LITERAL:
            return f"[^{_character(value)}]"
        if kind is op.ANY:
            return "(?s:.)" if flags & re.DOTALL else r"[^\n]"
        if kind is op.IN:
            return _class(value, is_ascii=bool(flags & re.ASCII))
        if kind is op.AT:
            return _anchor(value, flags)
        if kind is op.BRANCH:
            ways = (self._sequence(one, flags, is_first=is_first, is_last=is_last) for one in value[1])
            return f"(?:{'|'.join(ways)})"
        if kind is op.SUBPATTERN:
            _, added, removed, inner = value
            source = self._sequence(inner, (flags | added) & ~removed, is_first=is_first, is_last=is_last)
            return f"(?{'-i' if removed & re.IGNORECASE else 'i' if added & re.IGNORECASE else ''}:{source})"
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            minimum, maximum, inner = value
            one = f"(?:{self._sequence(inner, flags, is_first=False, is_last=False)})"
            return _repeat(one, minimum, maximum, "?" if kind is op.MIN_REPEAT else "")
        raise BadPattern(f"{self._pattern!r} has a construct ({kind}) that cannot be searched in linear time.")

    def _boundary(self, value: Any, before: Any, after: Any, *, is_first: bool, is_last: bool) -> str:
        left, right = _edge(reversed(before)), _edge(after)
        if value is op.AT_BOUNDARY and is_first and "other" not in right:
            return rf"(?:\A|{NON_WORD})"
        if value is op.AT_BOUNDARY and is_last and "other" not in left:
            return rf"(?:{NON_WORD}|\z)"
        if "word" in left and "word" in right:
            raise BadPattern(
                f"{self._pattern!r} has a word boundary (\\b or \\B) between letters that may be beyond ASCII, which "
                r"cannot be searched in linear time: write the character that ends the word, such as \W or a blank."
            )
        return r"\b" if value is op.AT_BOUNDARY else r"\B"


def _edge(items: Iterable[Any]) -> set[str]:
    """Kinds of characters that the items can begin with: `ascii` and `word` (letters and digits), `other`."""
    kinds: set[str] = set()
    for kind, value in items:
        if kind is op.AT:
            continue
        if kind is op.LITERAL:
            kinds |= _kind(chr(value))
        elif kind is op.IN:
            kinds |= _kinds_in(value)
        elif inner := _inner(kind, value):
            for one in inner:
                kinds |= _edge(one)
            if kind in (op.MAX_REPEAT, op.MIN_REPEAT) and value[0] == 0:
                continue
        else:
            kinds |= {"ascii", "word", "other"}
        break
    else:
        kinds |= {"ascii", "word", "other"}
    return kinds


def _kinds_in(items: Any) -> set[str]:
    kinds: set[str] = set()
    for kind, value in items:
        if kind is op.LITERAL:
            kinds |= _kind(chr(value))
        elif kind is op.RANGE and value[1] - value[0] < MAX_REPEATS:
            kinds = kinds.union(*(_kind(chr(one)) for one in range(value[0], value[1] + 1)))
        elif kind is op.CATEGORY and value is op.CATEGORY_DIGIT:
            kinds |= {"ascii"}  # other digits are normalised
        elif kind is op.CATEGORY and value is op.CATEGORY_WORD:
            kinds |= {"ascii", "word"}
        elif kind is op.CATEGORY and value is op.CATEGORY_SPACE:
            kinds |= {"other"}
        else:
            kinds |= {"ascii", "word", "other"}
    return kinds


def _kind(character: str) -> set[str]:
    if character.isalnum() or character == "_":
        return {"ascii"} if character.isascii() else {"word"}
    return {"other"}


def _repeat(one: str, minimum: int, maximum: int, lazy: str) -> str:
    """RE2 repeats at most 1,000 times; more is written as several repeats."""
    parts = []
    while maximum > MAX_REPEATS:
        parts.append(f"{one}{{{min(minimum, MAX_REPEATS)},{MAX_REPEATS}}}{lazy}")
        minimum, maximum = max(0, minimum - MAX_REPEATS), maximum - MAX_REPEATS
    return "".join([*parts, f"{one}{{{minimum},{maximum}}}{lazy}"])


def _anchor(value: Any, flags: int) -> str:
    if value is op.AT_BEGINNING:
        return "(?m:^)" if flags & re.MULTILINE else r"\A"
    if value is op.AT_END:
        return "(?m:$)" if flags & re.MULTILINE else r"(?:\n?\z)"
    return r"\A" if value is op.AT_BEGINNING_STRING else r"\z"


def _class(items: Any, *, is_ascii: bool) -> str:
    is_negated = items[0][0] is op.NEGATE
    members = items[1:] if is_negated else items
    if len(members) == 1 and _is_opposite(members[0]):
        members, is_negated = [(op.CATEGORY, OPPOSITES[members[0][1]])], not is_negated
    if any(map(_is_opposite, members)):
        return _expand_class("".join(map(_python_member, items)), is_ascii=is_ascii)
    categories = ASCII_CATEGORIES if is_ascii else CATEGORIES
    return f"[{'^' if is_negated else ''}{''.join(_member(one, categories) for one in members)}]"


def _is_opposite(member: Any) -> bool:
    return member[0] is op.CATEGORY and member[1] in OPPOSITES


def _member(member: Any, categories: dict[Any, str]) -> str:
    kind, value = member
    if kind is op.CATEGORY:
        return categories[value]
    return _character(value) if kind is op.LITERAL else f"{_character(value[0])}-{_character(value[1])}"


def _python_member(member: Any) -> str:
    kind, value = member
    if kind is op.CATEGORY:
        return PYTHON_CATEGORIES[value]
    if kind is op.NEGATE:
        return "^"
    return f"\\U{value:08x}" if kind is op.LITERAL else f"\\U{value[0]:08x}-\\U{value[1]:08x}"


@lru_cache(64)
def _expand_class(inside: str, *, is_ascii: bool) -> str:
    """Expand a class that RE2 cannot combine, such as [^\\W\\d], to the ranges that Python matches."""
    every = "".join(map(chr, range(0x40000)))  # beyond there are no letters, digits or blanks
    spans = (one.span() for one in re.finditer(f"[{inside}]+", every, re.ASCII if is_ascii else 0))
    ranges = ((first, end - 1 if end < len(every) else 0x10FFFF) for first, end in spans)
    return f"[{''.join(f'{_character(first)}-{_character(last)}' for first, last in ranges)}]"


def _character(code: int) -> str:
    return f"\\x{{{code:x}}}"
