"""Regular expressions of JSON Schema (ECMA 262) → nodes over the characters of a string.

A pattern is searched for, so what is not anchored may have any text before and behind it. What is not regular
(look-around, back references) and what has no fixed place (`\\b`, an anchor in the middle) is refused by name. Sets
are narrowed where validators disagree: `\\W` and `\\D` leave out letters and digits beyond ASCII.
"""

from typing import NoReturn

from rightseat.models.completion.grammar import lengths
from rightseat.models.completion.grammar.charsets import CLASSES, DOT, PROPERTIES, SURROGATES, UNICODE, minus
from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Repeat, Sequence

ANY = Chars(((0, 0x1F), (0x20, 0xD7FF), (0xE000, 0x10FFFF)))
BEFORE, BEHIND = 64, 256
"""Characters around a pattern that is not anchored."""
DEEPEST = 32
LONGEST = 5_000
LARGEST = 100_000
ESCAPES = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}
OPEN, CLOSE = "open", "close"

Ranges = tuple[tuple[int, int], ...]


class NotRegular(ValueError):
    """Says what in the pattern cannot be kept, or read."""


def read(pattern: str) -> Node:
    node = Reader(pattern).whole()
    _, longest = lengths.of(node)
    if longest is not None and longest > LARGEST:
        raise NotRegular(f"has repetitions that come to {longest} characters; {LARGEST} are the most")
    return node


