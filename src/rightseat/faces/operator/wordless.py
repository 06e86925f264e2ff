"""Removes all text of a conversation from log entries, for readers who may watch a run and not read it."""

from typing import assert_never

import msgspec

from rightseat.core.events import (
    Custom,
    Event,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    SpanEnded,
    SpanStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)


def remove_words(event: Event) -> Event | None:
    """The event without text; None if nothing would be left of it."""
    match event:
        case RunStarted():
            return msgspec.structs.replace(event, new_messages=())
        case RunFinished(outcome=outcome):
            return RunFinished(outcome)
        case RunFailed(code=code):
            return RunFailed(code, "")  # the message may quote the conversation
        case StepStarted() | StepEnded() | SpanStarted() | SpanEnded() | ModelResponseEnded():
            return event
        case TextStarted() | TextDelta() | TextEnded() | ReasoningStarted() | ReasoningDelta() | ReasoningEnded():
            return None
        case ToolCallStarted() | ToolCallDelta() | ToolCallEnded() | ToolCallReturned():
            return None
        case StateReplaced() | StateChanged() | MessagesReplaced() | Custom():
            return None
        case _:
            assert_never(event)
