"""The one thread that writes to the SQLite file, a few milliseconds' worth per transaction.

Entries that are queued while it sleeps or writes become the next transaction. An entry is published once its
transaction is committed, not before: so whatever a reader has received survives a kill of the process. When there is
little to write, the next entry is committed almost at once.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar, final

from rightseat.core.errors import LogWriteFailed, RightseatError, RunExists, StaleWriter
from rightseat.core.events import Event
from rightseat.core.log import Entry
from rightseat.core.stream import codec
from rightseat.logs.run_buffer import END_EVENTS, LARGE_ENTRY_BYTES, MAX_READER_LAG, MAX_UNCOMMITTED_ENTRIES, RunBuffer
from rightseat.logs.sqlite.database import EntryRow, LogDatabase

logger = logging.getLogger(__name__)

MAX_COMMIT_INTERVAL_S = 0.02  # what is appended within it is committed together, and no reader sees the difference
COMMIT_INTERVAL_PER_RUN_S = 0.002  # a single run is committed at once, many runs wait for each other

T = TypeVar("T")
Execute = Callable[[Callable[[LogDatabase], None]], Coroutine[Any, Any, None]]


@final
class PendingEntry(NamedTuple):
    writer: "SqliteRunWriter"
    entry: Entry
    text: bytes


@final
class PendingRun(NamedTuple):
    """The row of a run that this process has created, for the transaction of its first entries."""

    writer: "SqliteRunWriter"


@final
class Job(NamedTuple):
    work: Callable[[LogDatabase], Any]
    future: "asyncio.Future[Any]"


@dataclass(slots=True)
class CommitBatch:
    """The work of one transaction, and its results."""

    new_runs: "list[SqliteRunWriter]" = field(default_factory=list)
    entries: "dict[SqliteRunWriter, list[PendingEntry]]" = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    failures: "dict[SqliteRunWriter, RightseatError]" = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    is_last: bool = False

    def add(self, item: PendingEntry | PendingRun | Job | None) -> None:
        if type(item) is PendingEntry:
            if not item.writer.has_failed:  # else there would be a gap
                self.entries.setdefault(item.writer, []).append(item)
        elif type(item) is Job:
            self.jobs.append(item)
        elif type(item) is PendingRun:
            self.new_runs.append(item.writer)
        else:
            self.is_last = True

    def rows(self) -> list[EntryRow]:
        """One row for each writer, with all its entries of this batch."""
        return [
            (writer.key, writer.epoch, entries[0].entry.seq, f"[{b','.join([item.text for item in entries]).decode()}]")
            for writer, entries in self.entries.items()
            if writer not in self.failures
        ]

    def fail(self, writer: "SqliteRunWriter", error: RightseatError) -> None:
        writer.has_failed = True
        self.failures[writer] = error

    def deliver(self) -> None:
        """Called in the event loop: publish committed entries, and complete the futures of the jobs."""
        for writer, error in self.failures.items():
            writer.fail(error)
        for writer, entries in self.entries.items():
            if writer not in self.failures:
                writer.publish(entries)
        for (_, future), result in zip(self.jobs, self.results, strict=True):
            if future.done():
                continue  # its caller was cancelled
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


class CommitThread:
    def __init__(self, path: Path) -> None:
        self._queue: SimpleQueue[PendingEntry | PendingRun | Job | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._database = LogDatabase(path)
        self._thread = threading.Thread(target=self._run, name="rightseat log", daemon=True)
        self._thread.start()

    def open_writer(self, run: RunBuffer, key: int, epoch: int) -> "SqliteRunWriter":
        return SqliteRunWriter(run, key, epoch, self._queue.put, self.execute)

    def open_new_writer(self, run: RunBuffer, epoch: int) -> "SqliteRunWriter":
        """For a run that the file does not have yet. It is written with its first entries."""
        writer = self.open_writer(run, 0, epoch)
        self._queue.put(PendingRun(writer))
        return writer

    async def execute(self, work: Callable[[LogDatabase], T]) -> T:
        """Do the work after everything that was queued before. Returns when it is committed."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Job(work, future))
        return await future

    async def close(self) -> None:
        """Writes everything that is queued first."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # Everything below runs in the thread.

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = self._take_batch()
            self._commit(batch)
            self._loop.call_soon_threadsafe(batch.deliver)
            is_open = not batch.is_last
            if batch.entries and is_open:
                time.sleep(min(MAX_COMMIT_INTERVAL_S, COMMIT_INTERVAL_PER_RUN_S * len(batch.entries)))
        self._database.close()

    def _take_batch(self) -> CommitBatch:
        batch = CommitBatch()
        batch.add(self._queue.get())
        while not self._queue.empty():
            batch.add(self._queue.get())
        return batch

    def _commit(self, batch: CommitBatch) -> None:
        """All in one transaction: new runs, then entries, then the jobs, which may write the end of a run."""
        try:
            with self._database.transaction():
                for writer in batch.new_runs:
                    self._create(batch, writer)
                stale = self._database.append(batch.rows())
                batch.results = [self._execute(job) for job in batch.jobs]
        except Exception as error:  # whatever it is: waiting callers must fail, and the thread must continue
            logger.exception("cannot write the log")
            self._fail_batch(batch, LogWriteFailed(str(error)))
            return
        for writer in batch.entries:
            if writer.key in stale:
                batch.fail(writer, StaleWriter(writer.run.id, writer.epoch, stale[writer.key]))

    def _create(self, batch: CommitBatch, writer: "SqliteRunWriter") -> None:
        try:
            writer.key = self._database.create(writer.run.id, writer.epoch)
        except RunExists:  # another process has created it meanwhile
            batch.fail(writer, StaleWriter(writer.run.id, writer.epoch, writer.epoch))

    def _execute(self, job: Job) -> Any:
        try:
            return job.work(self._database)
        except RightseatError as error:
            return error  # of this job alone

    def _fail_batch(self, batch: CommitBatch, error: LogWriteFailed) -> None:
        for writer in (*batch.new_runs, *batch.entries):
            batch.fail(writer, error)
        batch.results = [error] * len(batch.jobs)


class SqliteRunWriter:
    """Writes one run under one epoch.

    After a failure it commits nothing more; but end events can still be appended, so that followers receive them.
    The thread sets the `key` of a new run.
    """

    __slots__ = ("_enqueue", "_execute", "epoch", "failure", "has_failed", "key", "run")

    def __init__(
        self, run: RunBuffer, key: int, epoch: int, enqueue: Callable[[PendingEntry], None], execute: Execute
    ) -> None:
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
        self._enqueue(PendingEntry(self, entry, text))
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
        self._enqueue(PendingEntry(self, entry, text))
        return entry

    async def flush(self) -> None:
        await self._execute(lambda _: None)  # returns when everything queued before is committed
        if self.failure is not None:
            raise self.failure

    def publish(self, entries: list[PendingEntry]) -> None:
        run = self.run
        for item in entries:
            run.publish(item.entry)
        if not run.readers and (len(run.entries) > MAX_UNCOMMITTED_ENTRIES or run.large_seq > run.dropped):
            run.drop_entries()
        run.wake_writer()

    def fail(self, failure: RightseatError) -> None:
        """Free the numbers of entries that were not committed: no reader has seen them."""
        self.failure = failure
        self.run.seq = self.run.large_seq = self.run.visible_seq
        self.run.wake_writer()

    def _append_uncommitted(self, event: Event, failure: RightseatError) -> Entry:
        if isinstance(failure, StaleWriter) or not isinstance(event, END_EVENTS):
            raise failure
        entry = self.run.next_entry(self.epoch, event)
        self.run.publish(entry)
        return entry
