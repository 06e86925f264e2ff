"""Strings: how their characters are written in JSON, how many they are, and which.

any      "…" of characters that need no escape, and of escapes
pattern  each character of it as JSON writes it, so that no pattern breaks out of its quotes
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rightseat.models.completion.grammar import charsets, formats, lengths, patterns
from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Repeat, Sequence

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

SAFE = charsets.minus(charsets.UNICODE, ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F)))
SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
QUOTE = Literal('"')

CHARACTER: Node = Choice(
    (
        Chars(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F)), negated=True),
        Sequence((Literal("\\"), Chars(charsets.of('"\\bfnrt')))),
    )
)
"""One character. All others can stand as they are, so `\\u…` is never needed."""


def build(work: "Work", schema: dict[str, Any], where: str) -> Node:
    least, most = length(work, schema, where)
    pattern = expected(work, schema, where) if "pattern" in schema or "format" in schema else None
    if pattern is None:
        return work.named("string", Sequence((QUOTE, Repeat(work.shared("char", CHARACTER), least, most), QUOTE)))
    return work.named("text", fitted(work, schema, pattern, least, most, where, in_json=True))


def length(work: "Work", schema: dict[str, Any], where: str) -> tuple[int, int]:
    bounds = work.bounds
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    if most is not None and most < least:
        work.fail(where, "maxLength", f"is {most}, below the minLength {least}: no string fits")
    if least > bounds.longest_text:
        work.fail(where, "minLength", f"is {least}; a string is held to {bounds.longest_text} characters at most")
    if most is None:
        return least, max(bounds.text, min(2 * least, bounds.longest_text))
    return least, min(int(most), bounds.longest_text)


def expected(work: "Work", schema: dict[str, Any], where: str) -> str | None:
    """The pattern that `pattern` or `format` stands for."""
    pattern, named = schema.get("pattern"), schema.get("format")
    known = formats.PATTERNS.get(named) if isinstance(named, str) else None
    if pattern is None:
        return known
    if known:
        work.fail(where, "pattern", f"stands beside format {named!r}; one of the two can be enforced")
    if isinstance(pattern, tuple):
        work.fail(where, "pattern", "is given twice by combined schemas; one of them can be enforced")
    return str(pattern)


def fitted(
    work: "Work", schema: dict[str, Any], pattern: str, least: int, most: int, where: str, *, in_json: bool
) -> Node:
    try:
        found = shaped(pattern, least, most, in_json)
        if found is None and "maxLength" not in schema:
            found = shaped(pattern, least, work.bounds.longest_text, in_json)
    except patterns.NotRegular as error:
        work.fail(where, "pattern", f"{pattern[:80]!r} {error}")
    if found is None:
        keyword = "pattern" if "pattern" in schema else "format"
        work.fail(where, keyword, f"leaves no string of {least} to {most} characters that can be enforced")
    return found


@lru_cache(256)
def shaped(pattern: str, least: int, most: int, in_json: bool) -> Node | None:
    """Strings of a pattern and of a length, in their quotes or bare. The same few are asked for again and again."""
    found = lengths.fit(patterns.read(pattern), least, most)
    return Sequence((QUOTE, written(found), QUOTE)) if found is not None and in_json else found


def written(node: Node) -> Node:
    """A pattern's node, its characters as they stand between the quotes of a JSON string."""
    return _changed(node, lambda text: "".join(map(escaped, text)), _set)


def before(node: Node, end: str) -> Node:
    """A pattern's node, its sets without the character that begins `end`, which ends the string."""
    first = ((ord(end[0]), ord(end[0])),)
    return _changed(node, str, lambda ranges: Chars(charsets.minus(ranges, first) or ranges))


def _changed(node: Node, text: Callable[[str], str], chars: Callable[[charsets.Ranges], Node]) -> Node:
    match node:
        case Literal(said):
            return Literal(text(said))
        case Chars(ranges):
            return chars(ranges)
        case Sequence(parts):
            return Sequence(tuple(_changed(part, text, chars) for part in parts))
        case Choice(options):
            return Choice(tuple(_changed(option, text, chars) for option in options))
        case Repeat(part, least, most):
            return Repeat(_changed(part, text, chars), least, most)
    raise TypeError(f"{type(node).__name__} is not in a pattern")


def _set(ranges: charsets.Ranges) -> Node:
    options: list[Node] = []
    plain = charsets.both(ranges, SAFE)
    if plain:
        options.append(Chars(plain))
    short = "".join(SHORT[code][1] for code in SHORT if any(low <= code <= high for low, high in ranges))
    if short:
        options.append(Sequence((Literal("\\"), Chars(charsets.of(short)))))
    if not options:
        options = [Literal(escaped(chr(code))) for low, high in ranges for code in range(low, high + 1)]
    if not options:
        raise patterns.NotRegular("has a set without characters")
    return choice(options)


def escaped(sign: str) -> str:
    code = ord(sign)
    if code in SHORT:
        return SHORT[code]
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F or 0xD800 <= code < 0xE000 else sign


def quoted(text: str) -> str:
    """A text as JSON: what can stand as it is does."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(escaped, text))}"'


def without(end: str) -> Chars:
    """Characters that cannot begin `end`: coarser than `Until`, but they can be counted."""
    return Chars(charsets.minus(charsets.UNICODE, ((ord(end[0]), ord(end[0])),)))
