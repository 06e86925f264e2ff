"""Collects the entries of all runs in this process, and passes them to the thread that writes the SQLite file.

Entries that are appended within a few milliseconds become one transaction, together with whatever else is written to
the file at that moment. An entry is published once its transaction is committed, not before: so whatever a reader has
received survives a kill of the process. When there is little to write, the next entry is committed almost at once.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar, final

import msgspec

from rightseat.core.errors import LogWriteFailed, RightseatError, RunExists, StaleWriter, StorageFull
from rightseat.core.events import Event, RunStarted, SpanEnded, SpanStarted
from rightseat.core.log import Entry
from rightseat.core.stream import codec
from rightseat.logs.run_buffer import END_EVENTS, LARGE_ENTRY_BYTES, MAX_READER_LAG, MAX_UNCOMMITTED_ENTRIES, RunBuffer
from rightseat.logs.sqlite.database import EntryRow, LogDatabase
from rightseat.sqlite_writer import Job, SqliteWriter

logger = logging.getLogger(__name__)

MIN_COMMIT_INTERVAL_S, MAX_COMMIT_INTERVAL_S = 0.01, 0.02
"""What is appended within it is committed together, and no reader sees the difference."""
COMMIT_INTERVAL_PER_RUN_S = 0.002  # many runs wait for each other
# Workers that share a file divide the runs among them. For as many entries in a transaction as one process has, two
# workers with half of the runs each wait twice as long. In steps of 32 ms text still appears to flow.
MAX_SHARED_COMMIT_INTERVAL_S, SHARED_COMMIT_INTERVAL_PER_RUN_S = 0.032, 0.008
QUIET_DELAY_S = 0.02
QUIET_EVENTS = (RunStarted, SpanStarted, SpanEnded)
"""No client shows these. They are committed with the next entry, if one follows soon."""

T = TypeVar("T")
Execute = Callable[[Callable[[LogDatabase], None]], Coroutine[Any, Any, None]]
Enqueue = Callable[["SqliteRunWriter", "PendingEntry"], None]


@final
class PendingEntry(msgspec.Struct, frozen=True, gc=False):  # created in a third of the time of a `NamedTuple`
    entry: Entry
    text: bytes


@final
class PendingWork(NamedTuple):
    do: Callable[[LogDatabase], Any]
    future: "asyncio.Future[Any]"


@dataclass(slots=True)
class CommitBatch:
    """Entries and work for one transaction, and its results. `new_runs` are created with their first entries."""

    new_runs: "list[SqliteRunWriter]" = field(default_factory=list)
    entries: "dict[SqliteRunWriter, list[PendingEntry]]" = field(default_factory=dict)
    work: list[PendingWork] = field(default_factory=list)
    ended_runs: int = 0
    failures: "dict[SqliteRunWriter, RightseatError]" = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)

    # In the thread

    def commit(self, database: LogDatabase) -> None:
        """New runs, then entries, then the work, which may write the end of a run."""
        database.check_version()
        for writer in [writer for writer in self.entries if writer.has_failed]:
            del self.entries[writer]  # else there would be a gap
        for writer in self.new_runs:
            self._create(database, writer)
        stale = database.append(self._rows())
        for writer in self.entries:
            if writer.key in stale:
                self._fail(writer, StaleWriter(writer.run.id, writer.epoch, stale[writer.key]))
        self.results = [self._execute(database, one.do) for one in self.work]

    def undo(self, database: LogDatabase) -> None:
        database.forget_epochs()
        for writer in (*self.new_runs, *self.entries):
            writer.has_failed = True

    def _create(self, database: LogDatabase, writer: "SqliteRunWriter") -> None:
        try:
            writer.key = database.create(writer.run.id, writer.epoch)
        except RunExists:  # another process has created it meanwhile
            self._fail(writer, StaleWriter(writer.run.id, writer.epoch, writer.epoch))

    def _rows(self) -> list[EntryRow]:
        """One row for each writer, with all its entries of this batch."""
        return [
            (writer.key, writer.epoch, entries[0].entry.seq, f"[{b','.join([item.text for item in entries]).decode()}]")
            for writer, entries in self.entries.items()
            if writer not in self.failures
        ]

    def _execute(self, database: LogDatabase, do: Callable[[LogDatabase], Any]) -> Any:
        try:
            return do(database)
        except RightseatError as error:
            return error  # of this work alone

    def _fail(self, writer: "SqliteRunWriter", error: RightseatError) -> None:
        writer.has_failed = True
        self.failures[writer] = error

    # In the event loop

    def deliver(self, problem: Exception | None) -> None:
        """Publish committed entries, and complete the futures of the work. With a problem nothing was committed."""
        if problem is not None:
            error = problem if isinstance(problem, StorageFull) else LogWriteFailed(str(problem))
            self.failures = dict.fromkeys((*self.new_runs, *self.entries), error)
            self.results = [error] * len(self.work)
        for writer, failure in self.failures.items():
            writer.fail(failure)
        for writer, entries in self.entries.items():
            if writer not in self.failures:
                writer.publish(entries)
        for (_, future), result in zip(self.work, self.results, strict=True):
            if future.done():
                continue  # its caller was cancelled
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


class CommitQueue:
    def __init__(self, writer: SqliteWriter, *, is_shared: bool) -> None:
        self._writer = writer
        self._is_shared = is_shared
        self._database = LogDatabase(writer.connection)
        self._loop = asyncio.get_running_loop()
        self._batch = CommitBatch()
        self._is_empty = True
        self._in_flight = 0  # batches that the thread has not written yet
        self._next_flush = 0.0
        self._timer: asyncio.Handle | None = None
        self._is_quiet = False  # the timer waits for an entry that a client shows
        writer.take_pending = self._take_pending

    def open_writer(self, run: RunBuffer, key: int, epoch: int) -> "SqliteRunWriter":
        self._writer.open_logs.add(run.id)
        return SqliteRunWriter(run, key, epoch, self._enqueue, self.execute)

    def open_new_writer(self, run: RunBuffer, epoch: int) -> "SqliteRunWriter":
        """For a run that the file does not have yet. It is written with its first entries."""
        writer = self.open_writer(run, 0, epoch)
        self._batch.new_runs.append(writer)
        self._is_empty = False
        self._schedule(is_quiet=True)
        return writer

    async def end(self, writer: "SqliteRunWriter", do: Callable[[LogDatabase], T]) -> T:
        """Write the end of a run, in the transaction in which the store has finished it."""
        self._writer.open_logs.discard(writer.run.id)
        self._batch.ended_runs += 1
        return await self.execute(do)

    async def execute(self, do: Callable[[LogDatabase], T]) -> T:
        """Do the work after everything that was appended before. Returns when it is committed."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._batch.work.append(PendingWork(do, future))
        self._flush()
        return await future

    async def close(self) -> None:
        """Writes everything that is pending first."""
        await self.execute(lambda _: None)
        self._writer.take_pending = None

    def _enqueue(self, writer: "SqliteRunWriter", item: PendingEntry) -> None:
        self._is_empty = False
        self._batch.entries.setdefault(writer, []).append(item)
        if self._timer is None or self._is_quiet:
            self._schedule(is_quiet=isinstance(item.entry.event, QUIET_EVENTS))

    def _schedule(self, *, is_quiet: bool) -> None:
        if self._timer is not None:
            if is_quiet:
                return
            self._timer.cancel()
        now = self._loop.time()
        at = now + QUIET_DELAY_S if is_quiet else now if self._batch.new_runs else self._next_flush
        # Entries of the same iteration of the loop are committed together.
        self._timer = self._loop.call_at(at, self._flush_due) if at > now else self._loop.call_soon(self._flush_due)
        self._is_quiet = is_quiet

    def _flush_due(self) -> None:
        self._timer = None
        if not self._in_flight and not self._is_empty:
            self._flush()  # else `_deliver` does: a slow disk gets fewer and larger transactions

    def _flush(self) -> None:
        self._writer.submit(self._take())

    def _take_pending(self) -> Job | None:
        return None if self._is_empty else self._take()

    def _take(self) -> Job:
        batch, self._batch, self._is_empty = self._batch, CommitBatch(), True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._next_flush = self._loop.time() + commit_interval(len(batch.entries), is_shared=self._is_shared)
        self._in_flight += 1
        return Job(
            partial(batch.commit, self._database),
            partial(self._deliver, batch),
            follow_ups=batch.ended_runs,
            undone=partial(batch.undo, self._database),
        )

    def _deliver(self, batch: CommitBatch, result: Exception | None) -> None:
        self._in_flight -= 1
        if result is not None and not isinstance(result, StorageFull):  # the writer of the file has logged that
            logger.error("cannot write the log", exc_info=result)
        batch.deliver(result)
        if not self._is_empty and self._timer is None:
            self._schedule(is_quiet=False)


