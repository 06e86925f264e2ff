"""A log on a server that several processes share. `logs.redis` and `logs.postgres` are this with their own backends.

A run that this process writes is published to local followers as soon as the server has acknowledged it, without being
read back. Any other run is read from the server: first the existing records, then new ones. Followers do not notice
when a run moves to another process. Transient runs never leave the process.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Self, TypeVar

from rightseat.concurrency import aclosing, cancel_and_wait, run_to_completion
from rightseat.core import errors
from rightseat.core.log import Entry, ImmediateSink, Writer, position
from rightseat.logs.memory import MemoryLog
from rightseat.logs.shared.backend import BackendUnavailable, Claim, LogBackend, SupportsChanges
from rightseat.logs.shared.backoff import Backoff
from rightseat.logs.shared.records import START, Cursor, RecordPage
from rightseat.logs.shared.run import SharedRun
from rightseat.logs.shared.sender import Sender
from rightseat.logs.shared.subscriber import Subscriber
from rightseat.logs.shared.unfinished import UnfinishedEnds
from rightseat.logs.shared.writer import SharedRunWriter
from rightseat.operations.changes import ChangeBus
from rightseat.operations.database_metrics import ObserveOperation, PoolState, ReportsDatabase

logger = logging.getLogger(__name__)

T = TypeVar("T")

CLEANUP_INTERVAL_S = 20.0
OPEN_TIMEOUT_S = 1.0  # a run that was created here is opened within it, here or in another process
CREATE_TIMEOUT_S = 2.0  # a new run starts within it or is refused: another process may reach the server
REREAD_INTERVAL_S = 0.01  # before the server is read again for records that it should have
NOT_OPEN = (
    "The log is not open. A server opens it; a program without a server does so with `async with copilot.opened():`."
)


class SharedLog:
    def __init__(self, backend: LogBackend, timeout: float) -> None:
        """`timeout`: how many seconds a run waits for an unavailable server before it fails."""
        self._backend = backend
        self._timeout = timeout
        self._transient = MemoryLog()
        self._runs: dict[str, SharedRun] = {}
        self._unfinished_ends = UnfinishedEnds(backend)
        self._opened: tuple[Sender, Subscriber] | None = None

    def observe_operations(self, observe: ObserveOperation) -> None:
        if isinstance(self._backend, ReportsDatabase):
            self._backend.observe_operations(observe)

    def pool_states(self) -> Sequence[PoolState]:
        return self._backend.pool_states() if isinstance(self._backend, ReportsDatabase) else ()

    def changes(self, *, is_command: bool = False) -> ChangeBus | None:
        return self._backend.changes() if isinstance(self._backend, SupportsChanges) else None

    async def __aenter__(self) -> Self:
        await self._backend.open()
        self._opened = Sender(self._backend, self._timeout, self._release_stale), Subscriber(self._backend)
        self._cleanup_task = asyncio.create_task(self._clean_up_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._cleanup_task)
        await self._sender.close()
        await self._unfinished_ends.close()
        await self._subscriber.close()
        await self._backend.close()
        self._opened = None

    @property
    def _sender(self) -> Sender:
        if self._opened is None:
            raise errors.NotConfigured(NOT_OPEN)
        return self._opened[0]

    @property
    def _subscriber(self) -> Subscriber:
        if self._opened is None:
            raise errors.NotConfigured(NOT_OPEN)
        return self._opened[1]

    # Writing

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if transient or run_id in self._transient:
            return await self._transient.create(run_id, transient=True)
        await self._retry(partial(self._backend.create, run_id, new_idempotency_key()), CREATE_TIMEOUT_S)
        run = self._runs[run_id] = SharedRun(Cursor(run_id), self._read_page)
        asyncio.get_running_loop().call_later(OPEN_TIMEOUT_S, self._follow_elsewhere, run)

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        if run_id in self._transient:
            return self._transient.open(run_id, epoch, base=base)
        return self._open(run_id, epoch, base)

    @asynccontextmanager
    async def _open(self, run_id: str, epoch: int, base: int | None) -> AsyncIterator[Writer]:
        writer = await run_to_completion(self._claim(run_id, epoch, base))
        try:
            yield writer
        except errors.StaleWriter as stale:  # the store may detect it before the log does
            writer.fail(stale)
            raise
        finally:
            await run_to_completion(self._end(writer))

    async def _claim(self, run_id: str, epoch: int, base: int | None) -> SharedRunWriter:
        if run := self._runs.get(run_id):
            if base is None or run.epoch != epoch:  # with a base, this epoch may have found the log lost before
                run.fence(epoch)  # now, not after the entries that the old writer appends meanwhile
            if run.is_written_here:
                await self._sender.flush()
        outages = self._sender.outages
        claim = await self._retry(partial(self._backend.claim, run_id, epoch, base, new_idempotency_key()))
        run = await self._catch_up(run_id, epoch, claim)
        run.seq = run.visible_seq  # the server refuses what an earlier writer had still to send
        run.is_written_here = True
        return SharedRunWriter(run, epoch, claim.fence, self._sender.queue, outages, self._sender.flush)

    async def _catch_up(self, run_id: str, epoch: int, claim: Claim) -> SharedRun:
        """The run, after publishing all entries before the fence to local followers."""
        run = self._runs.get(run_id)
        self._subscriber.remove(run_id)
        if run is not None and run.cursor.last_entry == claim.last_entry:
            run.cursor.position = claim.fence  # there are no entries in between
        while run is not None and not run.ended and run.cursor.position < claim.fence:
            page = await self._read_page(run.cursor)
            run.feed([record for record in page.records if record.position <= claim.fence])
        if run is None or run.ended:
            run = self._runs[run_id] = SharedRun(Cursor(run_id, claim.fence, claim.last_entry), self._read_page)
        if run.epoch < epoch:
            run.fence(epoch)
        return run

    async def _end(self, writer: SharedRunWriter) -> None:
        """Write the end after the last entry. Local followers come to an end even if this fails."""
        run = writer.run
        try:
            if writer.failure is None:
                await self._sender.queue.put_end(writer)
        except errors.RightseatError as error:
            if not isinstance(error, errors.StaleWriter):
                logger.error("cannot write the end of run %s: %s", run.id, error)
        if isinstance(writer.failure, errors.StaleWriter):
            self._release_stale(writer)
        elif run.epoch == writer.epoch:
            run.end()
            self._drop(run)
        if isinstance(writer.failure, errors.LogWriteFailed):
            self._unfinished_ends.add(writer)

    def _release_stale(self, writer: SharedRunWriter) -> None:
        """If another process has claimed the run, local followers continue with that process's records."""
        run = writer.run
        if isinstance(writer.failure, errors.StaleWriter) and run.epoch == writer.epoch and run.is_written_here:
            run.is_written_here = False
            self._follow_elsewhere(run)

    def _follow_elsewhere(self, run: SharedRun) -> None:
        if run.is_written_here or run.ended or self._runs.get(run.id) is not run or self._opened is None:
            return
        if run.readers and run.id not in self._subscriber:
            self._subscriber.add(run)
        elif not run.readers:
            self._drop(run)

    def _drop(self, run: SharedRun) -> None:
        if self._runs.get(run.id) is run:
            del self._runs[run.id]
            self._subscriber.remove(run.id)

    # Reading

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        if run_id in self._transient:
            return await self._transient.read(run_id, after)
        if run_id in self._runs:
            await self._sender.flush()  # so that the server has all entries that were appended before
        cursor, entries = Cursor(run_id, position(after) if after else START), list[Entry]()
        while True:
            page = await self._read_page(cursor)
            entries += cursor.read(page.records)
            if cursor.truncated:
                raise cursor.truncated
            if page.is_last:
                return entries

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        if run_id in self._transient:
            return self._transient.follow(run_id, after, tap)
        return self._follow(Cursor(run_id, position(after) if after else START), tap)

    async def _follow(self, cursor: Cursor, tap: ImmediateSink | None) -> AsyncGenerator[Sequence[Entry], None]:
        while True:
            run = self._find_active(cursor.run_id)
            if run and run.can_serve(cursor):
                break
            page = await self._read_page(cursor)
            if entries := cursor.read(page.records):
                yield entries
            if cursor.truncated:
                raise cursor.truncated
            if page.is_last and cursor.is_ended:
                return
            if not page.is_last:
                continue
            run = self._find_active(cursor.run_id)
            if run is None:
                self._subscribe_to(cursor)
            elif run.is_behind(cursor):
                await self._advance(run)
            elif not page.records:
                await asyncio.sleep(REREAD_INTERVAL_S)  # the server should have more, and does not report a loss
        try:
            async with aclosing(run.follow(cursor.seq, tap)) as batches:
                async for batch in batches:
                    yield batch
        finally:
            if run.ended or (not run.readers and run.id in self._subscriber):
                self._drop(run)
        if run.failure:
            raise run.failure

    def _find_active(self, run_id: str) -> SharedRun | None:
        """The run if it has neither ended nor failed."""
        run = self._runs.get(run_id)
        return None if run is None or run.ended else run

    def _subscribe_to(self, cursor: Cursor) -> None:
        """Another process writes the run: from here on its records are pushed."""
        run = self._runs[cursor.run_id] = SharedRun(cursor.copy(), self._read_page)
        self._subscriber.add(run)

    async def _advance(self, run: SharedRun) -> None:
        """Bring a copy up to the server's last record. If its log was lost, the copy fails, and with it its readers."""
        before = run.cursor.position
        try:
            page = await self._read_page(run.cursor)
        except (errors.LogTruncated, errors.RunNotFound) as lost:
            return run.fail(lost)
        if run.cursor.position == before and not run.ended and not run.is_written_here:  # else another task did so
            run.feed(page.records)

    async def _read_page(self, cursor: Cursor) -> RecordPage:
        """The records after the cursor, which does not move yet."""
        read = partial(self._backend.read, cursor.run_id, cursor.position, cursor.page_records)
        page = await self._retry(read)
        cursor.fit_page(page)
        return page

    # Deleting

    async def delete(self, run_ids: Sequence[str]) -> None:
        await self._transient.delete(run_ids)
        for run_id in run_ids:
            if (run := self._find_active(run_id)) and run.readers and not run.is_written_here:
                await self._receive_rest(run)
        await self._retry(partial(self._backend.delete, run_ids))
        for run in [self._runs[run_id] for run_id in run_ids if run_id in self._runs]:
            if not run.is_written_here:
                run.end()
                self._drop(run)

    async def keep_judged(self, run_id: str) -> None:
        try:
            await self._backend.keep_judged(run_id)
        except BackendUnavailable as problem:
            logger.warning("run %s is judged, but the log deletes it as soon as others: %s", run_id, problem)

    async def _receive_rest(self, run: SharedRun) -> None:
        """Its followers receive the end of a run that is deleted: the subscription may be some milliseconds behind."""
        before = None
        while run.cursor.position != before and not run.ended:
            before = run.cursor.position
            await self._advance(run)

    async def expect_writer(self, run_ids: Sequence[str]) -> None:
        """Does nothing: followers always wait for the end of a run, because any process may resume it."""

    def stop_followers(self) -> None:
        for run in [run for run in self._runs.values() if not run.is_written_here]:
            run.end()
            self._drop(run)

    async def unfinished_runs(self) -> Sequence[tuple[str, int]]:
        return ()  # any other run may belong to a live process; only the store knows which processes are dead

    async def _clean_up_forever(self) -> None:
        while True:
            await asyncio.sleep(CLEANUP_INTERVAL_S)
            try:
                await self._backend.clean_up([run.id for run in self._runs.values() if run.is_written_here])
            except BackendUnavailable as problem:
                logger.warning("cannot clean up the log: %s", problem)

    async def _retry(self, request: Callable[[], Awaitable[T]], seconds: float | None = None) -> T:
        """Retry a request until the server responds or the timeout has passed. Raises `LogUnreachable`."""
        timeout = min(seconds or self._timeout, self._timeout)
        backoff, time = Backoff("reading the log", timeout, logging.INFO), asyncio.get_running_loop().time
        while True:
            try:
                response = await request()
            except BackendUnavailable as problem:
                delay = backoff.record_failure(time(), problem)
                if delay is None:
                    raise errors.LogUnreachable(str(problem)) from problem
                await asyncio.sleep(delay)
            else:
                backoff.record_success(time())
                return response


def new_idempotency_key() -> bytes:
    return secrets.token_hex(8).encode()
