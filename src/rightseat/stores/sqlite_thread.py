"""The one thread that uses the SQLite file of the store. Runs that start or end at once share a transaction.

Whatever is queued while the thread writes becomes its next transaction. Each piece of work sees the changes of those
before it, and one that fails is undone alone.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar, cast, final

from sqlalchemy import Connection

T = TypeVar("T")

MAX_BATCH = 50
"""Pieces of work in one transaction: meanwhile the log cannot write to the file."""


@final
class Work(NamedTuple):
    do: Callable[[Connection], Any]
    is_write: bool
    future: "asyncio.Future[Any]"


Result = tuple[Work, Any]


class SqliteThread:
    def __init__(self, writing: Connection, reading: Connection) -> None:
        self._writing = writing
        self._reading = reading
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="rightseat store", daemon=True)
        self._thread.start()

    async def write(self, do: Callable[[Connection], T]) -> T:
        """Returns when it is committed. Work whose caller is cancelled before it begins is not done."""
        return await self._execute(do, is_write=True)

    async def read(self, do: Callable[[Connection], T]) -> T:
        """In a transaction of its own, so that it sees one snapshot."""
        return await self._execute(do, is_write=False)

    async def _execute(self, do: Callable[[Connection], T], *, is_write: bool) -> T:
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Work(do, is_write, future))
        return await future

    async def close(self) -> None:
        """Does first what is queued."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._writing.close()
        self._reading.close()

    # Everything below runs in the thread.

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = self._take_batch()
            is_open = None not in batch
            work = [one for one in batch if one is not None and not one.future.cancelled()]
            results = self._write([one for one in work if one.is_write])
            results += [(one, self._read(one)) for one in work if not one.is_write]
            self._loop.call_soon_threadsafe(deliver, results)

    def _take_batch(self) -> Sequence[Work | None]:
        batch = [self._queue.get()]
        try:
            while batch[-1] is not None and len(batch) < MAX_BATCH:
                batch.append(self._queue.get_nowait())
        except Empty:
            pass
        return batch

    def _write(self, work: Sequence[Work]) -> list[Result]:
        if not work:
            return []
        try:
            with self._writing.begin():
                return [(one, self._attempt(one)) for one in work]
        except Exception as error:  # whatever it is: callers must not wait for ever, and the thread must continue
            return [(one, error) for one in work]

    def _attempt(self, work: Work) -> Any:
        driver = cast(sqlite3.Connection, self._writing.connection.driver_connection)
        driver.execute("SAVEPOINT work")
        try:
            result = work.do(self._writing)
        except Exception as error:
            driver.execute("ROLLBACK TO work")
            result = error
        driver.execute("RELEASE work")
        return result

    def _read(self, work: Work) -> Any:
        try:
            with self._reading.begin():
                return work.do(self._reading)
        except Exception as error:
            return error


def deliver(results: Sequence[Result]) -> None:
    """Called in the event loop."""
    for work, result in results:
        if work.future.done():
            continue  # its caller was cancelled
        if isinstance(result, Exception):
            work.future.set_exception(result)
        else:
            work.future.set_result(result)
