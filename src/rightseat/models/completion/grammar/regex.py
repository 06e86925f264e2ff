"""Parses regular expressions of JSON Schema (ECMA 262) into nodes over the characters of a string.

JSON Schema searches for a pattern, so an unanchored pattern may have any text before and after it. Constructs that are
not regular (look-around, back references) or have no fixed position (`\\b`, an anchor in the middle) fail by name. Sets
are narrowed where validators disagree: `\\W` and `\\D` exclude letters and digits beyond ASCII.
"""

from typing import NoReturn

from rightseat.models.completion.grammar import lengths
from rightseat.models.completion.grammar.charsets import CLASSES, DOT, PROPERTIES, SURROGATES, UNICODE, Ranges, subtract
from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.prefix_tree import make_choice

ANY_CHARACTER = Chars(((0, 0x1F), (0x20, 0xD7FF), (0xE000, 0x10FFFF)))
MAX_CHARS_BEFORE, MAX_CHARS_AFTER = 64, 256
"""Characters around an unanchored pattern."""
MAX_DEPTH = 32
MAX_PATTERN_CHARS = 5_000
MAX_MATCH_CHARS = 100_000
ESCAPES = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}
OPEN, CLOSE = "open", "close"


class UnsupportedPattern(ValueError):
    """The pattern is invalid or cannot be compiled; the message has the reason."""


def parse(pattern: str) -> Node:
    node = PatternParser(pattern).parse()
    _, longest = lengths.measure(node)
    if longest is not None and longest > MAX_MATCH_CHARS:
        raise UnsupportedPattern(f"can match {longest} characters; the maximum is {MAX_MATCH_CHARS}")
    return node


