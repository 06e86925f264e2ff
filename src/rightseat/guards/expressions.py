"""Phrases and an operator's regular expressions, for an engine whose time is linear in the text (RE2).

An expression is read by Python's own parser, so it means what it means in Python; what RE2 has no linear way for is
refused by its name. `\\w`, `\\d` and `\\s` are written out as the characters that they have in Python. RE2 knows word
boundaries between ASCII characters only, so `\\b` at the beginning or the end of an expression becomes a character that
is matched too, or the end of the text.

Each expression is compiled twice: as it is, for the text as it was written; and with its letters normalised, for the
normalised text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # typeshed has neither of them
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import re2  # type: ignore[import-untyped]  # it has no types

from rightseat.guards.normalization import UNSEEN, normalize, normalize_character

LONGEST = 4096
"""Characters that one pattern may match: so much of an answer is held back at most."""
MAX_PROGRAM_BYTES = 16 * 1024 * 1024
"""Of one compiled expression and the states that RE2 keeps of it. Beyond, it is too large or takes slower ways."""
MAX_REPEATS = 1000  # of RE2, for one repetition
TOGETHER = 4000  # characters of phrases that become one expression

REFUSED = {
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
"""What Python means by \\d, \\s and \\w, inside a class."""
ASCII_CATEGORIES = {op.CATEGORY_DIGIT: "0-9", op.CATEGORY_SPACE: r"\t-\r ", op.CATEGORY_WORD: "0-9A-Za-z_"}
PYTHON_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
NO_WORD = r"[^\pL\pN\pM_]"
"""What can stand beside a word. Marks belong to their letters."""


class BadPattern(ValueError):
    """It is no pattern, or none that can be looked for while a text is written."""


class Expression:
    """A compiled expression. `longest` is how many characters it can match."""

    def __init__(self, source: str, longest: int) -> None:
        options = re2.Options()
        options.max_mem = MAX_PROGRAM_BYTES
        options.case_sensitive = False
        options.log_errors = False
        options.never_capture = True
        self.longest = longest
        self._compiled = re2.compile(source, options)

    def is_in(self, text: str, start: int = 0, *, final: bool = True) -> bool:
        """Is there a match at or behind `start`? Where the text goes on (not `final`), none that touches its end."""
        data = text.encode("utf-8", "replace")
        end = len(data)
        if end == len(text):  # ASCII
            if not final and end:
                end -= 1
        else:
            start = len(text[:start].encode("utf-8", "replace"))
            if not final:
                end -= len(text[-1].encode("utf-8", "replace"))
        # Not re2.Set, which would take several at once: where memory runs out, it says that there is no match.
        return self._compiled.search(data, start, end) is not None


@dataclass(frozen=True, slots=True)
class Pattern:
    """`normalized` is for normalised text, `raw` for text as it was written; either may have nothing to look for."""

    normalized: Expression | None
    raw: Expression | None
    longest: int


def pattern(expression: str) -> Pattern:
    """A regular expression, in upper or lower case, of something that has an end."""
    try:
        tree = _parser.parse(expression, re.IGNORECASE)
        re.compile(expression, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"{expression!r} is no pattern: {error}.") from None
    _refuse(tree, expression)
    least, most = tree.getwidth()
    if least == 0:
        raise BadPattern(f"{expression!r} is found in any text, even in none.")
    _limit(most, expression)
    raw = _compiled(Translation(expression, tree).source, most + 2, expression)
    plain = _normalized(tree)
    least, most = plain.getwidth()
    if least == 0:
        return Pattern(None, raw, raw.longest)
    _limit(most, expression)
    normalized = _compiled(Translation(expression, plain).source, most + 2, expression)
    return Pattern(normalized, raw, max(raw.longest, normalized.longest))


def _limit(most: int, expression: str) -> None:
    if most > LONGEST:
        raise BadPattern(
            f"{expression[:80]!r} can match more than {LONGEST:,} characters. An answer is held back for as long as a "
            "match could begin in it, so a pattern needs an end: write {1,64} for + and {0,64} for *."
        )


def phrase(text: str) -> Pattern:
    if not _plain(text):
        raise BadPattern("An empty phrase would be found everywhere.")
    if len(_plain(text)) > LONGEST:
        raise BadPattern(f"The phrase {text[:80]!r} has more than {LONGEST:,} characters, which are held back.")
    return phrases([text])[0]


def phrases(texts: Iterable[str]) -> list[Pattern]:
    """Phrases as words of their own, with any white space between the words, and unseen characters anywhere."""
    together: list[list[str]] = []
    room = 0
    for text in texts:
        plain = _plain(text)
        room -= len(plain)
        if room < 0:
            together.append([])
            room = TOGETHER - len(plain)
        together[-1].append(plain)
    return [_one_of(group) for group in together]


def _plain(phrase: str) -> str:
    return normalize(phrase).replace(UNSEEN, "").strip()


def _one_of(plain: Sequence[str]) -> Pattern:
    gap = f"(?: |{UNSEEN} ?)"
    words = (gap.join(f"{UNSEEN}?".join(map(re.escape, word)) for word in one.split(" ")) for one in plain)
    source = rf"(?:^|{NO_WORD})(?:{'|'.join(words)})(?:{NO_WORD}|$)"
    expression = _compiled(source, max(map(len, plain)) + 2, plain[0])
    return Pattern(expression, None, expression.longest)


def _compiled(source: str, longest: int, written: str) -> Expression:
    try:
        return Expression(source, longest)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        if "too large" in why:
            why = (
                f"it needs more than {MAX_PROGRAM_BYTES >> 20} MB. Repeat less often, or write [A-Za-z0-9_] for \\w: "
                "each \\w has the letters of every script"
            )
        raise BadPattern(f"{written!r} is no pattern that can be looked for in bounded time: {why}.") from None


def _refuse(items: Any, expression: str) -> None:
    for kind, value in items:
        if kind in REFUSED:
            what, cure = REFUSED[kind]
            if kind in (op.ASSERT, op.ASSERT_NOT):
                what = what.format("look-ahead" if value[0] > 0 else "look-behind")
            raise BadPattern(f"{expression!r} has {what}, which cannot be looked for in bounded time: {cure}.")
        for inner in _inner(kind, value):
            _refuse(inner, expression)


def _inner(kind: Any, value: Any) -> Sequence[Any]:
    if kind is op.BRANCH:
        return value[1]  # type: ignore[no-any-return]
    if kind is op.SUBPATTERN:
        return (value[3],)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return (value[2],)
    return ()


def _normalized(tree: Any) -> Any:
    """The tree with normalised letters. A class that excludes letters stays: the text has no others left."""
    items: list[Any] = []
    for kind, value in tree:
        if kind is op.LITERAL:
            items += ((op.LITERAL, ord(one)) for one in normalize_character(chr(value)) if one != UNSEEN)
        elif kind is op.IN and value[0][0] is not op.NEGATE:
            plain = (normalize_character(chr(one)) for what, one in value if what is op.LITERAL)
            items.append((kind, [*value, *((op.LITERAL, ord(one)) for one in plain if len(one) == 1)]))
        elif kind is op.BRANCH:
            items.append((kind, (value[0], [_normalized(one) for one in value[1]])))
        elif kind is op.SUBPATTERN:
            items.append((kind, (*value[:3], _normalized(value[3]))))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            items.append((kind, (*value[:2], _normalized(value[2]))))
        else:
            items.append((kind, value))
    return _parser.SubPattern(tree.state, items)


class Translation:
    """Writes a tree of Python's parser in RE2's syntax."""

    def __init__(self, written: str, tree: Any) -> None:
        self._written = written
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
            least, most, inner = value
            one = f"(?:{self._sequence(inner, flags, is_first=False, is_last=False)})"
            return _repeat(one, least, most, "?" if kind is op.MIN_REPEAT else "")
        raise BadPattern(f"{self._written!r} has a construct ({kind}) that cannot be looked for in bounded time.")

    def _boundary(self, value: Any, before: Any, after: Any, *, is_first: bool, is_last: bool) -> str:
        left, right = _edge(reversed(before)), _edge(after)
        if value is op.AT_BOUNDARY and is_first and "other" not in right:
            return rf"(?:\A|{NO_WORD})"
        if value is op.AT_BOUNDARY and is_last and "other" not in left:
            return rf"(?:{NO_WORD}|\z)"
        if "word" in left and "word" in right:
            raise BadPattern(
                f"{self._written!r} has a word boundary (\\b or \\B) between letters that may be beyond ASCII, which "
                r"cannot be looked for in bounded time: write the character that ends the word, such as \W or a blank."
            )
        return r"\b" if value is op.AT_BOUNDARY else r"\B"


def _edge(items: Iterable[Any]) -> set[str]:
    """The kinds of character that these items can begin with: `ascii` and `word` for letters and digits, `other`."""
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


def _repeat(one: str, least: int, most: int, lazy: str) -> str:
    """RE2 repeats at most 1,000 times; what is more is written as several repeats."""
    parts = []
    while most > MAX_REPEATS:
        parts.append(f"{one}{{{min(least, MAX_REPEATS)},{MAX_REPEATS}}}{lazy}")
        least, most = max(0, least - MAX_REPEATS), most - MAX_REPEATS
    return "".join([*parts, f"{one}{{{least},{most}}}{lazy}"])


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
        return _written_out("".join(map(_python_member, items)), is_ascii=is_ascii)
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
def _written_out(inside: str, *, is_ascii: bool) -> str:
    """A class that RE2 cannot combine, such as [^\\W\\d]: as the ranges of characters that Python finds in it."""
    every = "".join(map(chr, range(0x40000)))  # beyond are no letters, digits or blanks: all are as the last one is
    spans = (one.span() for one in re.finditer(f"[{inside}]+", every, re.ASCII if is_ascii else 0))
    ranges = ((first, end - 1 if end < len(every) else 0x10FFFF) for first, end in spans)
    return f"[{''.join(f'{_character(first)}-{_character(last)}' for first, last in ranges)}]"


def _character(code: int) -> str:
    return f"\\x{{{code:x}}}"
