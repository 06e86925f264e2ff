"""The seam to what decides what may be asked, said and done."""

from typing import Protocol, runtime_checkable

from rightseat.core.ask import Ask
from rightseat.core.messages import Call


class Watch(Protocol):
    """Reads one text while it is written, and lets through what may be shown.

    What could be the beginning of something that is denied is held back until it is clear. It raises `Denied`; what it
    had let through by then is all that anybody sees.
    """

    async def add(self, text: str) -> str:
        """What of the text, so far, may be shown now."""
        ...

    async def end(self) -> str:
        """The text is over: the rest of it."""
        ...


@runtime_checkable
class Instant(Watch, Protocol):
    """A watch that never waits. It is asked without waiting for it, which costs a fraction of a wait."""

    def feed(self, text: str) -> str:
        """`add`, at once."""
        ...


class Seam(Protocol):
    """Reads the beginning of a text together with the end of another, behind which a client may show it.

    It raises `Denied`. It holds nothing back: the watch of the text holds back whatever of a match is on its side.
    """

    is_past_seam: bool
    """Nothing that is still to come can belong to a match across the seam."""

    def feed(self, text: str) -> object: ...

    def finish(self) -> None:
        """The text is over."""
        ...


@runtime_checkable
class Joining(Instant, Protocol):
    """An instant watch that finds what is split between two texts."""

    def join(self) -> Seam:
        """For a text that begins, or goes on, where this one is now."""
        ...


class Guard(Protocol):
    """Each method raises `Denied`, with a reason that may be shown. A guard that cannot judge raises anything else, and
    then nothing passes."""

    name: str
    judges_topics: bool
    """Does it hold a question to the `topics` of its ask?"""
    judges_earlier: bool
    """Is it asked about earlier questions that this server has not judged? What it denied is left out in any case."""
    judges_calls: bool
    """Does it look at calls of tools? They are held until they are whole then, and else pass piece by piece."""

    async def check_question(self, ask: Ask) -> None:
        """Before anything else is done for the ask."""
        ...

    async def check_call(self, ask: Ask, call: Call) -> None:
        """Before a tool is called, here or by the client."""
        ...

    def watch(self, ask: Ask) -> Watch | None:
        """For one text of an answer; None where the guard does not look at answers."""
        ...


class Passive:
    """A guard that looks at nothing. Those that look at one thing begin here."""

    name = ""
    judges_topics = False
    judges_earlier = True
    judges_calls = False

    async def check_question(self, ask: Ask) -> None:
        pass

    async def check_call(self, ask: Ask, call: Call) -> None:
        pass

    def watch(self, ask: Ask) -> Watch | None:
        return None


def question_of(ask: Ask) -> str:
    """What the person says with this ask: the user's messages behind the last answer. Empty after a tool's result."""
    said = set(unanswered(ask))
    return "\n".join(message.text for message in ask.messages if message.id in said)


def unanswered(ask: Ask) -> tuple[str, ...]:
    """The ids of the user's messages behind the last answer, in their order."""
    said: list[str] = []
    for message in reversed(ask.messages):
        if message.role == "user":
            said.append(message.id)
        elif message.role != "system":
            break
    return tuple(reversed(said))
