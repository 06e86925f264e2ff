"""Searches streamed or very long text, and holds back what may still become a match.

A search has a `window`: no match is longer. Text further from the end than the window can be shown; the rest is held. A
match that touches the end does not count yet: the next character may extend or undo it.

Long text is searched in steps of `SEARCH_STEP_CHARS`, and the event loop runs between them. Each step includes the
window before it, so that all text is searched, and none more than a few times.

Text is searched as written and normalised (`normalization`); users get it as written.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from rightseat.core.ask import Ask
from rightseat.core.guard import BaseGuard, TextFilter, question_text
from rightseat.core.guards.event_text import parse_json, strings_in
from rightseat.core.messages import Call
from rightseat.guards.normalization import INVISIBLE, Normalizer, Segment

CheckedPart = Literal["question", "answer", "call", "memory"]
ALL_PARTS: tuple[CheckedPart, ...] = ("question", "answer", "call", "memory")

SEARCH_STEP_CHARS = 1024
"""Characters searched before the event loop runs."""
MIN_SEARCH_COST_CHARS = 64  # fixed cost of a search, in characters
TRIM_SLACK_CHARS = 64  # growth of the tail before it is trimmed: trimming costs more than searching them


@dataclass(slots=True)
class TextTail:
    """The end of a text, as written or normalised.

    `start` is where a search begins, after one character of context. All but the last `new` characters were searched
    before.
    """

    text: str = ""
    start: int = 0
    new: int = 0

    def trim(self, length: int) -> None:
        """Keep `length` characters to search again, and one for context."""
        if len(self.text) > length + 1:
            self.text = self.text[-length - 1 :]
            self.start = 1


class TextSpan(NamedTuple):
    """What a search found in a text as written: the characters from `start` to before `end`."""

    start: int
    end: int
    kind: str


@runtime_checkable
class FindsSpans(Protocol):
    """A guard that says where it finds what it denies."""

    def find(self, text: str) -> Iterator[TextSpan]: ...


class TextSearch(FindsSpans, Protocol):
    """Raises `GuardDenied` on a match. Unless `final`, a match at the very end does not count."""

    window: int
    """Maximum characters of a match, plus one on either side. `INVISIBLE` does not count."""
    separator: str
    """The assumed separator of two texts shown one after the other: a space, or `INVISIBLE`."""

    def __call__(self, normalized: TextTail, raw: TextTail, *, final: bool) -> None: ...


class SearchFilter:
    """A `core.guard.SupportsBoundaryCheck` that searches streamed text."""

    def __init__(self, search: TextSearch) -> None:
        self._search = search
        self._normalizer = Normalizer()
        self._normalized = TextTail()
        self._raw = TextTail()
        self._held: deque[Segment] = deque()
        self._held_width = 0
        self._read_width = 0

    async def add(self, text: str) -> str:
        shown = [self.feed(text[:SEARCH_STEP_CHARS])]
        for start in range(SEARCH_STEP_CHARS, len(text), SEARCH_STEP_CHARS):
            await asyncio.sleep(0)
            shown.append(self.feed(text[start : start + SEARCH_STEP_CHARS]))
        return "".join(shown)

    def feed(self, text: str) -> str:
        normalized, segments = self._normalizer.feed(text)
        self._normalized.text += normalized
        self._normalized.new = len(normalized)
        self._raw.text += text
        self._search(self._normalized, self._raw, final=False)
        window = self._search.window
        if len(self._raw.text) > window + TRIM_SLACK_CHARS:
            self._raw.trim(window)
        if len(self._normalized.text) > window + TRIM_SLACK_CHARS:
            self._normalized.trim(2 * window if INVISIBLE in self._normalized.text else window)
        width = 0
        for segment in segments:
            self._held.append(segment)
            width += segment[1]
        self._read_width += width
        self._held_width += width
        return self._release(self._held_width - window) if self._held_width > window else ""

    async def end(self) -> str:
        self.finish()
        rest = "".join(text for text, _ in self._held)
        self._held.clear()
        self._held_width = 0
        return rest

    def finish(self) -> None:
        self._search(self._normalized, self._raw, final=True)

    def make_boundary_check(self) -> "SearchFilter":
        other = SearchFilter(self._search)
        other._normalizer = self._normalizer.copy()
        other._normalized = TextTail(self._normalized.text, self._normalized.start)
        other._raw = TextTail(self._raw.text, self._raw.start)
        if self._raw.text:
            other._normalized.text += other._normalizer.feed(self._search.separator)[0]
            other._raw.text += self._search.separator
        return other

    @property
    def is_past_boundary(self) -> bool:
        return self._read_width > self._search.window

    def _release(self, excess: int) -> str:
        """Release segments with a total width of `excess`, which left the window."""
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


class SearchGuard(BaseGuard):
    """A guard that denies on a match of its search."""

    def __init__(self, name: str, search: TextSearch, applies_to: Sequence[CheckedPart]) -> None:
        self.name = name
        self._search = search
        self._applies_to = applies_to
        self.checks_calls = "call" in applies_to

    def find(self, text: str) -> Iterator[TextSpan]:
        return self._search.find(text)

    async def check_question(self, ask: Ask) -> None:
        if "question" in self._applies_to:
            await self._check(chain((question_text(ask),), answer_texts(ask)))

    async def check_call(self, ask: Ask, call: Call) -> None:
        if "call" in self._applies_to:
            await self._check(chain((call.arguments,), strings_in(parse_json(call.arguments))))

    async def check_memory(self, text: str) -> None:
        """Before a person or a model saves it (`operations.memories.ChecksMemories`)."""
        if "memory" in self._applies_to:
            await self._check((text,))

    def make_text_filter(self, ask: Ask) -> TextFilter | None:
        return SearchFilter(self._search) if "answer" in self._applies_to else None

    async def _check(self, texts: Iterable[str]) -> None:
        searched_chars = 0
        for text in texts:
            scan = SearchFilter(self._search)
            await scan.add(text)
            scan.finish()
            searched_chars += len(text) + MIN_SEARCH_COST_CHARS
            if searched_chars > SEARCH_STEP_CHARS:
                searched_chars = 0
                await asyncio.sleep(0)


def answer_texts(ask: Ask) -> Iterator[str]:
    """Texts in a person's answers to tools and agents."""
    for answer in ask.answers:
        yield from strings_in(answer.payload)