class Reader:
    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST:
            raise NotRegular(f"has {len(pattern)} characters; {LONGEST} are the most")
        self.pattern = pattern
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        """Each alternative has anchors of its own."""
        options: list[Node] = []
        while True:
            options.append(self.anchored())
            if self.at == len(self.pattern):
                return choice(options)
            if self.pattern[self.at] == ")":
                self.fail("has a `)` without its `(`")
            self.at += 1

    def anchored(self) -> Node:
        start = self.take("^")
        parts = self.parts(top=True)
        end = bool(parts) and parts[-1] is END
        parts = parts[:-1] if end else parts
        if any(part is END for part in parts):
            self.fail("has an anchor in the middle")
        before = [] if start else [Repeat(ANY, 0, BEFORE)]
        behind = [] if end else [Repeat(ANY, 0, BEHIND)]
        return in_a_row([*before, *parts, *behind])

    def group(self) -> Node:
        options: list[Node] = []
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"has more than {DEEPEST} groups within each other")
        while True:
            options.append(in_a_row(self.parts(top=False)))
            if self.at == len(self.pattern):
                self.fail("has a `(` without its `)`")
            self.at += 1
            if self.pattern[self.at - 1] == ")":
                self.depth -= 1
                return choice(options)

    def parts(self, *, top: bool) -> list[Node]:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self.pattern[self.at] == "$" and top:
                self.at += 1
                parts.append(END)
            else:
                parts.append(self.counted(self.atom()))
        return parts

    def atom(self) -> Node:
        sign = self.pattern[self.at]
        self.at += 1
        if sign == "(":
            return self.opened()
        if sign == "[":
            return Chars(self.bracket())
        if sign == "\\":
            return Chars(self.escape())
        if sign == ".":
            return Chars(DOT)
        if sign in "^$":
            self.fail("has an anchor in the middle")
        if sign in "*+?":
            self.fail(f"has a `{sign}` with nothing to repeat")
        return Literal(sign) if not 0xD800 <= ord(sign) < 0xE000 else self.fail("has half of a surrogate pair")

    def opened(self) -> Node:
        if not self.take("?"):
            return self.group()
        if self.take(":"):
            return self.group()
        if self.pattern.startswith(("<=", "<!", "=", "!"), self.at):
            self.fail("looks ahead or behind, which no grammar can")
        if self.take("<"):
            end = self.pattern.find(">", self.at)
            if end < 0:
                self.fail("has a group's name without its `>`")
            self.at = end + 1
            return self.group()
        self.fail("has a group that JSON Schema does not know")

    def counted(self, part: Node) -> Node:
        times = 0
        while (count := self.times()) is not None:
            least, most = count
            self.take("?")  # lazy or greedy, it is the same language
            part = repeated(self.said(part), 0, most) if lengths.of(part)[0] == 0 else repeated(part, least, most)
            times += 1
            if times > DEEPEST:
                self.fail("repeats repetitions")
        return part

    def said(self, part: Node) -> Node:
        """A part that may be empty, when it is not: repeated, empty turns could be taken in endless ways."""
        longest = lengths.of(part)[1]
        return lengths.fit(part, 1, LARGEST if longest is None else max(longest, 1)) or part

    def times(self) -> tuple[int, int | None] | None:
        if self.at == len(self.pattern):
            return None
        sign = self.pattern[self.at]
        if sign in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        return self.braces() if sign == "{" else None

    def braces(self) -> tuple[int, int | None] | None:
        end = self.pattern.find("}", self.at)
        inner = self.pattern[self.at + 1 : end] if end > 0 else ""
        low, comma, high = inner.partition(",")
        if not low.isdecimal() or not low.isascii() or not (not high or (high.isdecimal() and high.isascii())):
            self.fail("has a `{` that is no repetition")
        if len(low) > 6 or len(high) > 6:
            self.fail(f"repeats something {{{inner}}} times")
        self.at = end + 1
        least = int(low)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            self.fail(f"has a repetition {{{inner}}} whose ends are the wrong way round")
        return least, most

    def bracket(self) -> Ranges:
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            if self.at >= len(self.pattern):
                self.fail("has a `[` without its `]`")
            low = self.member(negated)
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at) and len(low) == 1:
                self.at += 1
                high = self.member(negated)
                if len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    self.fail("has a range in `[ ]` whose ends are no characters, or the wrong way round")
                ranges.append((low[0][0], high[0][0]))
            else:
                ranges += low
        found = minus(UNICODE, ranges) if negated else minus(ranges, SURROGATES)
        return found or self.fail("has a set without characters")

    def member(self, negated: bool) -> Ranges:
        if self.at >= len(self.pattern):
            self.fail("has a `[` without its `]`")
        sign = self.pattern[self.at]
        self.at += 1
        return self.escape(negated) if sign == "\\" else ((ord(sign), ord(sign)),)

    def escape(self, negated: bool = False) -> Ranges:
        """What any reader of patterns takes for this class; `negated`: all that one of them may take for it."""
        if self.at >= len(self.pattern):
            self.fail("ends with a backslash")
        sign = self.pattern[self.at]
        self.at += 1
        if sign in CLASSES:
            return minus(UNICODE, CLASSES[sign.swapcase()]) if negated else CLASSES[sign]
        if sign in ESCAPES:
            return ((ESCAPES[sign], ESCAPES[sign]),)
        if sign in "bB":
            self.fail(f"has `\\{sign}`, a place between characters")
        if sign.isdecimal() or sign == "k":
            self.fail("refers back to a group, which no grammar can")
        if sign in "pP":
            return self.unicode_property(sign == "P" or negated)
        if sign in "uxc":
            code = self.code(sign)
            return ((code, code),)
        if sign.isascii() and sign.isalpha():
            self.fail(f"has an unknown escape `\\{sign}`")
        return ((ord(sign), ord(sign)),)

    def unicode_property(self, negated: bool) -> Ranges:
        end = self.pattern.find("}", self.at)
        name = self.pattern[self.at + 1 : end] if end > 0 and self.pattern[self.at : self.at + 1] == "{" else ""
        if negated or name not in PROPERTIES:
            known = ", ".join(sorted(PROPERTIES))
            self.fail(f"has a property of characters, {name!r}; known are {known}, with a small p and not in `[^ ]`")
        self.at = end + 1
        return PROPERTIES[name]

    def code(self, sign: str) -> int:
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
        raise NotRegular(problem)


def repeated(part: Node, least: int, most: int | None) -> Node:
    """A repetition of a repetition is one: `(a+)*` is `a*`. Otherwise each `a` could be counted in many ways."""
    if isinstance(part, Repeat) and part.least <= 1 and part.most != 0:
        all_of_it = None if part.most is None or most is None else part.most * most
        return Repeat(part.part, part.least * least, all_of_it)
    return Repeat(part, least, most)


def in_a_row(parts: list[Node]) -> Node:
    """A sequence in which repetitions of the same beside each other are one: `a*a+` is `a+`."""
    joined: list[Node] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(last, Repeat) and (last.part == part or (isinstance(part, Repeat) and part.part == last.part)):
            least, most = (part.least, part.most) if isinstance(part, Repeat) and part.part == last.part else (1, 1)
            together = None if last.most is None or most is None else last.most + most
            joined[-1] = Repeat(last.part, last.least + least, together)
        else:
            joined.append(part)
    return joined[0] if len(joined) == 1 else Sequence(tuple(joined))


END: Node = Choice(())
"""The anchor at the end, while a pattern is read."""
