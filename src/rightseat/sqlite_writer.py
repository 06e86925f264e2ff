"""The one thread that writes to a SQLite file, for all parts of this process that write to it.

The store and the log usually have the same file. With a connection for each, one could wait for the other's lock until
its run fails, because SQLite's lock is not fair. Here their jobs queue: whatever arrives while the thread writes is in
its next transaction. Each job sees the changes of those before it, and one that fails is undone alone.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, Self, TypeVar, final
from weakref import WeakKeyDictionary

from rightseat.core.full_storage import explain_full_storage, is_storage_full
from rightseat.erasure import overwrite_deleted
from rightseat.outages import OutageLog

logger = logging.getLogger(__name__)

T = TypeVar("T")
Kind = Literal["write", "read", "early"]

BUSY_TIMEOUT_S = 60.0  # while another process writes to the file: a run waits rather than fails
MAX_BATCH = 50
"""Jobs in one transaction, so that the first does not wait long for its commit."""
FOLLOW_UP_TIMEOUT_S = 0.005


@final
class Job:
    """`do` is called in the thread, `done` in the event loop with its result or exception.

    The result of an `early` job is delivered before the commit. The transaction then stays open for a few milliseconds,
    for a job that counts as one of its `follow_ups`. `undone` is called in the thread if its changes are rolled back.
    """

    __slots__ = ("do", "done", "follow_ups", "future", "is_delivered", "kind", "result", "undone")

    def __init__(
        self,
        do: Callable[[], Any],
        done: Callable[[Any], None],
        *,
        kind: Kind = "write",
        future: "asyncio.Future[Any] | None" = None,
        follow_ups: int = 0,
        undone: Callable[[], None] | None = None,
    ) -> None:
        self.do = do
        self.done = done
        self.kind = kind
        self.future = future
        self.follow_ups = follow_ups
        self.undone = undone
        self.result: Any = None
        self.is_delivered = False

    @property
    def is_wanted(self) -> bool:
        return self.future is None or not self.future.cancelled()


class SqliteWriter:
    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        # The operating system has a commit when it returns: killing the process loses nothing. A power cut may lose
        # the last seconds, but does not corrupt the file.
        self.connection.execute("PRAGMA synchronous = NORMAL")
        overwrite_deleted(self.connection)
        self.take_pending: Callable[[], Job | None] | None = None
        """Called in the event loop before a write: returns a job for the same transaction."""
        self.open_logs: set[str] = set()
        """Runs whose log in this file is being written: the end of the log follows the end of the run."""
        self._path = path.resolve()
        self._outage = OutageLog(f"the disk of {self._path}", logger)
        self._parts: set[str] = set()
        self._queue: SimpleQueue[tuple[Job, ...] | None] = SimpleQueue()
        self._submitted = self._retried = self._taken = self._finished = 0
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="rightseat sqlite", daemon=True)
        self._thread.start()

    @classmethod
    def share(cls, path: Path, part: str) -> Self:
        """The writer of the file in this event loop. Two parts of the same name do not share one."""
        writers = _shared_writers.setdefault(asyncio.get_running_loop(), {})
        found = writers.get(path.resolve())
        if not isinstance(found, cls) or part in found._parts:
            found = cls(path)
            writers[found._path] = found
        found._parts.add(part)
        return found

    async def close(self, part: str = "") -> None:
        """Returns when everything queued before is written. The last part closes the connection."""
        self._parts.discard(part)
        if self._parts:
            return await self.read(lambda: None)
        writers = _shared_writers.get(self._loop, {})
        if writers.get(self._path) is self:
            del writers[self._path]
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self.connection.close()

    async def write(self, do: Callable[[], T], *, is_early: bool = False) -> T:
        """Returns when it is committed. A job whose caller is cancelled before it begins is not done."""
        pending = self.take_pending() if self.take_pending else None
        return await self._execute(do, "early" if is_early else "write", pending)

    async def read(self, do: Callable[[], T]) -> T:
        """Outside the transactions of this thread, after everything that was queued before."""
        return await self._execute(do, "read")

    async def _execute(self, do: Callable[[], T], kind: Kind, before: Job | None = None) -> T:
        future: asyncio.Future[T] = self._loop.create_future()
        job = Job(do, lambda result: settle(future, result), kind=kind, future=future)
        self.submit(*((job,) if before is None else (before, job)))
        return await future

    def submit(self, *jobs: Job) -> None:
        """They are executed in one transaction."""
        self._submitted += len(jobs)
        self._queue.put(jobs)

    @property
    def is_idle(self) -> bool:
        """Whether all that was submitted is committed, so that other connections see it."""
        return self._finished == self._submitted + self._retried

    # Everything below runs in the thread.

    def _run(self) -> None:
        is_open = True
        while is_open:
            taken, is_open = self._take()
            self._taken += len(taken)
            jobs = [job for job in taken if job.is_wanted]
            reads = [job for job in jobs if job.kind == "read"]
            writes = [job for job in jobs if job.kind != "read"]
            if writes:
                self._write(writes, reads)
            for job in reads:
                job.result = attempt(job.do)
            self._finished = self._taken
            self._loop.call_soon_threadsafe(deliver, [*writes, *reads])

    def _take(self) -> tuple[Sequence[Job], bool]:
        """The next jobs, and whether more may follow."""
        taken: list[Job] = []
        item = self._queue.get()
        try:
            while item is not None:
                taken += item
                if len(taken) >= MAX_BATCH:
                    return taken, True
                item = self._queue.get_nowait()
        except Empty:
            return taken, True
        return taken, False

    def _write(self, writes: list[Job], reads: list[Job]) -> None:
        """One transaction. Adds jobs to the lists that arrive while it waits for follow-ups."""
        execute = self.connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            if len(writes) == 1 and writes[0].kind == "write":
                writes[0].result = writes[0].do()  # the transaction is its savepoint
            else:
                for job in writes:
                    self._attempt(job)
                self._await_follow_ups(writes, reads)
            execute("COMMIT")
            self._outage.recover()
        except Exception as error:  # whatever it is: callers must not wait for ever, and the thread must continue
            self._roll_back(writes, error)

    def _attempt(self, job: Job) -> None:
        execute = self.connection.execute
        execute("SAVEPOINT job")
        job.result = attempt(job.do)
        if isinstance(job.result, Exception):
            if not self.connection.in_transaction:
                raise job.result  # SQLite has rolled back everything: the disk is full, or fails
            execute("ROLLBACK TO job")
            if job.undone is not None:
                job.undone()
        execute("RELEASE job")

    def _await_follow_ups(self, writes: list[Job], reads: list[Job]) -> None:
        """Deliver the results of early jobs, and execute what arrives until each has its follow-up."""
        awaited, position, until = 0, 0, time.monotonic() + FOLLOW_UP_TIMEOUT_S
        while True:
            for job in writes[position:]:
                awaited -= job.follow_ups
                if job.kind == "early" and not isinstance(job.result, Exception):
                    awaited, job.is_delivered = awaited + 1, True
                    self._loop.call_soon_threadsafe(job.done, job.result)
            position = len(writes)
            left = until - time.monotonic()
            if awaited <= 0 or left <= 0 or reads:
                return
            try:
                item = self._queue.get(timeout=left)
            except Empty:
                return
            if item is None:
                return self._queue.put(None)
            self._taken += len(item)
            for job in [job for job in item if job.is_wanted]:
                if job.kind == "read":
                    reads.append(job)
                else:
                    self._attempt(job)
                    writes.append(job)

    def _roll_back(self, writes: Sequence[Job], error: Exception) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        if is_storage_full(error):
            self._outage.fail(error)
        for job in writes:
            job.result = error
            if job.undone is not None:
                job.undone()
            if job.is_delivered:  # its caller believes that it is committed
                logger.error("cannot write to %s, retrying once: %s", self._path, error)
                self._retried += 1
                self._queue.put((Job(job.do, ignore),))


def attempt(do: Callable[[], Any]) -> Any:
    try:
        return do()
    except Exception as error:
        return error


def deliver(jobs: Sequence[Job]) -> None:
    """Called in the event loop."""
    for job in jobs:
        if not job.is_delivered:
            is_error = isinstance(job.result, Exception)
            job.done(explain_full_storage(job.result) if is_error else job.result)


def settle(future: "asyncio.Future[Any]", result: Any) -> None:
    if future.done():
        return  # its caller was cancelled
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def ignore(_: object) -> None:
    pass


_shared_writers: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Path, SqliteWriter]]" = WeakKeyDictionary()
"""The only state at module level: parts are built independently, and find each other by the file they write."""
