"""What an AG-UI agent says only in a snapshot of the thread: messages that it never streamed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from rightseat.core.errors import BadAsk
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    TextDelta,
    TextEnded,
    TextStarted,
)
from rightseat.core.messages import Call, Message, Result
from rightseat.wire.agui.chunks import BadEvent
from rightseat.wire.agui.messages import read_messages


@dataclass(slots=True)
class Said:
    """What an agent was sent, and what it has said by now: the ids of both, and the texts by id.

    Texts, because an agent may give a message that it streamed another id in each snapshot.
    """

    sent: set[str]
    ids: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)


def unsaid(snapshot: object, said: Said) -> Iterator[Event]:
    """The messages of a snapshot that are new, as events. What is before the last one that was sent is older."""
    if not isinstance(snapshot, list):
        raise BadEvent("A MESSAGES_SNAPSHOT lacks its `messages`, which is a list.")
    try:
        messages = list(read_messages(snapshot))
    except BadAsk as error:
        raise BadEvent(f"A MESSAGES_SNAPSHOT cannot be understood: {error.message}") from error
    texts = list(said.texts.values())
    for message in messages[beginning(messages, said.sent) :]:
        if message.role == "assistant":
            is_known = message.id in said.ids or message.text in texts
            if message.text in texts:
                texts.remove(message.text)
            yield from answer(message, said.ids, is_known=is_known)
        elif message.role == "tool":
            yield from results(message, said.ids)


def beginning(messages: Sequence[Message], sent: Collection[str]) -> int:
    """The place behind the last message that the agent did not say itself."""
    known = [
        place
        for place, message in enumerate(messages)
        if message.role == "user" or message.id in sent or any(id in sent for id in results_in(message))
    ]
    return known[-1] + 1 if known else 0


def results_in(message: Message) -> list[str]:
    return [part.call_id for part in message.parts if isinstance(part, Result)]


def answer(message: Message, said: Collection[str], *, is_known: bool) -> Iterator[Event]:
    if message.text and not is_known:
        yield TextStarted(message.id)
        yield TextDelta(message.id, message.text)
        yield TextEnded(message.id)
    for part in message.parts:
        if isinstance(part, Call) and part.id not in said:
            yield CallStarted(part.id, part.name, message.id)
            yield CallDelta(part.id, part.arguments)
            yield CallEnded(part.id)


def results(message: Message, said: Collection[str]) -> Iterator[Event]:
    for part in message.parts:
        if isinstance(part, Result) and f"result-{part.call_id}" not in said:
            yield CallReturned(part.call_id, part.name, part.content, part.error, message.id)
