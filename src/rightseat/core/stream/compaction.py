"""Compacts the events of a finished run, for storage and for clients that reconnect.

Each message, reasoning and call keeps one delta; the state is kept once, as it was at the end. All other events stay,
in their order. Changes to an unknown state stay as they are, because only a reader that has the state can apply them.
"""

from collections.abc import Iterable

from rightseat.core.events import (
    Delta,
    Event,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    StateChanged,
    StateReplaced,
    TextDelta,
    ToolCallDelta,
)
from rightseat.core.json_patch import BadPatch, apply_patch
from rightseat.core.types import JsonValue


def compact(events: Iterable[Event], state: JsonValue = None) -> list[Event]:
    """`state` is the state at the start of the run, if known."""
    kept: list[Event] = []
    places: dict[tuple[type[Delta], str], int] = {}  # index of the only delta of a message, reasoning or call
    pieces: dict[int, list[str]] = {}
    known, changed = state is not None, False
    for event in events:
        match event:
            case TextDelta(text=text) | ReasoningDelta(text=text) | ToolCallDelta(text=text):
                place = places.setdefault((type(event), id_of(event)), len(kept))
                if place == len(kept):
                    kept.append(event)
                pieces.setdefault(place, []).append(text)
            case StateReplaced(state=state):
                known = changed = True
            case StateChanged(patch=patch) if known:
                try:
                    state, changed = apply_patch(state, patch), True
                except BadPatch:
                    kept.append(event)  # unchanged: the reader may be able to apply it
            case RunFinished() | RunFailed() if changed:
                kept += (StateReplaced(state), event)
                changed = False
            case _:
                kept.append(event)
    if changed:  # the run has no last event
        kept.append(StateReplaced(state))
    return [join_deltas(event, pieces[place]) if place in pieces else event for place, event in enumerate(kept)]


def id_of(delta: Delta) -> str:
    return delta.call_id if isinstance(delta, ToolCallDelta) else delta.message_id


def join_deltas(event: Event, pieces: list[str]) -> Event:
    text = "".join(pieces)
    match event:
        case TextDelta(message_id=id):
            return TextDelta(id, text)
        case ReasoningDelta(message_id=id):
            return ReasoningDelta(id, text)
        case ToolCallDelta(call_id=id):
            return ToolCallDelta(id, text)
    return event