def commit_interval(runs: int, *, is_shared: bool) -> float:
    per_run, longest = (
        (SHARED_COMMIT_INTERVAL_PER_RUN_S, MAX_SHARED_COMMIT_INTERVAL_S)
        if is_shared
        else (COMMIT_INTERVAL_PER_RUN_S, MAX_COMMIT_INTERVAL_S)
    )
    return min(longest, max(MIN_COMMIT_INTERVAL_S, per_run * runs))


class SqliteRunWriter:
    """Writes one run under one epoch.

    After a failure it commits nothing more; but end events can still be appended, so that followers receive them.
    The thread sets the `key` of a new run.
    """

    __slots__ = ("_enqueue", "_execute", "epoch", "failure", "has_failed", "key", "run")

    def __init__(self, run: RunBuffer, key: int, epoch: int, enqueue: Enqueue, execute: Execute) -> None:
        self._execute = execute
        self.run = run
        self.key = key
        self.epoch = epoch
        self.has_failed = False  # set by the thread, which drops entries that are still queued
        self.failure: RightseatError | None = None
        self._enqueue = enqueue

    async def append(self, event: Event) -> Entry:
        run = self.run
        if self.failure is not None:
            return self._append_uncommitted(event, self.failure)
        text = codec.encode(event)
        entry = run.next_entry(self.epoch, event)
        self._enqueue(self, PendingEntry(entry, text))
        if len(text) > LARGE_ENTRY_BYTES:
            run.large_seq = entry.seq
        elif entry.seq - run.dropped <= MAX_READER_LAG:
            return entry
        if run.is_full() and not isinstance(event, END_EVENTS):
            await run.wait_for_capacity(self.epoch)
        return entry

    def append_nowait(self, event: Event) -> Entry:
        if self.failure is not None:
            return self._append_uncommitted(event, self.failure)
        text = codec.encode(event)
        entry = self.run.next_entry(self.epoch, event)
        self._enqueue(self, PendingEntry(entry, text))
        return entry

    async def flush(self) -> None:
        await self._execute(lambda _: None)  # returns when everything queued before is committed
        if self.failure is not None:
            raise self.failure

    def publish(self, entries: list[PendingEntry]) -> None:
        run = self.run
        run.publish_all([item.entry for item in entries])
        if not run.readers and (len(run.entries) > MAX_UNCOMMITTED_ENTRIES or run.large_seq > run.dropped):
            run.drop_entries()
        run.wake_writer()

    def fail(self, failure: RightseatError) -> None:
        """Free the numbers of entries that were not committed: no reader has seen them."""
        self.failure = failure
        self.run.seq = self.run.large_seq = self.run.visible_seq
        self.run.wake_writer()

    def shut_out(self, stale: StaleWriter) -> None:
        """Another process has the run: the thread drops entries that are still queued."""
        self.has_failed = True
        if self.failure is None:
            self.failure = stale

    @property
    def is_shut_out(self) -> bool:
        return isinstance(self.failure, StaleWriter)

    def _append_uncommitted(self, event: Event, failure: RightseatError) -> Entry:
        if isinstance(failure, StaleWriter) or not isinstance(event, END_EVENTS):
            raise failure
        entry = self.run.next_entry(self.epoch, event)
        self.run.publish(entry)
        return entry
