"""A finished run in as few events as say the same: what is kept for good, and what a client gets that comes back.

One delta for each message, thought and call; the state once, as it was at the end. Everything else stays, in its order.
Changes of a state that is not known stay as they are: they mean something only to who has it.
"""

from collections.abc import Iterable

from rightseat.core.events import (
    CallDelta,
    Event,
    RunFailed,
    RunFinished,
    StateChanged,
    StateReplaced,
    TextDelta,
    ThoughtDelta,
)
from rightseat.core.patching import BadPatch, patched
from rightseat.core.values import JsonValue

Delta = TextDelta | ThoughtDelta | CallDelta


def compacted(events: Iterable[Event], state: JsonValue = None) -> list[Event]:
    """`state` is the one that the run began with, where that is known."""
    kept: list[Event] = []
    places: dict[tuple[type[Delta], str], int] = {}  # where the one delta of a message, a thought or a call stands
    pieces: dict[int, list[str]] = {}
    known, changed = state is not None, False
    for event in events:
        match event:
            case TextDelta(text=text) | ThoughtDelta(text=text) | CallDelta(text=text):
                place = places.setdefault((type(event), id_of(event)), len(kept))
                if place == len(kept):
                    kept.append(event)
                pieces.setdefault(place, []).append(text)
            case StateReplaced(state=state):
                known = changed = True
            case StateChanged(patch=patch) if known:
                try:
                    state, changed = patched(state, patch), True
                except BadPatch:
                    kept.append(event)  # as it came: who reads it may know better
            case RunFinished() | RunFailed() if changed:
                kept += (StateReplaced(state), event)
                changed = False
            case _:
                kept.append(event)
    if changed:  # a run that has not come to its end
        kept.append(StateReplaced(state))
    return [whole(event, pieces[place]) if place in pieces else event for place, event in enumerate(kept)]


def id_of(delta: Delta) -> str:
    return delta.call_id if isinstance(delta, CallDelta) else delta.message_id


def whole(event: Event, pieces: list[str]) -> Event:
    text = "".join(pieces)
    match event:
        case TextDelta(message_id=id):
            return TextDelta(id, text)
        case ThoughtDelta(message_id=id):
            return ThoughtDelta(id, text)
        case CallDelta(call_id=id):
            return CallDelta(id, text)
    return event
