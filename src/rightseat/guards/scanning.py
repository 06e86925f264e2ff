"""Patterns in a text that is still being written.

A pattern has a longest match. So what stands further from the end of the text than that belongs to no match that is
still to come, and may be shown; the rest is held back. A match that touches the end is none yet: the next character may
make it longer, or undo it.

Characters that nobody sees are not looked at, and do not count; of white space, however much it is, one counts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]
from typing import Literal, Protocol

from rightseat.core.ask import Ask
from rightseat.core.guard import Passive, Watch, question_of
from rightseat.core.messages import Call
from rightseat.core.words import read, strings_in

Where = Literal["question", "answer", "call"]
EVERYWHERE: tuple[Where, ...] = ("question", "answer", "call")

LONGEST = 4096
"""Characters that one pattern may match: so much of an answer is held back at most."""

UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
"""Characters that can stand in a word without being seen."""
SPACE = re.compile(r"[^\S ]\s*| \s+")
"""White space that is more than one space."""


class BadPattern(ValueError):
    """It is no pattern, or none that can be looked for while a text is written."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`longest` is how many characters it can match. `reason` is what people are told where it is found."""

    compiled: re.Pattern[str]
    longest: int
    reason: str


def pattern(expression: str, reason: str) -> Pattern:
    """A regular expression, in upper or lower case, of something that has an end."""
    if re.search(r"\(\?<?[=!]", expression):
        raise BadPattern(f"{expression!r} looks ahead or behind, which has no end. Write it without.")
    return compiled(expression, reason)


def phrase(text: str, reason: str) -> Pattern:
    """The phrase as words of their own, in upper or lower case, with any white space between them."""
    words = [re.escape(word) for word in UNSEEN.sub("", text).split()]
    if not words:
        raise BadPattern("An empty phrase would be found everywhere.")
    return compiled(rf"(?<!\w){' '.join(words)}(?!\w)", reason)


def compiled(expression: str, reason: str) -> Pattern:
    try:
        found = re.compile(expression, re.IGNORECASE)
        least, most = _parser.parse(expression, re.IGNORECASE).getwidth()
    except re.error as error:
        raise BadPattern(f"{expression!r} is no pattern: {error}.") from None
    if least == 0:
        raise BadPattern(f"{expression!r} is found in any text, even in none.")
    if most > LONGEST:
        raise BadPattern(
            f"{expression!r} can match more than {LONGEST:,} characters. An answer is held back for as long as a match "
            "could begin in it, so a pattern needs an end: write {1,64} for + and {0,64} for *."
        )
    return Pattern(found, most, reason)


def seen(text: str) -> str:
    """The text without what nobody sees in it."""
    return text if text.isascii() else UNSEEN.sub("", text)


def spaced(text: str) -> str:
    """The text with one space for any white space."""
    if text.isprintable() and "  " not in text:  # the only white space that is printed is a space
        return text
    return SPACE.sub(" ", text)


def start(text: str, new: int | None, longest: int) -> int:
    """Where something can begin that was not found before the last `new` characters came; None: all are new.

    What begins further from the end of the earlier text than its `longest` had ended there, and was found or is none.
    """
    return 0 if new is None else max(0, len(text) - new - longest - 1)


class Search(Protocol):
    """Raises `Denied` where something is found. While a text goes on, a match at its very end is none yet.

    All but the last `new` characters were searched before, in a text that went on.
    """

    def __call__(self, text: str, *, final: bool = True, new: int | None = None) -> None: ...


class Scan:
    """`core.guard.Watch` for whatever can be found by a search, and is no longer than `window`."""

    def __init__(self, search: Search, window: int) -> None:
        self._search = search
        self._window = window
        self._text = ""  # the last character that was shown, for a search that looks at it, and all that is held back
        self._shown = 0

    async def add(self, text: str) -> str:
        return self.feed(text)

    def feed(self, text: str) -> str:
        self._text += text
        plain = seen(self._text)
        self._search(plain, final=False, new=len(text))
        return self._show(len(spaced(plain)) - self._window)

    async def end(self) -> str:
        self._search(seen(self._text))
        return self._show(len(self._text))

    def _show(self, until: int) -> str:
        if until <= self._shown:
            return ""
        shown = self._text[self._shown : until]
        self._text = self._text[until - 1 :]
        self._shown = 1
        return shown


class Finder(Passive):
    """A guard that searches."""

    def __init__(self, name: str, search: Search, window: int, on: Sequence[Where]) -> None:
        self.name = name
        self._search = search
        self._window = window
        self._on = on
        self.judges_calls = "call" in on

    async def check_question(self, ask: Ask) -> None:
        if "question" in self._on:
            for text in (question_of(ask), *answered(ask)):
                self._search(seen(text))

    async def check_call(self, ask: Ask, call: Call) -> None:
        if "call" in self._on:
            for text in (call.arguments, *strings_in(read(call.arguments))):
                self._search(seen(text))

    def watch(self, ask: Ask) -> Watch | None:
        return Scan(self._search, self._window) if "answer" in self._on else None


def answered(ask: Ask) -> Iterator[str]:
    """What the person says to the questions of tools and agents."""
    for answer in ask.answers:
        yield from strings_in(answer.payload)
