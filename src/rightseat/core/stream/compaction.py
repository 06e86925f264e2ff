"""Compacts the events of a finished run, for storage and for clients that reconnect.

Each message, reasoning and call keeps one delta; the state is kept once, as it was at the end. All other events stay,
in their order. Changes to an unknown state stay as they are, because only a reader that has the state can apply them.
"""

from collections.abc import Iterable
from typing import assert_never

from rightseat.core import events as e
from rightseat.core.json_patch import BadPatch, apply_patch
from rightseat.core.types import JsonValue


def compact(events: Iterable[e.Event], state: JsonValue = None) -> list[e.Event]:
    """`state` is the state at the start of the run, if known."""
    kept: list[e.Event] = []
    places: dict[tuple[type[e.Delta], str], int] = {}  # index of the only delta of a message, reasoning or call
    pieces: dict[int, list[str]] = {}
    known, changed = state is not None, False
    for event in events:
        match event:
            case e.TextDelta(text=text) | e.ReasoningDelta(text=text) | e.ToolCallDelta(text=text):
                place = places.setdefault((type(event), id_of(event)), len(kept))
                if place == len(kept):
                    kept.append(event)
                pieces.setdefault(place, []).append(text)
            case e.StateReplaced(state=state):
                known = changed = True
            case e.StateChanged(patch=patch) if known:
                try:
                    state, changed = apply_patch(state, patch), True
                except BadPatch:
                    kept.append(event)  # unchanged: the reader may be able to apply it
            case e.RunFinished() | e.RunFailed() if changed:
                kept += (e.StateReplaced(state), event)
                changed = False
            case e.RunStarted() | e.RunFinished() | e.RunFailed() | e.ModelResponseEnded() | e.MessagesReplaced():
                kept.append(event)
            case e.TextStarted() | e.TextEnded() | e.ReasoningStarted() | e.ReasoningEnded() | e.StateChanged():
                kept.append(event)
            case e.ToolCallStarted() | e.ToolCallEnded() | e.ToolCallReturned() | e.StepStarted() | e.StepEnded():
                kept.append(event)
            case e.SpanStarted() | e.SpanEnded() | e.Custom():
                kept.append(event)
            case _:
                assert_never(event)
    if changed:  # the run has no last event
        kept.append(e.StateReplaced(state))
    return [join_deltas(event, pieces[place]) if place in pieces else event for place, event in enumerate(kept)]


def id_of(delta: e.Delta) -> str:
    return delta.call_id if isinstance(delta, e.ToolCallDelta) else delta.message_id


def join_deltas(event: e.Event, pieces: list[str]) -> e.Event:
    text = "".join(pieces)
    match event:
        case e.TextDelta(message_id=id):
            return e.TextDelta(id, text)
        case e.ReasoningDelta(message_id=id):
            return e.ReasoningDelta(id, text)
        case e.ToolCallDelta(call_id=id):
            return e.ToolCallDelta(id, text)
    return event
