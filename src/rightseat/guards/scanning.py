"""Searches in a text that is still being written, or that is too long to be searched at once.

A search has a `window`: no match is longer. So what stands further from the end of the text than that belongs to no
match that is still to come, and may be shown; the rest is held back. A match that touches the end is none yet: the next
character may make it longer, or undo it.

A long text is read as if it came in pieces of `STEP` characters, and the event loop gets its turn between them. Each
piece is searched together with the window before it, so nothing is left unread and nothing is read more than a few
times.

Texts are searched as they are written and normalised (`normalization`); the reader gets them as they are written.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, Protocol

from rightseat.core.ask import Ask
from rightseat.core.guard import Passive, Watch, question_of
from rightseat.core.messages import Call
from rightseat.core.words import read, strings_in
from rightseat.guards.normalization import UNSEEN, Normalizer, Segment

Where = Literal["question", "answer", "call"]
EVERYWHERE: tuple[Where, ...] = ("question", "answer", "call")

STEP = 1024
"""Characters that are searched without giving the event loop its turn."""
SHORT = 64  # characters that take as long to search as a text of none does


SPARE = 64  # characters by which the end of a text may grow before it is cut: to cut takes longer than to search them


@dataclass(slots=True)
class Spelling:
    """The end of a text in one spelling.

    `start` is where a search begins: behind a character that only is context. All but the last `new` characters were
    searched before, in a text that went on.
    """

    text: str = ""
    start: int = 0
    new: int = 0

    def cut(self, length: int) -> None:
        """Keep so many characters to be searched again, and one more for context."""
        if len(self.text) > length + 1:
            self.text = self.text[-length - 1 :]
            self.start = 1


class Search(Protocol):
    """Raises `Denied` where something is found. While a text goes on, a match at its very end is none yet."""

    window: int
    """Characters that a match can have, with one on either side. `UNSEEN` does not count."""
    seam: str
    """What may stand between two texts that a client shows one behind the other: a space, or `UNSEEN`."""

    def __call__(self, normalized: Spelling, raw: Spelling, *, final: bool) -> None: ...


class Scan:
    """`core.guard.Joining` for whatever can be found by a search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._normalizer = Normalizer()
        self._normalized = Spelling()
        self._raw = Spelling()
        self._held: deque[Segment] = deque()
        self._held_width = 0
        self._read_width = 0

    async def add(self, text: str) -> str:
        shown = [self.feed(text[:STEP])]
        for start in range(STEP, len(text), STEP):
            await asyncio.sleep(0)
            shown.append(self.feed(text[start : start + STEP]))
        return "".join(shown)

    def feed(self, text: str) -> str:
        normalized, segments = self._normalizer.feed(text)
        self._normalized.text += normalized
        self._normalized.new = len(normalized)
        self._raw.text += text
        self._search(self._normalized, self._raw, final=False)
        window = self._search.window
        if len(self._raw.text) > window + SPARE:
            self._raw.cut(window)
        if len(self._normalized.text) > window + SPARE:
            self._normalized.cut(2 * window if UNSEEN in self._normalized.text else window)
        width = 0
        for segment in segments:
            self._held.append(segment)
            width += segment[1]
        self._read_width += width
        self._held_width += width
        return self._show(self._held_width - window) if self._held_width > window else ""

    async def end(self) -> str:
        self.finish()
        rest = "".join(text for text, _ in self._held)
        self._held.clear()
        self._held_width = 0
        return rest

    def finish(self) -> None:
        self._search(self._normalized, self._raw, final=True)

    def join(self) -> "Scan":
        other = Scan(self._search)
        other._normalizer = self._normalizer.copy()
        other._normalized = Spelling(self._normalized.text, self._normalized.start)
        other._raw = Spelling(self._raw.text, self._raw.start)
        if self._raw.text:
            other._normalized.text += other._normalizer.feed(self._search.seam)[0]
            other._raw.text += self._search.seam
        return other

    @property
    def is_past_seam(self) -> bool:
        return self._read_width > self._search.window

    def _show(self, excess: int) -> str:
        """What is left of the window: segments that are together as wide as the excess."""
        held, shown = self._held, []
        self._held_width -= excess
        while held:
            text, width = held[0]
            if width > excess:
                if excess:
                    shown.append(text[:excess])
                    held[0] = (text[excess:], width - excess)
                break
            shown.append(text)
            excess -= width
            held.popleft()
        return "".join(shown)


class Finder(Passive):
    """A guard that searches."""

    def __init__(self, name: str, search: Search, on: Sequence[Where]) -> None:
        self.name = name
        self._search = search
        self._on = on
        self.judges_calls = "call" in on

    async def check_question(self, ask: Ask) -> None:
        if "question" in self._on:
            await self._check(chain((question_of(ask),), answered(ask)))

    async def check_call(self, ask: Ask, call: Call) -> None:
        if "call" in self._on:
            await self._check(chain((call.arguments,), strings_in(read(call.arguments))))

    def watch(self, ask: Ask) -> Watch | None:
        return Scan(self._search) if "answer" in self._on else None

    async def _check(self, texts: Iterable[str]) -> None:
        since_turn = 0
        for text in texts:
            scan = Scan(self._search)
            await scan.add(text)
            scan.finish()
            since_turn += len(text) + SHORT
            if since_turn > STEP:
                since_turn = 0
                await asyncio.sleep(0)


def answered(ask: Ask) -> Iterator[str]:
    """What the person says to the questions of tools and agents."""
    for answer in ask.answers:
        yield from strings_in(answer.payload)
