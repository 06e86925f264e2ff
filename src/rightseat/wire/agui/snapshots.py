"""Finds messages in an AG-UI agent's snapshot of the thread that the agent never streamed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from rightseat.core import events as e
from rightseat.core.errors import BadRequest
from rightseat.core.messages import Call, Message, Result
from rightseat.wire.agui.chunks import BadEvent
from rightseat.wire.agui.messages import read_messages


@dataclass(slots=True)
class StreamHistory:
    """The ids that an agent received, the ids that it has streamed so far, and the streamed texts by id.

    The texts are needed because an agent may give a streamed message another id in each snapshot.
    """

    sent: set[str]
    ids: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)


def find_unstreamed(snapshot: object, streamed: StreamHistory) -> Iterator[e.Event]:
    """Yield a snapshot's new messages as events. Messages before the last one that the agent received are older."""
    if not isinstance(snapshot, list):
        raise BadEvent("A MESSAGES_SNAPSHOT lacks its `messages`, which is a list.")
    try:
        messages = list(read_messages(snapshot))
    except BadRequest as error:
        raise BadEvent(f"A MESSAGES_SNAPSHOT cannot be understood: {error.message}") from error
    texts = list(streamed.texts.values())
    for message in messages[find_start(messages, streamed.sent) :]:
        if message.role == "assistant":
            is_known = message.id in streamed.ids or message.text in texts
            if message.text in texts:
                texts.remove(message.text)
            yield from expand_message(message, streamed.ids, is_known=is_known)
        elif message.role == "tool":
            yield from expand_results(message, streamed.ids)


def find_start(messages: Sequence[Message], sent: Collection[str]) -> int:
    """Return the index after the last message that the agent did not produce."""
    known = [
        place
        for place, message in enumerate(messages)
        if message.role == "user" or message.id in sent or any(id in sent for id in result_ids(message))
    ]
    return known[-1] + 1 if known else 0


def result_ids(message: Message) -> list[str]:
    return [part.call_id for part in message.parts if isinstance(part, Result)]


def expand_message(message: Message, streamed: Collection[str], *, is_known: bool) -> Iterator[e.Event]:
    if message.text and not is_known:
        yield e.TextStarted(message.id)
        yield e.TextDelta(message.id, message.text)
        yield e.TextEnded(message.id)
    for part in message.parts:
        if isinstance(part, Call) and part.id not in streamed:
            yield e.ToolCallStarted(part.id, part.name, message.id)
            yield e.ToolCallDelta(part.id, part.arguments)
            yield e.ToolCallEnded(part.id)


def expand_results(message: Message, streamed: Collection[str]) -> Iterator[e.Event]:
    for part in message.parts:
        if isinstance(part, Result) and f"result-{part.call_id}" not in streamed:
            yield e.ToolCallReturned(part.call_id, part.name, part.content, part.error, message.id)
