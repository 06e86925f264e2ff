"""Leaves out the retracted parts of a run's log, for a client that receives the run from its start."""

from collections.abc import Sequence
from typing import assert_never

from rightseat.core import events as e
from rightseat.core.log import Entry
from rightseat.core.messages import Call


def drop_retracted(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Without the texts, reasoning and calls that the last `MessagesReplaced` leaves out.

    Reasoning is in no message, so all that came before is left out.
    """
    replaced = [number for number, entry in enumerate(entries) if isinstance(entry.event, e.MessagesReplaced)]
    if not replaced:
        return entries
    last = entries[replaced[-1]].event
    messages = last.messages if isinstance(last, e.MessagesReplaced) else ()
    kept = {message.id for message in messages}
    calls = {part.id for message in messages for part in message.parts if isinstance(part, Call)}
    return [
        *(entry for entry in entries[: replaced[-1]] if is_kept(entry, kept, calls)),
        *entries[replaced[-1] :],
    ]


def is_kept(entry: Entry, messages: set[str], calls: set[str]) -> bool:
    match entry.event:
        case e.TextStarted(message_id=id) | e.TextDelta(message_id=id) | e.TextEnded(message_id=id):
            return id in messages
        case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
            return False
        case e.ToolCallStarted(call_id=id) | e.ToolCallDelta(call_id=id) | e.ToolCallEnded(call_id=id):
            return id in calls
        case e.ToolCallReturned(call_id=id):
            return id in calls
        case e.RunStarted() | e.RunFinished() | e.RunFailed() | e.ModelResponseEnded() | e.MessagesReplaced():
            return True
        case e.StepStarted() | e.StepEnded() | e.SpanStarted() | e.SpanEnded():
            return True
        case e.StateReplaced() | e.StateChanged() | e.Custom():
            return True
        case _:
            assert_never(entry.event)
