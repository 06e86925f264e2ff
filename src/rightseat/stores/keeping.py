"""What every store works out in the same way: names, times, and the questions that stay open after a run."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from rightseat.core.ask import Ask
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Call, Message
from rightseat.core.threads import Pending

EXPIRY_GRACE = timedelta(seconds=1)
"""For which a question that has expired is left alone: a run that answers it may have been begun just before."""
NAME = 60
"""About how many characters a thread's first name has."""


def now(*, ago: timedelta = timedelta()) -> str:
    """As text that sorts as time does."""
    return written(datetime.now(UTC) - ago)


def written(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def expiry(pending: Pending) -> str | None:
    """When the question expires, in the same form. What is no time does not make a question expire."""
    try:
        return written(datetime.fromisoformat(pending.interrupt.expires_at or ""))
    except ValueError:
        return None


def name(messages: Iterable[Message]) -> str | None:
    """The first words that a person said, until somebody finds a better name."""
    for message in messages:
        words = " ".join(message.text.replace("\0", "").split()) if message.role == "user" else ""
        if len(words) > NAME:
            return words[:NAME].rpartition(" ")[0] or words[:NAME]
        if words:
            return words
    return None


def unknown(known: Iterable[str], messages: Iterable[Message]) -> tuple[Message, ...]:
    """Those whose ids are new, each once."""
    seen = set(known)
    return tuple(message for message in messages if not (message.id in seen or seen.add(message.id)))  # type: ignore[func-returns-value]


def outcome(last: RunFinished | RunFailed) -> str:
    return last.outcome if isinstance(last, RunFinished) else "failed"


def asked(ask: Ask, messages: Sequence[Message], last: RunFinished | RunFailed) -> list[Pending]:
    """The questions that the run ended with, each with the call that waits for its answer."""
    interrupts = last.interrupts if isinstance(last, RunFinished) else ()
    calls = {part.id: part for message in messages for part in message.parts if isinstance(part, Call)}
    return [Pending(one, ask.thread_id, ask.run_id, ask.agent, calls.get(one.call_id or "")) for one in interrupts]
