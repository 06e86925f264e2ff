"""Text that comes in pieces, read as if it were all there.

A reading is a generator. It takes what is there; where it needs more it yields, and goes on once more has been added.
`yield from source.literal("<tool_call>")` reads like a parser over a whole text, and never waits for anything.
"""

import re
from collections.abc import Callable, Generator
from typing import TypeVar

import msgspec

from rightseat.core.values import JSON_ERRORS

T = TypeVar("T")
Reading = Generator[None, None, T]
"""Yields where it needs more text; gives its result when it is through."""

Emit = Callable[[str], None]

_SPACE = re.compile(r"\s*")
_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_SCALAR = re.compile(r"[^\s,\]}\"{\[]*")
_WHOLE = re.compile(r"""(?:[^\\"]+|\\(?:[^u]|u[dD][89abAB]..\\u....|u(?![dD][89abAB])....))*""", re.DOTALL)
"""Characters and escapes that are whole."""
_decode = msgspec.json.Decoder(str).decode


class Source:
    """`at` is where reading goes on. What stands before it is forgotten with the next piece, unless it is held."""

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
        """Wait for another piece; False where none will come."""
        if self.ended:
            return False
        yield
        return True

    def spaces(self) -> Reading[None]:
        """Pass over white space."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self.at < len(self.text) or not (yield from self.more()):
                return

    def literal(self, text: str) -> Reading[bool]:
        """Pass over exactly this; where something else stands there, over nothing."""
        while len(self.text) - self.at < len(text):
            if not text.startswith(self.text[self.at :]) or not (yield from self.more()):
                return False
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def closing(self, text: str) -> Reading[bool]:
        """Pass over exactly this; and where the answer breaks off within it, over what there is of it."""
        if (yield from self.literal(text)):
            return True
        if self.ended and text.startswith(self.text[self.at :]):
            self.at = len(self.text)
        return False

    def one_of(self, *texts: str) -> Reading[str | None]:
        """Pass over the first of these that stands here."""
        for text in texts:
            if (yield from self.literal(text)):
                return text
        return None

    def until(self, end: str, emit: Emit) -> Reading[bool]:
        """Hand on all before `end`, and pass over it; False where it never came. What may begin it is held back."""
        while True:
            found = self.text.find(end, self.at)
            if found >= 0:
                if found > self.at:
                    emit(self.text[self.at : found])
                self.at = found + len(end)
                return True
            safe = len(self.text) if self.ended else begins(self.text, self.at, (end,))
            if safe > self.at:
                emit(self.text[self.at : safe])
                self.at = safe
            if not (yield from self.more()):
                return False

    def word(self, end: str, most: int = 200) -> Reading[str | None]:
        """A short text before `end`, passed over with it. None, and nothing passed, where `end` does not come soon."""
        while True:
            found = self.text.find(end, self.at, self.at + most + len(end))
            if found >= 0:
                word = self.text[self.at : found]
                self.at = found + len(end)
                return word
            if len(self.text) - self.at >= most + len(end) or not (yield from self.more()):
                return None

    def string(self) -> Reading[str | None]:
        """A whole JSON string, read. None where none stands here, or it is broken; then nothing is passed."""
        start = self.at
        held, self.held = self.held, True
        raw: list[str] = []
        whole = yield from self.value(raw.append, only='"')
        self.held = held
        if whole:
            try:
                return _decode("".join(raw))
            except JSON_ERRORS:
                pass
        self.at = start
        return None

    def content(self, emit: Emit) -> Reading[bool]:
        """Hand on what a JSON string says, as it comes; and say whether it came to its end."""
        raw = ""

        def add(text: str) -> None:
            nonlocal raw
            raw += text
            whole = _WHOLE.match(raw, 1).end()  # type: ignore[union-attr]  # it matches nothing, too
            if whole > 1:
                emit(_decode(f'"{raw[1:whole]}"'))
                raw = '"' + raw[whole:]

        return (yield from self.value(add, only='"'))

    def value(self, emit: Emit, only: str = "") -> Reading[bool]:
        """Hand on one JSON value as it comes, and say whether it came to its end.

        It is not checked here: what was handed on has matching brackets and closed strings, no more. `only` says with
        which character it must begin.
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
                self.at = found.start()  # what is escaped is not there yet
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
        """A number, true, false or null; it ends where something else begins."""
        said = ""
        while True:
            found = _SCALAR.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too
            said += self.text[self.at : found]
            self.at = found
            if self.at < len(self.text) or not (yield from self.more()):
                if said:
                    emit(said)
                return bool(said)


def begins(text: str, at: int, marks: tuple[str, ...]) -> int:
    """Where the end of the text could be the beginning of a mark; its length where it could not."""
    first = len(text)
    for mark in marks:
        start = text.find(mark[0], max(at, len(text) - len(mark) + 1), first)
        while start >= 0:
            if mark.startswith(text[start:]):
                first = start
                break
            start = text.find(mark[0], start + 1, first)
    return first
