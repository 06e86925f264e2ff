"""The stored events of a thread's runs, for a client that connects or that was away.

Each run is read when the client has the one before, so that a client which does not read makes the server keep one.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Any

from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import Event, RunFailed, RunFinished, RunStarted, TextDelta, ToolCallStarted
from rightseat.core.log import Entry, Position, position, seq
from rightseat.core.runtime import Runtime
from rightseat.core.stream.compaction import compact
from rightseat.core.threads import RunRow, Thread
from rightseat.faces._shared.entry_groups import split_entries
from rightseat.faces._shared.lost_log import add_missing_end, read_or_nothing, restore_run
from rightseat.wire.agui import END_SEQ, AguiEncoder
from rightseat.wire.json_pieces import encode_pieces, join_pieces


class StoredEvents:
    """`writer` makes the encoder of a run."""

    def __init__(self, runtime: Runtime, writer: Callable[[RunRow], AguiEncoder]) -> None:
        self._runtime = runtime
        self.writer = writer

    async def write_compact(self, runs: Sequence[RunRow], shown: "ShownMessages") -> AsyncIterator[bytes]:
        """Ended runs that the page does not show yet, in as few events as possible."""
        for run in runs:
            entries = await self._entries(run)
            events = compact([entry.event for entry in entries])
            if shown.have(events):
                continue
            for piece in write_compact(self.writer(run), entries, events):
                yield piece

    async def write_missed(
        self, thread: Thread, runs: Sequence[RunRow], seen: Position | None, principal: Principal
    ) -> AsyncIterator[bytes]:
        """The events of ended runs after the one that the client has seen, which is in the first of them.

        What is before a run whose log is gone is left out: that run is restored with all messages up to its end.
        Raises `UnknownEventId` before the first piece.
        """
        lost = await self._find_last_lost(runs, has_seen=seen is not None)
        for place, run in enumerate(runs):
            writer = self.writer(run)
            after = await self.skip_seen(writer, run, seen) if seen and not place else None
            if place > lost:
                for group in split_entries(await self._entries(run, after)):
                    yield writer.feed(group)
            elif place == lost and (not after or seq(after) < END_SEQ):
                events = await self._restore(thread, run, principal)
                for piece in write_restored(writer, run, events[1:] if after else events):
                    yield piece

    async def skip_seen(self, writer: AguiEncoder, run: RunRow, seen: Position) -> str:
        """Pass what the client has of the run to the writer. Returns the position after it."""
        entries = await self._entries(run)
        seen = find_position(entries, seen)
        skip(writer, entries, seen)
        return str(seen)

    async def _find_last_lost(self, runs: Sequence[RunRow], *, has_seen: bool) -> int:
        """The place of the last run whose log is gone; -1 if there is none. A cancelled run may never have started."""
        for place in reversed(range(len(runs))):
            has_started = runs[place].outcome != "cancelled" or (has_seen and not place)
            if has_started and not await self._entries(runs[place]):
                return place
        return -1

    async def _restore(self, thread: Thread, run: RunRow, principal: Principal) -> Sequence[Event]:
        pending = await self._runtime.pending(principal, thread.id)
        interrupts = tuple(one.interrupt for one in pending if one.run_id == run.id)
        later = thread.runs[thread.runs.index(run) + 1 :]
        return await restore_run(thread, run, later, self._entries, interrupts)

    async def _entries(self, run: RunRow, after: str | None = None) -> Sequence[Entry]:
        return add_missing_end(await read_or_nothing(self._runtime, run.id, after), run)


class ShownMessages:
    """What a page shows when it connects. A chat that stays open connects again when a run has begun elsewhere, and a
    client adds the deltas of a message to the text that it has."""

    def __init__(self, messages: Sequence[Any]) -> None:
        listed = [message for message in messages if isinstance(message, dict)]
        lists = [calls for message in listed if isinstance(calls := message.get("toolCalls"), list)]
        self._texts = {id: message.get("content") for message in listed if isinstance(id := message.get("id"), str)}
        self._calls = {str(call.get("id")) for calls in lists for call in calls if isinstance(call, dict)}

    def have(self, events: Sequence[Event]) -> bool:
        """Whether the page shows all that a run has said, and called, if anything. The events are compacted."""
        texts = [event for event in events if isinstance(event, TextDelta)]
        calls = [event for event in events if isinstance(event, ToolCallStarted)]
        shown = (self._texts.get(event.message_id) == event.text for event in texts)
        return bool(texts or calls) and all(shown) and all(event.call_id in self._calls for event in calls)


class UnknownEventId(BadRequest):
    def __init__(self, last_seen: object) -> None:
        super().__init__(f"Last-Event-ID {str(last_seen)[:100]!r} is not an event of this thread.")


def skip(writer: AguiEncoder, entries: Sequence[Entry], seen: Position) -> None:
    """Pass the entries that the client already has to the writer. A lost log may be incomplete."""
    writer.mark_begun()
    is_complete = bool(entries) and isinstance(entries[0].event, RunStarted) and entries[0].seq == 1
    if is_complete and (seen.epoch not in {entry.epoch for entry in entries} or entries[-1].seq < seen.seq):
        raise UnknownEventId(seen)
    writer.skip(entry for entry in entries if entry.seq <= seen.seq)


def find_position(entries: Sequence[Entry], seen: Position) -> Position:
    """The entry of an event that a client has seen: the end of a run has an id of its own."""
    is_end = seen.seq == END_SEQ and bool(entries) and isinstance(entries[-1].event, RunFinished | RunFailed)
    return Position(seen.epoch, entries[-1].seq) if is_end else seen


def parse_last_event_id(last_seen: str) -> Position:
    try:
        seen = position(last_seen)
    except BadRequest:
        raise UnknownEventId(last_seen) from None
    if not seen.epoch or not seen.seq:
        raise UnknownEventId(last_seen)
    return seen


def write_restored(writer: AguiEncoder, run: RunRow, events: Sequence[Event]) -> Iterator[bytes]:
    """Encode a run whose log is gone. Only its end has an id, because the log cannot be resumed in the middle."""
    return (writer.feed([Entry(run.epoch, int(event is events[-1]), event)]) for event in events)


def write_compact(writer: AguiEncoder, entries: Sequence[Entry], events: Sequence[Event]) -> Iterator[bytes]:
    """Encode a finished run in few frames. Only the last has an id, because clients cannot resume in the middle."""
    if not entries:
        return
    *earlier, last = events
    for event in earlier:
        for one in writer.write(event):
            yield from join_pieces(chain((b"data: ",), encode_pieces(one), (b"\n\n",)))
    yield writer.feed([Entry(entries[-1].epoch, entries[-1].seq, last)])


def split_runs(runs: Sequence[RunRow]) -> tuple[Sequence[RunRow], RunRow | None]:
    """The ended runs before the first active one, and that."""
    ended = list(takewhile(lambda run: run.outcome is not None, runs))
    return ended, runs[len(ended)] if len(ended) < len(runs) else None
