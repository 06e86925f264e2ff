"""Compiles strings: JSON escapes, length and pattern.

any      characters that need no escape, and escapes
pattern  each character escaped as in JSON, so that a pattern cannot end the string
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rightseat.models.completion.grammar import charsets, formats, lengths, regex
from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.prefix_tree import make_choice
from rightseat.models.completion.grammar.protocol import Compiler

UNESCAPED = charsets.subtract(charsets.UNICODE, ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F)))
SHORT_ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
QUOTE = LiteralText('"')

CHARACTER: Node = Choice(
    (
        Chars(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F)), negated=True),
        Concat((LiteralText("\\"), Chars(charsets.from_text('"\\bfnrt')))),
    )
)
"""One character. All others need no escape, so `\\u…` is never needed."""


def build(compiler: Compiler, schema: dict[str, Any], where: str) -> Node:
    least, most = read_length(compiler, schema, where)
    pattern = find_pattern(compiler, schema, where) if "pattern" in schema or "format" in schema else None
    if pattern is None:
        return compiler.named("string", Concat((QUOTE, Repeat(compiler.shared("char", CHARACTER), least, most), QUOTE)))
    return compiler.named("text", build_pattern(compiler, schema, pattern, least, most, where, in_json=True))


def read_length(compiler: Compiler, schema: dict[str, Any], where: str) -> tuple[int, int]:
    bounds = compiler.bounds
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    if most is not None and most < least:
        compiler.fail(where, "maxLength", f"is {most}, below the minLength {least}: no string fits")
    if least > bounds.longest_text:
        compiler.fail(where, "minLength", f"is {least}; strings are limited to {bounds.longest_text} characters")
    if most is None:
        return least, max(bounds.text, min(2 * least, bounds.longest_text))
    return least, min(int(most), bounds.longest_text)


def find_pattern(compiler: Compiler, schema: dict[str, Any], where: str) -> str | None:
    """Return the pattern from `pattern` or `format`."""
    pattern, named = schema.get("pattern"), schema.get("format")
    known = formats.PATTERNS.get(named) if isinstance(named, str) else None
    if pattern is None:
        return known
    if known:
        compiler.fail(where, "pattern", f"is combined with format {named!r}; only one of the two can be enforced")
    if isinstance(pattern, tuple):
        compiler.fail(where, "pattern", "is given twice by combined schemas; one of them can be enforced")
    return str(pattern)


def build_pattern(
    compiler: Compiler,
    schema: dict[str, Any],
    pattern: str,
    least: int,
    most: int,
    where: str,
    *,
    in_json: bool,
) -> Node:
    try:
        found = build_pattern_node(pattern, least, most, in_json)
        if found is None and "maxLength" not in schema:
            found = build_pattern_node(pattern, least, compiler.bounds.longest_text, in_json)
    except regex.UnsupportedPattern as error:
        compiler.fail(where, "pattern", f"{pattern[:80]!r} {error}")
    if found is None:
        keyword = "pattern" if "pattern" in schema else "format"
        compiler.fail(where, keyword, f"leaves no string of {least} to {most} characters that can be enforced")
    return found


@lru_cache(256)
def build_pattern_node(pattern: str, least: int, most: int, in_json: bool) -> Node | None:
    """Build strings of a pattern and a length, quoted or bare. Cached, because requests repeat the same few."""
    found = lengths.fit(regex.parse(pattern), least, most)
    return Concat((QUOTE, escape_node(found), QUOTE)) if found is not None and in_json else found


def escape_node(node: Node) -> Node:
    """Escape the characters of a pattern's node as in a JSON string."""
    return _map_node(node, lambda text: "".join(map(escape_character, text)), _escape_set)


def exclude_end(node: Node, end: str) -> Node:
    """Remove the first character of `end`, which ends the string, from the sets of a pattern's node."""
    first = ((ord(end[0]), ord(end[0])),)
    return _map_node(node, str, lambda ranges: Chars(charsets.subtract(ranges, first) or ranges))


def _map_node(node: Node, text: Callable[[str], str], chars: Callable[[charsets.Ranges], Node]) -> Node:
    match node:
        case LiteralText(literal):
            return LiteralText(text(literal))
        case Chars(ranges):
            return chars(ranges)
        case Concat(parts):
            return Concat(tuple(_map_node(part, text, chars) for part in parts))
        case Choice(options):
            return Choice(tuple(_map_node(option, text, chars) for option in options))
        case Repeat(part, least, most):
            return Repeat(_map_node(part, text, chars), least, most)
    raise TypeError(f"{type(node).__name__} is not in a pattern")


def _escape_set(ranges: charsets.Ranges) -> Node:
    options: list[Node] = []
    plain = charsets.intersect(ranges, UNESCAPED)
    if plain:
        options.append(Chars(plain))
    short = "".join(
        SHORT_ESCAPES[code][1] for code in SHORT_ESCAPES if any(low <= code <= high for low, high in ranges)
    )
    if short:
        options.append(Concat((LiteralText("\\"), Chars(charsets.from_text(short)))))
    if not options:
        options = [LiteralText(escape_character(chr(code))) for low, high in ranges for code in range(low, high + 1)]
    if not options:
        raise regex.UnsupportedPattern("has an empty character set")
    return make_choice(options)


def escape_character(sign: str) -> str:
    code = ord(sign)
    if code in SHORT_ESCAPES:
        return SHORT_ESCAPES[code]
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F or 0xD800 <= code < 0xE000 else sign


def quote(text: str) -> str:
    """Quote a text as JSON with as few escapes as possible."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(escape_character, text))}"'


def exclude_first(end: str) -> Chars:
    """Return characters that cannot begin `end`: coarser than `Until`, but countable."""
    return Chars(charsets.subtract(charsets.UNICODE, ((ord(end[0]), ord(end[0])),)))
