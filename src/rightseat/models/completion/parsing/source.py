"""A text buffer that parsers read as if the whole text were there, while it arrives in pieces.

A parser is a generator: it yields when it needs more text and resumes once more was added, so it never waits for
anything. `yield from source.literal("<tool_call>")` reads like a parser over a complete text.
"""

import re
from collections.abc import Callable, Generator
from typing import TypeVar

import msgspec

from rightseat.core.types import JSON_ERRORS

T = TypeVar("T")
Reading = Generator[None, None, T]
"""Yields when it needs more text, and returns its result."""

Emit = Callable[[str], None]

_SPACE = re.compile(r"\s*")
_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_SCALAR = re.compile(r"[^\s,\]}\"{\[]*")
_COMPLETE_CHARACTERS = re.compile(
    r"""(?:[^\\"]+|\\(?:[^u]|u[dD][89abAB]..\\u....|u(?![dD][89abAB])....))*""", re.DOTALL
)
"""Complete characters and escapes."""
_decode = msgspec.json.Decoder(str).decode


class TextSource:
    """`at` is the read position. Text before it is dropped with the next piece, unless `held`."""

    __slots__ = ("at", "ended", "held", "text")

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.ended = False
        self.held = False

    def add(self, text: str) -> None:
        if self.held:
            self.text += text
        else:
            self.text = self.text[self.at :] + text
            self.at = 0

    def more(self) -> Reading[bool]:
        """Request another piece; False if the text has ended."""
        if self.ended:
            return False
        yield
        return True

    def spaces(self) -> Reading[None]:
        """Skip white space."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self.at < len(self.text) or not (yield from self.more()):
                return

    def literal(self, text: str) -> Reading[bool]:
        """Skip exactly this text; False, and nothing skipped, if something else is there."""
        while len(self.text) - self.at < len(text):
            if not text.startswith(self.text[self.at :]) or not (yield from self.more()):
                return False
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def closing(self, text: str) -> Reading[bool]:
        """Skip exactly this text, or what there is of it if the response ends inside it."""
        if (yield from self.literal(text)):
            return True
        if self.ended and text.startswith(self.text[self.at :]):
            self.at = len(self.text)
        return False

    def one_of(self, *texts: str) -> Reading[str | None]:
        """Skip and return the first of these that is here."""
        for text in texts:
            if (yield from self.literal(text)):
                return text
        return None

    def until(self, end: str, emit: Emit) -> Reading[bool]:
        """Emit everything before `end` and skip it; False if it never comes. A possible start of it is held back."""
        while True:
            found = self.text.find(end, self.at)
            if found >= 0:
                if found > self.at:
                    emit(self.text[self.at : found])
                self.at = found + len(end)
                return True
            safe = len(self.text) if self.ended else find_partial_mark(self.text, self.at, (end,))
            if safe > self.at:
                emit(self.text[self.at : safe])
                self.at = safe
            if not (yield from self.more()):
                return False

    def word(self, end: str, most: int = 200) -> Reading[str | None]:
        """Return a short text before `end` and skip both; None, and nothing skipped, if `end` is too far."""
        while True:
            found = self.text.find(end, self.at, self.at + most + len(end))
            if found >= 0:
                word = self.text[self.at : found]
                self.at = found + len(end)
                return word
            if len(self.text) - self.at >= most + len(end) or not (yield from self.more()):
                return None

    def string(self) -> Reading[str | None]:
        """Return a decoded JSON string; None, and nothing skipped, if there is none or it is invalid."""
        start = self.at
        held, self.held = self.held, True
        raw: list[str] = []
        is_complete = yield from self.value(raw.append, only='"')
        self.held = held
        if is_complete:
            try:
                return _decode("".join(raw))
            except JSON_ERRORS:
                pass
        self.at = start
        return None

    def content(self, emit: Emit) -> Reading[bool]:
        """Emit the content of a JSON string as it arrives; return whether it ended."""
        raw = ""

        def add(text: str) -> None:
            nonlocal raw
            raw += text
            end = _COMPLETE_CHARACTERS.match(raw, 1).end()  # type: ignore[union-attr]  # it matches nothing, too
            if end > 1:
                emit(_decode(f'"{raw[1:end]}"'))
                raw = '"' + raw[end:]

        return (yield from self.value(add, only='"'))

    def value(self, emit: Emit, only: str = "") -> Reading[bool]:
        """Emit one JSON value as it arrives; return whether it ended.

        It is not validated: only brackets and strings are matched. `only` is the character that it must start with.
        """
        while self.at >= len(self.text):
            if not (yield from self.more()):
                return False
        first = self.text[self.at]
        if only and first != only:
            return False
        if first not in '{["':
            return (yield from self._scalar(emit))
        depth, inside, start = 0, False, self.at
        while True:
            found = (_INSIDE if inside else _OUTSIDE).search(self.text, self.at)
            if found is None:
                self.at = len(self.text)
            elif found.group() == "\\" and found.end() == len(self.text):
                self.at = found.start()  # the escaped character is not there yet
                found = None
            if found is None:
                if self.at > start:
                    emit(self.text[start : self.at])
                if not (yield from self.more()):
                    return False
                start = self.at
                continue
            mark, self.at = found.group(), found.end()
            if mark == "\\":
                self.at += 1
            elif mark == '"':
                inside = not inside
            elif mark in "{[":
                depth += 1
            else:
                depth -= 1
            if depth <= 0 and not inside:
                emit(self.text[start : self.at])
                return True

    def _scalar(self, emit: Emit) -> Reading[bool]:
        """Emit a number, true, false or null, which ends where something else starts."""
        scalar = ""
        while True:
            found = _SCALAR.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too
            scalar += self.text[self.at : found]
            self.at = found
            if self.at < len(self.text) or not (yield from self.more()):
                if scalar:
                    emit(scalar)
                return bool(scalar)


def find_partial_mark(text: str, at: int, marks: tuple[str, ...]) -> int:
    """Return where the end of the text may be the start of a mark; the length of the text if it is not."""
    first = len(text)
    for mark in marks:
        start = text.find(mark[0], max(at, len(text) - len(mark) + 1), first)
        while start >= 0:
            if mark.startswith(text[start:]):
                first = start
                break
            start = text.find(mark[0], start + 1, first)
    return first
