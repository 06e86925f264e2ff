"""The one thread that writes to the file, a few milliseconds' worth at a time.

What is handed over while it sleeps or writes becomes the next transaction. An entry is shown once its transaction is
committed, and not before: whatever anyone has seen is still there when the process is killed in the next moment.
When little is going on, the next entry is written almost at once.
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

from rightseat.core import codec
from rightseat.core.errors import LogUnwritable, RightseatError, StaleWriter
from rightseat.core.events import Event
from rightseat.core.log import Entry
from rightseat.logs.journal import Journal, Row
from rightseat.logs.live import BACKLOG, ENDINGS, LARGE_ENTRY_BYTES, LEAD, Run

logger = logging.getLogger(__name__)

PAUSE = 0.02  # seconds, at most; what is said within them is written together, and nobody sees the difference
EACH = 0.002  # of them for each run that speaks: one alone is shown at once, many wait for each other

T = TypeVar("T")
Do = Callable[[Callable[[Journal], None]], Coroutine[Any, Any, None]]


@final
class Said(NamedTuple):
    pen: "Pen"
    entry: Entry
    text: bytes


@final
class Job(NamedTuple):
    work: Callable[[Journal], Any]
    future: "asyncio.Future[Any]"


@dataclass(slots=True)
class Batch:
    """What one transaction does, and then what came of it."""

    said: "dict[Pen, list[Said]]" = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    failures: "dict[Pen, RightseatError]" = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    is_last: bool = False

    def add(self, item: Said | Job | None) -> None:
        if type(item) is Said:
            if not item.pen.is_broken:  # else there would be a gap
                self.said.setdefault(item.pen, []).append(item)
        elif type(item) is Job:
            self.jobs.append(item)
        else:
            self.is_last = True

    def rows(self) -> list[Row]:
        """One for each pen. What was said in one breath is kept in one piece."""
        return [
            (pen.key, pen.epoch, said[0].entry.seq, f"[{b','.join([one.text for one in said]).decode()}]")
            for pen, said in self.said.items()
        ]

    def fail(self, pen: "Pen", error: RightseatError) -> None:
        pen.is_broken = True
        self.failures[pen] = error

    def deliver(self) -> None:
        """In the loop again: show what is kept, and say how the jobs went."""
        for pen, said in self.said.items():
            if pen in self.failures:
                pen.withdraw(self.failures[pen])
            else:
                pen.show(said)
        for (_, future), result in zip(self.jobs, self.results, strict=True):
            if future.done():
                continue  # whoever asked has gone
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


class Committer:
    def __init__(self, path: Path) -> None:
        self._queue: SimpleQueue[Said | Job | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._journal = Journal(path)
        self._thread = threading.Thread(target=self._run, name="rightseat log", daemon=True)
        self._thread.start()

    def pen(self, run: Run, key: int, epoch: int) -> "Pen":
        return Pen(run, key, epoch, self._queue.put, self.do)

    async def do(self, work: Callable[[Journal], T]) -> T:
        """Have it done behind everything that was written before. Returns when it is committed."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Job(work, future))
        return await future

    async def close(self) -> None:
        """Everything that was handed over is written first."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # The rest is done by the thread.

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = self._next()
            self._commit(batch)
            self._loop.call_soon_threadsafe(batch.deliver)
            is_open = not batch.is_last
            if batch.said and is_open:
                time.sleep(min(PAUSE, EACH * len(batch.said)))
        self._journal.close()

    def _next(self) -> Batch:
        batch = Batch()
        batch.add(self._queue.get())
        while not self._queue.empty():
            batch.add(self._queue.get())
        return batch

    def _commit(self, batch: Batch) -> None:
        """All in one transaction: what was said, then the jobs, which may be about its end."""
        try:
            with self._journal.transaction():
                stale = self._journal.append(batch.rows())
                batch.results = [self._do(job) for job in batch.jobs]
        except Exception as error:  # whatever it is: those who wait must be told, and the thread goes on
            logger.exception("the log cannot be written")
            self._give_up(batch, LogUnwritable(str(error)))
            return
        for pen in batch.said:
            if pen.key in stale:
                batch.fail(pen, StaleWriter(pen.run.id, pen.epoch, stale[pen.key]))

    def _do(self, job: Job) -> Any:
        try:
            return job.work(self._journal)
        except RightseatError as error:
            return error  # of this job alone

    def _give_up(self, batch: Batch, error: LogUnwritable) -> None:
        for pen in batch.said:
            batch.fail(pen, error)
        batch.results = [error] * len(batch.jobs)


class Pen:
    """The writer of one run under one epoch.

    Once something that it wrote could not be kept, it writes nothing more; but the run can still be ended, so that
    those who follow are told.
    """

    __slots__ = ("_do", "_put", "epoch", "failure", "is_broken", "key", "run")

    def __init__(self, run: Run, key: int, epoch: int, put: Callable[[Said], None], do: Do) -> None:
        self._do = do
        self.run = run
        self.key = key
        self.epoch = epoch
        self.is_broken = False  # the thread's: what is still on its way is dropped
        self.failure: RightseatError | None = None
        self._put = put

    async def append(self, event: Event) -> Entry:
        run = self.run
        if self.failure is not None:
            return self._append_unkept(event, self.failure)
        text = codec.encode(event)
        entry = run.next(self.epoch, event)
        self._put(Said(self, entry, text))
        if len(text) > LARGE_ENTRY_BYTES:
            run.large_seq = entry.seq
        elif entry.seq - run.forgotten <= LEAD:
            return entry
        if run.is_crowded() and not isinstance(event, ENDINGS):
            await run.wait_for_room(self.epoch)
        return entry

    async def flush(self) -> None:
        await self._do(lambda _: None)  # what was put in before is in the file then
        if self.failure is not None:
            raise self.failure

    def show(self, said: list[Said]) -> None:
        run = self.run
        for one in said:
            run.show(one.entry)
        if not run.readers and (len(run.entries) > BACKLOG or run.large_seq > run.forgotten):
            run.forget()
        run.let_writer_go()

    def withdraw(self, failure: RightseatError) -> None:
        """Nobody has seen what could not be kept: its numbers are free again."""
        self.failure = failure
        self.run.seq = self.run.large_seq = self.run.shown
        self.run.let_writer_go()

    def _append_unkept(self, event: Event, failure: RightseatError) -> Entry:
        if isinstance(failure, StaleWriter) or not isinstance(event, ENDINGS):
            raise failure
        entry = self.run.next(self.epoch, event)
        self.run.show(entry)
        return entry
