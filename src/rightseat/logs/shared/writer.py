"""Writers of runs, and the queue of their records for the backend. Nothing here waits for the server.

A batch has at most one record of each writer, and a writer's next record is made when its last one is resolved. So a
retry sends exactly the same record, and the end of a run never overtakes its events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from rightseat.core.errors import LogDataLost, LogWriteFailed, RightseatError, StaleWriter
from rightseat.core.events import Event, SpanEnded
from rightseat.core.log import Entry, Position
from rightseat.core.stream import codec
from rightseat.logs.run_buffer import END_EVENTS
from rightseat.logs.shared.backend import LastPosition
from rightseat.logs.shared.records import Record
from rightseat.logs.shared.run import LONG_ENTRY_BYTES, SharedRun


class SharedRunWriter:
    """Writes one run under one epoch. `position` is its last record that the server has acknowledged.

    After a failure it commits nothing more; but end events can still be appended, so that local followers receive
    them. These are `uncommitted`. `checked_outage` is the last outage of the server after which the log was checked.
    """

    __slots__ = ("_flush", "_queue", "checked_outage", "epoch", "failure", "position", "run", "uncommitted")

    def __init__(
        self,
        run: SharedRun,
        epoch: int,
        position: Position,
        queue: "SendQueue",
        checked_outage: int,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._flush = flush
        self.run = run
        self.epoch = epoch
        self.position = position
        self.checked_outage = checked_outage
        self.failure: RightseatError | None = None
        self.uncommitted: list[Event] = []
        self._queue = queue

    async def append(self, event: Event) -> Entry:
        run = self.run
        if self.failure is not None:
            return self._append_uncommitted(event, self.failure)
        text = codec.encode(event)
        entry = run.next_entry(self.epoch, event)
        self._queue.put(self, entry, text)
        if len(text) > LONG_ENTRY_BYTES:
            run.fit_window(len(text))
        if entry.seq - run.dropped > run.window and run.is_full() and not isinstance(event, END_EVENTS):
            await self._wait_for_capacity()
        return entry

    def append_nowait(self, event: Event) -> Entry:
        if self.failure is not None:
            return self._append_uncommitted(event, self.failure)
        text = codec.encode(event)
        entry = self.run.next_entry(self.epoch, event)
        self._queue.put(self, entry, text)
        return entry

    async def _wait_for_capacity(self) -> None:
        run = self.run
        while self.failure is None and run.epoch == self.epoch and run.is_full():
            await run.wait_for_capacity(self.epoch)

    async def flush(self) -> None:
        if self.failure is None:
            await self._flush()
        if self.failure is not None:
            raise self.failure

    def commit(self, pending: "PendingRecord") -> None:
        """Publish a record that the server has acknowledged.

        A writer that has failed publishes nothing: the next owner reads from the server what was still in flight.
        """
        if self.failure is not None:
            return
        run = self.run
        self.position = run.cursor.position = pending.record.position
        if pending.entries:
            run.cursor.last_entry = pending.record.position
            for entry in pending.entries:
                run.publish(entry)
        run.wake_writer()

    def fail(self, failure: RightseatError) -> None:
        """Free the numbers of entries that were not committed: no reader has seen them."""
        self.failure = failure
        if self.run.epoch == self.epoch:
            self.run.seq = self.run.visible_seq
        self.run.wake_writer()

    def _append_uncommitted(self, event: Event, failure: RightseatError) -> Entry:
        if isinstance(failure, StaleWriter) or not isinstance(event, END_EVENTS):
            raise failure
        if isinstance(failure, LogDataLost) and isinstance(event, SpanEnded):
            raise failure  # it is written again with the new log; its number may be that of a lost entry
        entry = self.run.next_entry(self.epoch, event)
        self.uncommitted.append(event)
        self.run.publish(entry)
        return entry

    def closing_records(self, last_position: Position) -> list[Record]:
        """The records to append after `last_position` once the log can be written again."""
        seq = max(last_position.seq, self.run.cursor.seq)
        content = b"[%b]" % b",".join([codec.encode(event) for event in self.uncommitted])
        events = Record(Position(self.epoch, seq + len(self.uncommitted)), "events", content)
        end = Record(Position(self.epoch, seq + len(self.uncommitted) + 1), "end")
        return [events, end] if self.uncommitted else [end]


@dataclass(slots=True, eq=False)
class PendingRecord:
    """A record of one writer that is not resolved yet. `end` completes when the end of the run is committed."""

    writer: SharedRunWriter
    record: Record
    entries: Sequence[Entry] = ()
    end: "asyncio.Future[None] | None" = None

    @property
    def item(self) -> tuple[str, Record]:
        return self.writer.run.id, self.record

    def resolve(self, last_position: LastPosition) -> bool:
        """Whether the last position of its log shows that the record was committed, was refused, or can never be."""
        writer = self.writer
        if last_position is None or (last_position < writer.position and last_position.epoch <= writer.epoch):
            self.fail(LogDataLost(writer.run.id, writer.run.visible_seq))
        elif last_position.epoch > writer.epoch:
            self.fail(StaleWriter(writer.run.id, writer.epoch, last_position.epoch))
        elif last_position >= self.record.position:
            writer.commit(self)
            if self.end and not self.end.done():
                self.end.set_result(None)
        else:
            return False
        return True

    def fail(self, failure: RightseatError) -> None:
        self.writer.fail(failure)
        if self.end and not self.end.done():
            self.end.set_exception(failure)


@dataclass(slots=True)
class SendQueue:
    entries: dict[SharedRunWriter, list[tuple[Entry, bytes]]] = field(default_factory=dict)
    ends: "dict[SharedRunWriter, asyncio.Future[None]]" = field(default_factory=dict)
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, writer: SharedRunWriter, entry: Entry, text: bytes) -> None:
        if (entries := self.entries.get(writer)) is None:
            self.entries[writer] = [(entry, text)]
            self.filled.set()
        else:
            entries.append((entry, text))

    def put_end(self, writer: SharedRunWriter) -> "asyncio.Future[None]":
        """Queue the end of the run behind all its entries."""
        end = self.ends[writer] = asyncio.get_running_loop().create_future()
        self.filled.set()
        return end

    def take(self) -> list[PendingRecord]:
        """All queued entries, and the ends of those writers that have no more entries."""
        queued, self.entries = self.entries, {}
        batch = [_pend_events(writer, entries) for writer, entries in queued.items() if writer.failure is None]
        for writer in [writer for writer in self.ends if writer not in queued]:
            pending = _pend_end(writer, self.ends.pop(writer))
            if writer.failure is None:
                batch.append(pending)
            else:
                pending.fail(writer.failure)
        if not self.ends:
            self.filled.clear()
        return batch


def _pend_events(writer: SharedRunWriter, encoded: Sequence[tuple[Entry, bytes]]) -> PendingRecord:
    entries = [entry for entry, _ in encoded]
    content = b"[%b]" % b",".join([text for _, text in encoded])
    return PendingRecord(writer, Record(Position(writer.epoch, entries[-1].seq), "events", content), entries)


def _pend_end(writer: SharedRunWriter, end: "asyncio.Future[None]") -> PendingRecord:
    return PendingRecord(writer, Record(Position(writer.epoch, writer.run.visible_seq + 1), "end"), end=end)


def fail_all(batch: Sequence[PendingRecord], problem: str) -> None:
    for pending in batch:
        pending.fail(LogWriteFailed(problem))
