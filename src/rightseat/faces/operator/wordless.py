"""Removes all text of a conversation from log entries, for readers who may watch a run and not read it."""

from typing import assert_never

import msgspec

from rightseat.core import events as e


def remove_words(event: e.Event) -> e.Event | None:
    """The event without text; None if nothing would be left of it."""
    match event:
        case e.RunStarted():
            return msgspec.structs.replace(event, new_messages=())
        case e.RunFinished(outcome=outcome):
            return e.RunFinished(outcome)
        case e.RunFailed(code=code):
            return e.RunFailed(code, "")  # the message may quote the conversation
        case e.StepStarted() | e.StepEnded() | e.SpanStarted() | e.SpanEnded() | e.ModelResponseEnded():
            return event
        case e.TextStarted() | e.TextDelta() | e.TextEnded():
            return None
        case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
            return None
        case e.ToolCallStarted() | e.ToolCallDelta() | e.ToolCallEnded() | e.ToolCallReturned():
            return None
        case e.StateReplaced() | e.StateChanged() | e.MessagesReplaced() | e.Custom():
            return None
        case _:
            assert_never(event)