class PatternParser:
    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_CHARS:
            raise UnsupportedPattern(f"has {len(pattern)} characters; the maximum is {MAX_PATTERN_CHARS}")
        self.pattern = pattern
        self.at = 0
        self.depth = 0

    def parse(self) -> Node:
        """Parse the whole pattern; each alternative has its own anchors."""
        options: list[Node] = []
        while True:
            options.append(self.parse_alternative())
            if self.at == len(self.pattern):
                return make_choice(options)
            if self.pattern[self.at] == ")":
                self.fail("has a `)` without its `(`")
            self.at += 1

    def parse_alternative(self) -> Node:
        start = self.take("^")
        parts = self.parse_parts(top=True)
        end = bool(parts) and parts[-1] is END_ANCHOR
        parts = parts[:-1] if end else parts
        if any(part is END_ANCHOR for part in parts):
            self.fail("has an anchor in the middle")
        before = [] if start else [Repeat(ANY_CHARACTER, 0, MAX_CHARS_BEFORE)]
        behind = [] if end else [Repeat(ANY_CHARACTER, 0, MAX_CHARS_AFTER)]
        return concat([*before, *parts, *behind])

    def parse_group(self) -> Node:
        options: list[Node] = []
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"has groups nested more than {MAX_DEPTH} levels deep")
        while True:
            options.append(concat(self.parse_parts(top=False)))
            if self.at == len(self.pattern):
                self.fail("has a `(` without its `)`")
            self.at += 1
            if self.pattern[self.at - 1] == ")":
                self.depth -= 1
                return make_choice(options)

    def parse_parts(self, *, top: bool) -> list[Node]:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self.pattern[self.at] == "$" and top:
                self.at += 1
                parts.append(END_ANCHOR)
            else:
                parts.append(self.parse_repetition(self.parse_atom()))
        return parts

    def parse_atom(self) -> Node:
        sign = self.pattern[self.at]
        self.at += 1
        if sign == "(":
            return self.parse_open_group()
        if sign == "[":
            return Chars(self.parse_set())
        if sign == "\\":
            return Chars(self.parse_escape())
        if sign == ".":
            return Chars(DOT)
        if sign in "^$":
            self.fail("has an anchor in the middle")
        if sign in "*+?":
            self.fail(f"has a `{sign}` with nothing to repeat")
        return LiteralText(sign) if not 0xD800 <= ord(sign) < 0xE000 else self.fail("has a lone surrogate")

    def parse_open_group(self) -> Node:
        if not self.take("?"):
            return self.parse_group()
        if self.take(":"):
            return self.parse_group()
        if self.pattern.startswith(("<=", "<!", "=", "!"), self.at):
            self.fail("has look-ahead or look-behind, which a grammar cannot express")
        if self.take("<"):
            end = self.pattern.find(">", self.at)
            if end < 0:
                self.fail("has a group's name without its `>`")
            self.at = end + 1
            return self.parse_group()
        self.fail("has a group that JSON Schema does not support")

    def parse_repetition(self, part: Node) -> Node:
        times = 0
        while (count := self.parse_count()) is not None:
            least, most = count
            self.take("?")  # lazy and greedy repetitions accept the same texts
            part = (
                repeat(self.make_non_empty(part), 0, most)
                if lengths.measure(part)[0] == 0
                else repeat(part, least, most)
            )
            times += 1
            if times > MAX_DEPTH:
                self.fail("repeats repetitions")
        return part

    def make_non_empty(self, part: Node) -> Node:
        """Exclude the empty text, because repeated empty matches are ambiguous."""
        longest = lengths.measure(part)[1]
        return lengths.fit(part, 1, MAX_MATCH_CHARS if longest is None else max(longest, 1)) or part

    def parse_count(self) -> tuple[int, int | None] | None:
        if self.at == len(self.pattern):
            return None
        sign = self.pattern[self.at]
        if sign in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        return self.parse_braces() if sign == "{" else None

    def parse_braces(self) -> tuple[int, int | None] | None:
        end = self.pattern.find("}", self.at)
        inner = self.pattern[self.at + 1 : end] if end > 0 else ""
        low, comma, high = inner.partition(",")
        if not low.isdecimal() or not low.isascii() or not (not high or (high.isdecimal() and high.isascii())):
            self.fail("has a `{` that does not start a repetition")
        if len(low) > 6 or len(high) > 6:
            self.fail(f"repeats something {{{inner}}} times")
        self.at = end + 1
        least = int(low)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            self.fail(f"has a repetition {{{inner}}} whose bounds are reversed")
        return least, most

    def parse_set(self) -> Ranges:
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            if self.at >= len(self.pattern):
                self.fail("has a `[` without its `]`")
            low = self.parse_set_member(negated)
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at) and len(low) == 1:
                self.at += 1
                high = self.parse_set_member(negated)
                if len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    self.fail("has a range in `[ ]` whose bounds are reversed or not single characters")
                ranges.append((low[0][0], high[0][0]))
            else:
                ranges += low
        found = subtract(UNICODE, ranges) if negated else subtract(ranges, SURROGATES)
        return found or self.fail("has an empty character set")

    def parse_set_member(self, negated: bool) -> Ranges:
        if self.at >= len(self.pattern):
            self.fail("has a `[` without its `]`")
        sign = self.pattern[self.at]
        self.at += 1
        return self.parse_escape(negated) if sign == "\\" else ((ord(sign), ord(sign)),)

    def parse_escape(self, negated: bool = False) -> Ranges:
        """Return the characters that all validators agree on; with `negated`, all that any of them includes."""
        if self.at >= len(self.pattern):
            self.fail("ends with a backslash")
        sign = self.pattern[self.at]
        self.at += 1
        if sign in CLASSES:
            return subtract(UNICODE, CLASSES[sign.swapcase()]) if negated else CLASSES[sign]
        if sign in ESCAPES:
            return ((ESCAPES[sign], ESCAPES[sign]),)
        if sign in "bB":
            self.fail(f"has `\\{sign}`, a zero-width assertion")
        if sign.isdecimal() or sign == "k":
            self.fail("has a back reference, which a grammar cannot express")
        if sign in "pP":
            return self.parse_unicode_property(sign == "P" or negated)
        if sign in "uxc":
            code = self.parse_code(sign)
            return ((code, code),)
        if sign.isascii() and sign.isalpha():
            self.fail(f"has an unknown escape `\\{sign}`")
        return ((ord(sign), ord(sign)),)

    def parse_unicode_property(self, negated: bool) -> Ranges:
        end = self.pattern.find("}", self.at)
        name = self.pattern[self.at + 1 : end] if end > 0 and self.pattern[self.at : self.at + 1] == "{" else ""
        if negated or name not in PROPERTIES:
            known = ", ".join(sorted(PROPERTIES))
            self.fail(f"has a property of characters, {name!r}; known are {known}, with a small p and not in `[^ ]`")
        self.at = end + 1
        return PROPERTIES[name]

    def parse_code(self, sign: str) -> int:
        if sign == "c":
            letter = self.pattern[self.at : self.at + 1]
            self.at += 1
            return ord(letter.upper()) & 31 if letter.isalpha() else self.fail("has an unknown escape `\\c`")
        width = 4 if sign == "u" else 2
        digits = self.pattern[self.at : self.at + width]
        if sign == "u" and self.take("{"):
            end = self.pattern.find("}", self.at)
            digits, self.at = self.pattern[self.at : end], end + 1
        else:
            self.at += width
        try:
            code = int(digits, 16)
        except ValueError:
            self.fail(f"has an unknown escape `\\{sign}`")
        return code if code <= 0x10FFFF else self.fail(f"has an unknown escape `\\{sign}`")

    def take(self, sign: str) -> bool:
        if self.pattern.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def fail(self, problem: str) -> NoReturn:
        raise UnsupportedPattern(problem)


def repeat(part: Node, least: int, most: int | None) -> Node:
    """Merge nested repetitions: `(a+)*` becomes `a*`, which is not ambiguous."""
    if isinstance(part, Repeat) and part.least <= 1 and part.most != 0:
        all_of_it = None if part.most is None or most is None else part.most * most
        return Repeat(part.part, part.least * least, all_of_it)
    return Repeat(part, least, most)


def concat(parts: list[Node]) -> Node:
    """Concatenate, merging adjacent repetitions of the same part: `a*a+` becomes `a+`."""
    joined: list[Node] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(last, Repeat) and (last.part == part or (isinstance(part, Repeat) and part.part == last.part)):
            least, most = (part.least, part.most) if isinstance(part, Repeat) and part.part == last.part else (1, 1)
            together = None if last.most is None or most is None else last.most + most
            joined[-1] = Repeat(last.part, last.least + least, together)
        else:
            joined.append(part)
    return joined[0] if len(joined) == 1 else Concat(tuple(joined))


END_ANCHOR: Node = Choice(())
"""Stands for the `$` anchor while a pattern is parsed."""
