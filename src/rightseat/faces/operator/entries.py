"""Log entries as the console receives them."""

from collections.abc import Iterable, Sequence
from typing import assert_never

import msgspec

from rightseat.core import events as e
from rightseat.core.log import Entry
from rightseat.core.stream.compaction import id_of, join_deltas
from rightseat.faces._shared.artifact_links import remove_private_fields

DELTAS = (e.TextDelta, e.ReasoningDelta, e.ToolCallDelta)

MAX_JOINED_CHARS = 65_536


def join_entries(entries: Iterable[Entry], limit: int | None = None) -> list[Entry]:
    """Join deltas of one message or call that follow each other. The joined entry has the id of the last of them.

    A joined text ends soon after `MAX_JOINED_CHARS`. The result has at most `limit` entries; the rest is not read.
    """
    joined: list[Entry] = []
    pieces: list[str] = []
    size = 0
    for entry in entries:
        event = entry.event
        last = joined[-1].event if joined else None
        if isinstance(event, DELTAS) and size < MAX_JOINED_CHARS and continues(event, last):
            pieces.append(event.text)
            size += len(event.text)
            joined[-1] = entry
            continue
        finish_join(joined, pieces)
        if len(joined) == limit:
            return joined
        pieces = [event.text] if isinstance(event, DELTAS) else []
        size = len(pieces[0]) if pieces else 0
        joined.append(entry)
    finish_join(joined, pieces)
    return joined


def continues(delta: e.Delta, last: e.Event | None) -> bool:
    return isinstance(last, type(delta)) and id_of(last) == id_of(delta)


def finish_join(joined: list[Entry], pieces: Sequence[str]) -> None:
    if len(pieces) > 1:
        joined[-1] = Entry(joined[-1].epoch, joined[-1].seq, join_deltas(joined[-1].event, list(pieces)))


def write_entry(event: e.Event, *, has_details: bool) -> e.Event:
    """The event without the memos of interrupts, which only its agent may see.

    `has_details` keeps the operator's part of flow steps: prompts, statements and error texts of servers.
    """
    match event:
        case e.Custom(name="flow.step", value=dict(step)) if not has_details:
            return e.Custom("flow.step", remove_private_fields(step))
        case e.RunFinished(interrupts=interrupts) if interrupts:
            shown = tuple(msgspec.structs.replace(one, memo=None) for one in interrupts)
            return msgspec.structs.replace(event, interrupts=shown)
        case e.RunStarted() | e.RunFinished() | e.RunFailed() | e.ModelResponseEnded() | e.MessagesReplaced():
            return event
        case e.TextStarted() | e.TextDelta() | e.TextEnded():
            return event
        case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
            return event
        case e.ToolCallStarted() | e.ToolCallDelta() | e.ToolCallEnded() | e.ToolCallReturned():
            return event
        case e.StepStarted() | e.StepEnded() | e.SpanStarted() | e.SpanEnded():
            return event
        case e.StateReplaced() | e.StateChanged() | e.Custom():
            return event
        case _:
            assert_never(event)
