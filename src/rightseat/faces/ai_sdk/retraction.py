"""Leaves out the retracted parts of a run's log, for a client that receives the run from its start."""

from collections.abc import Sequence

from rightseat.core.events import (
    MessagesReplaced,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.log import Entry
from rightseat.core.messages import Call


def drop_retracted(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Without the texts, reasoning and calls that the last `MessagesReplaced` leaves out.

    Reasoning is in no message, so all that came before is left out.
    """
    replaced = [number for number, entry in enumerate(entries) if isinstance(entry.event, MessagesReplaced)]
    if not replaced:
        return entries
    last = entries[replaced[-1]].event
    messages = last.messages if isinstance(last, MessagesReplaced) else ()
    kept = {message.id for message in messages}
    calls = {part.id for message in messages for part in message.parts if isinstance(part, Call)}
    return [
        *(entry for entry in entries[: replaced[-1]] if is_kept(entry, kept, calls)),
        *entries[replaced[-1] :],
    ]


def is_kept(entry: Entry, messages: set[str], calls: set[str]) -> bool:
    match entry.event:
        case TextStarted(message_id=id) | TextDelta(message_id=id) | TextEnded(message_id=id):
            return id in messages
        case ReasoningStarted() | ReasoningDelta() | ReasoningEnded():
            return False
        case ToolCallStarted(call_id=id) | ToolCallDelta(call_id=id) | ToolCallEnded(call_id=id):
            return id in calls
        case ToolCallReturned(call_id=id):
            return id in calls
        case _:
            return True
