"""Helpers that all stores share: times as text, names of threads, and the interrupts that a run leaves open."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Call, Message, Text
from rightseat.core.threads import Pending
from rightseat.text import fold_text

EXPIRY_GRACE = timedelta(seconds=1)
"""How long an expired interrupt stays open: a run that answers it may have started just before."""
MAX_NAME_CHARS = 60
"""The approximate length of a thread's first name."""
MAX_BEGINNING_CHARS = 200
"""Of the last message of a thread in a list."""


def now(*, ago: timedelta = timedelta()) -> str:
    """The time as text that sorts chronologically."""
    return format_time(datetime.now(UTC) - ago)


def format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def expiry(pending: Pending) -> str | None:
    """When the interrupt expires, in the same format. An invalid time means that it never expires."""
    try:
        return format_time(datetime.fromisoformat(pending.interrupt.expires_at or ""))
    except ValueError:
        return None


def name(messages: Iterable[Message]) -> str | None:
    """The first words of the user, as the name of the thread until it is renamed."""
    for message in messages:
        words = " ".join(message.text.replace("\0", "").split()) if message.role == "user" else ""
        if len(words) > MAX_NAME_CHARS:
            return words[:MAX_NAME_CHARS].rpartition(" ")[0] or words[:MAX_NAME_CHARS]
        if words:
            return words
    return None


def begin_text(message: Message) -> str | None:
    """The first words of the message, on one line."""
    return " ".join(message.text[:MAX_BEGINNING_CHARS].split()) or None


def searchable_text(message: Message) -> str:
    if message.role not in ("user", "assistant"):
        return ""
    if (text := message.only_text) is not None:
        return fold_text(text)
    return fold_text("\n".join(part.text for part in message.parts if isinstance(part, Text)))


def new_messages(known: Iterable[str], messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages whose ids are not known, each once."""
    seen = set(known)
    return tuple(message for message in messages if not (message.id in seen or seen.add(message.id)))  # type: ignore[func-returns-value]


def may_repeat(ask: Ask, new: Sequence[Message]) -> bool:
    """Whether the ask may be the repeated request of an earlier run: it brings nothing new."""
    return ask.durable and bool(ask.client_run_id) and not ask.answers and not new


def reply_ids(messages: Iterable[Message]) -> Iterator[str]:
    """The ids of the messages that a user can judge."""
    return (message.id for message in messages if message.role == "assistant")


def call_ids(messages: Iterable[Message]) -> set[str]:
    return {part.id for message in messages for part in message.parts if isinstance(part, Call)}


def outcome(last: RunFinished | RunFailed) -> str:
    return last.outcome if isinstance(last, RunFinished) else "failed"


def open_interrupts(ask: Ask, messages: Sequence[Message], last: RunFinished | RunFailed) -> list[Pending]:
    """The interrupts that the run ended with, each with the tool call that waits for its answer."""
    interrupts = last.interrupts if isinstance(last, RunFinished) else ()
    calls = {part.id: part for message in messages for part in message.parts if isinstance(part, Call)}
    return [Pending(one, ask.thread_id, ask.run_id, ask.agent, calls.get(one.call_id or "")) for one in interrupts]


def size_of_messages(found: Iterable[Message]) -> int:
    """The bytes of their rows, which are JSON."""
    return sum(len(msgspec.json.encode(one)) for one in found)
