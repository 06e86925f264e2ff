"""The guard protocol: guards check questions, response text and tool calls, and deny what is not allowed."""

from typing import Protocol, runtime_checkable

from rightseat.core.ask import Ask
from rightseat.core.messages import Call


class TextFilter(Protocol):
    """Filters one text while it is streamed.

    Text that might be the start of a blocked phrase is buffered until it can be ruled out. The filter raises
    `GuardDenied`; clients have received only the text that it returned before.
    """

    async def add(self, text: str) -> str:
        """Add a piece of the text, and return the part that may be shown now."""
        ...

    async def end(self) -> str:
        """End the text, and return the rest of it."""
        ...


@runtime_checkable
class SyncTextFilter(TextFilter, Protocol):
    """A filter that never waits. A plain call costs a fraction of an `await`."""

    def feed(self, text: str) -> str:
        """`add` without `await`."""
        ...


class BoundaryCheck(Protocol):
    """Checks the start of a text together with the end of a text that a client may show before it.

    It raises `GuardDenied`. It buffers nothing: the filter of the text buffers its own part of a possible match.
    """

    is_past_boundary: bool
    """No later text can be part of a match across the boundary."""

    def feed(self, text: str) -> object: ...

    def finish(self) -> None:
        """End the text."""
        ...


@runtime_checkable
class SupportsBoundaryCheck(SyncTextFilter, Protocol):
    """A filter that also finds matches split across two texts."""

    def make_boundary_check(self) -> BoundaryCheck:
        """Return a check for a text that starts or continues at this text's current position."""
        ...


class Guard(Protocol):
    """Checks questions, response text and tool calls. `BaseGuard` permits whatever a guard does not check::

        class PolitenessGuard(BaseGuard):
            name = "politeness"

            async def check_question(self, ask: Ask) -> None:
                if "please" not in question_text(ask).lower():
                    raise GuardDenied("Say please.", self.name)

    Each check raises `GuardDenied` with a reason that clients may see. After any other exception nothing passes. Guards
    run in the order of the configuration, around every agent; one guard checks many runs at once.
    """

    name: str
    checks_topics: bool
    """Whether it checks a question against the `topics` of its ask."""
    checks_history: bool
    """Whether it checks earlier questions without a known verdict. Messages it has denied are always removed."""
    checks_calls: bool
    """Whether it checks tool calls. If so, calls are buffered until they are complete; if no guard checks them or
    filters text, they are streamed."""

    async def check_question(self, ask: Ask) -> None:
        """Called before any other processing of the ask."""
        ...

    async def check_call(self, ask: Ask, call: Call) -> None:
        """Called before the server or the client runs a tool."""
        ...

    def make_text_filter(self, ask: Ask) -> TextFilter | None:
        """Return a filter for one text of a response; None if the guard does not check responses."""
        ...


class BaseGuard:
    """A guard that checks nothing: a base class for guards that implement some of the checks."""

    name = ""
    checks_topics = False
    checks_history = True
    checks_calls = False

    async def check_question(self, ask: Ask) -> None:
        pass

    async def check_call(self, ask: Ask, call: Call) -> None:
        pass

    def make_text_filter(self, ask: Ask) -> TextFilter | None:
        return None


def question_text(ask: Ask) -> str:
    """The text of the user's messages after the last response. Empty after a tool result."""
    ids = set(unanswered_message_ids(ask))
    return "\n".join(message.text for message in ask.messages if message.id in ids)


def unanswered_message_ids(ask: Ask) -> tuple[str, ...]:
    """The ids of the user's messages after the last response, in order."""
    ids: list[str] = []
    for message in reversed(ask.messages):
        if message.role == "user":
            ids.append(message.id)
        elif message.role != "system":
            break
    return tuple(reversed(ids))
