"""The log in one SQLite file: every published entry survives a kill of the process.

A run that is being written is followed in memory (`logs.run_buffer`), and written to the file by the thread of the file
(`logs.sqlite.writer`). Runs that have ended, and those of an earlier process, are read from the file. Workers of one
server share the file: a run that another worker writes is followed in the file (`logs.sqlite.tail`).
Transient runs never touch the file.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from rightseat.concurrency import aclosing, cancel_and_wait, run_to_completion
from rightseat.core.errors import NotConfigured, RightseatError, RunExists, RunNotFound, StaleWriter
from rightseat.core.log import Entry, ImmediateSink, Log, Writer, seq
from rightseat.erasure import Eraser, clean_file
from rightseat.logs.memory import MemoryLog
from rightseat.logs.run_buffer import RunBuffer
from rightseat.logs.sqlite.database import LogDatabase, RunState
from rightseat.logs.sqlite.tail import FileTail
from rightseat.logs.sqlite.writer import CommitQueue, SqliteRunWriter
from rightseat.parts import StatePath, private_file, private_folder
from rightseat.sqlite_writer import SqliteWriter

logger = logging.getLogger(__name__)

PART = "log"
COMPACTION_INTERVAL_S = 10.0
NOT_OPEN = (
    "The log is not open. A server opens it; a program without a server does so with `async with copilot.opened():`."
)
COMPACTION_BATCH_RUNS = 20  # per transaction, because writers wait for it
CREATE_TIMEOUT_S = 1.0  # a run that another process has claimed is in the file within it
CREATE_POLL_INTERVAL_S = 0.02


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: StatePath = Path("rightseat.db")
    """The file; a relative path is one in the folder `server.state_dir`."""
    compact_after_seconds: float = Field(default=60.0, ge=0)
    """How many seconds after its end the deltas of a run are stored one by one. Then they are joined."""


def build(options: Options) -> Log:
    return SqliteLog(options.path, options.compact_after_seconds)


class SqliteLog:
    def __init__(self, path: Path, compact_after_seconds: float = 60.0) -> None:
        self._path = path
        self._compact_after_seconds = compact_after_seconds
        self._transient = MemoryLog()
        self._active_runs: dict[str, RunBuffer] = {}
        self._unwritten: set[str] = set()  # active runs that the file gets with their first entries
        self._opened: tuple[CommitQueue, LogDatabase] | None = None
        self._is_shared = False
        self._tail: FileTail | None = None  # only if other processes write to the file

    def share_file(self) -> None:
        """A run that two processes create is refused to the second when it opens it, not when it creates it."""
        self._is_shared = True

    async def __aenter__(self) -> Self:
        private_folder(self._path.parent)
        private_file(self._path)
        await asyncio.to_thread(clean_file, self._path)
        self._eraser = Eraser(self._path)
        reader = LogDatabase.open(self._path)
        self._writer = SqliteWriter.share(self._path, PART)
        self._opened = CommitQueue(self._writer, is_shared=self._is_shared), reader
        self._tail = FileTail(self._path) if self._is_shared else None
        self._compaction_task = asyncio.create_task(self._compact_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._compaction_task)
        if self._tail is not None:
            await self._tail.close()
        await self._commits.close()
        await self._writer.close(PART)
        self._reader.close()
        await self._eraser.close()
        self._opened = None

    @property
    def _commits(self) -> CommitQueue:
        if self._opened is None:
            raise NotConfigured(NOT_OPEN)
        return self._opened[0]

    @property
    def _reader(self) -> LogDatabase:
        if self._opened is None:
            raise NotConfigured(NOT_OPEN)
        return self._opened[1]

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if transient or run_id in self._transient:
            await self._transient.create(run_id, transient=True)
            return
        if run_id in self._active_runs or self._reader.has(run_id):
            raise RunExists(run_id)
        self._active_runs[run_id] = self._run(run_id)
        self._unwritten.add(run_id)

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        if base is None and run_id in self._transient:
            return self._transient.open(run_id, epoch)
        return self._open(run_id, epoch, base)

    @asynccontextmanager
    async def _open(self, run_id: str, epoch: int, base: int | None) -> AsyncIterator[Writer]:
        if base == 0:
            with suppress(RunExists):
                await self.create(run_id)
        elif base is not None:
            raise NotConfigured("A log in a file cannot be restarted: it is lost only with its file.")
        if run_id in self._transient:
            async with self._transient.open(run_id, epoch) as transient_writer:
                yield transient_writer
            return
        is_new = run_id in self._unwritten
        writer = self._begin(run_id, epoch) if is_new else await run_to_completion(self._claim(run_id, epoch))
        try:
            yield writer
        except StaleWriter as stale:  # the store may detect it before the log does
            if self._tail is not None:
                writer.shut_out(stale)
            raise
        finally:
            await run_to_completion(self._end(writer))

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        if run_id in self._transient:
            return await self._transient.read(run_id, after)
        if run_id in self._unwritten:
            return ()
        await self._commits.execute(
            lambda _: None
        )  # so that the file has all entries that were appended before, also of a run that has ended
        return await self._read(run_id, seq(after) if after else 0)

    async def delete(self, run_ids: Sequence[str]) -> None:
        await self._transient.delete(run_ids)
        unwritten = self._unwritten.intersection(run_ids)
        for run_id in unwritten:
            self._unwritten.discard(run_id)
            self._active_runs.pop(run_id).end()
        if written := [run_id for run_id in run_ids if run_id not in unwritten]:
            if self._tail is not None:
                await self._tail.read_rest(written)
            await self._commits.execute(lambda database: database.delete(written))
            self._eraser.request()

    async def expect_writer(self, run_ids: Sequence[str]) -> None:
        if self._tail is not None:
            return  # followers always wait for the end of a run, because any process may resume it
        for run_id in run_ids:
            if run_id not in self._active_runs and self._reader.has(run_id):
                entries = await self._read(run_id, 0)
                self._active_runs.setdefault(run_id, self._run(run_id, entries[-1].seq if entries else 0))

    def stop_followers(self) -> None:
        if self._tail is None:
            return  # there is no other process
        self._tail.stop()
        for run_id in self._unwritten:  # this process was to write them, and has handed them over
            self._active_runs[run_id].end()

    async def unfinished_runs(self) -> Sequence[tuple[str, int]]:
        return await self.open_logs() if self._tail is None else ()

    async def open_logs(self) -> Sequence[tuple[str, int]]:
        found = await self._commits.execute(LogDatabase.list_unended)
        return [(run_id, epoch) for run_id, epoch in found if run_id not in self._active_runs]

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        if run_id in self._transient:
            return self._transient.follow(run_id, after, tap)
        seen = seq(after) if after else 0
        if run := self._active_runs.get(run_id):
            return run.follow(seen, tap)
        if self._tail is not None:
            return self._follow_file(self._tail, run_id, seen, tap)
        if not self._reader.has(run_id):
            raise RunNotFound(run_id)
        return self._replay(run_id, seen)

    async def _replay(self, run_id: str, seen: int) -> AsyncGenerator[Sequence[Entry], None]:
        if entries := await self._read(run_id, seen):
            yield entries

    async def _follow_file(
        self, tail: FileTail, run_id: str, seen: int, tap: ImmediateSink | None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Follow a run that another process writes, or that has ended."""
        state = await self._find_run(run_id)
        run, copy = self._active_runs.get(run_id), tail.find(run_id)
        if run is None and copy is None:
            if state.is_ended:
                if entries := await self._read(run_id, seen):
                    yield entries
                return
            copy = tail.add(self._run(run_id, state.last_seq), state)
        if run is None and copy is not None:
            run = copy.run
        if run is not None:
            async with aclosing(run.follow(seen, tap)) as batches:
                async for batch in batches:
                    yield batch
        if copy is not None and copy.failure is not None:
            raise copy.failure

    async def _find_run(self, run_id: str) -> RunState:
        """Raises `RunNotFound`. The process that has claimed a run writes it to the file a moment later."""
        clock = asyncio.get_running_loop().time
        until = clock() + CREATE_TIMEOUT_S
        while (state := await asyncio.to_thread(self._reader.read_state, run_id)) is None:
            if clock() > until:
                raise RunNotFound(run_id)
            await asyncio.sleep(CREATE_POLL_INTERVAL_S)
        return state

    async def _read(self, run_id: str, after: int) -> list[Entry]:
        return await asyncio.to_thread(self._reader.read, run_id, after)

    def _begin(self, run_id: str, epoch: int) -> SqliteRunWriter:
        run = self._active_runs[run_id]
        run.fence(epoch)
        self._unwritten.discard(run_id)
        return self._commits.open_new_writer(run, epoch)

    async def _claim(self, run_id: str, epoch: int) -> SqliteRunWriter:
        run = self._active_runs.get(run_id)
        if run:
            run.fence(epoch)  # now, not after the entries that the old writer appends meanwhile
        key, last = await self._commits.execute(lambda database: database.claim(run_id, epoch))
        if run is None:
            followed = self._tail.take(run_id) if self._tail else None
            run = self._active_runs.setdefault(run_id, followed or self._run(run_id, last))
            run.fence(epoch)
        if run.visible_seq < last:  # another process has written them
            run.skip_to(last)
        return self._commits.open_writer(run, key, epoch)

    async def _end(self, writer: SqliteRunWriter) -> None:
        """Write the end after the last entry. Followers come to an end even if this fails."""
        run = writer.run
        has_ended = True
        try:
            has_ended = await self._commits.end(writer, lambda database: end_log(database, writer))
        except RightseatError as error:
            logger.error("cannot write the end of run %s: %s", run.id, error)
        if run.epoch != writer.epoch:
            return
        if not has_ended and self._tail is not None:
            return await self._release(run, writer.epoch, self._tail)
        run.end()
        if self._active_runs.get(run.id) is run:
            del self._active_runs[run.id]

    async def _release(self, run: RunBuffer, epoch: int, tail: FileTail) -> None:
        """Another process has claimed the run: followers here continue with the entries that it writes."""
        state = await asyncio.to_thread(self._reader.read_state, run.id)
        if run.epoch != epoch or self._active_runs.get(run.id) is not run:
            return  # a new writer of this process has it
        del self._active_runs[run.id]
        if state is None:
            run.end()
        else:
            tail.add(run, state)

    def _run(self, run_id: str, last: int = 0) -> RunBuffer:
        async def read_older(seen: int, _: int) -> Sequence[Entry]:
            """All that the file has: in a compacted run one entry may reach beyond those that are not in memory."""
            with suppress(RunNotFound):
                return await self._read(run_id, seen)
            return ()

        return RunBuffer(run_id, drops_read_entries=True, read_older=read_older, seq=last)

    async def _compact_forever(self) -> None:
        while True:
            await asyncio.sleep(COMPACTION_INTERVAL_S)
            try:
                while await self.compact() == COMPACTION_BATCH_RUNS:
                    pass
            except RightseatError as error:
                logger.error("cannot compact ended runs: %s", error)

    async def compact(self) -> int:
        """Join the records of some runs that ended long enough ago. Returns how many runs."""
        before = time.time() - self._compact_after_seconds
        return await self._commits.execute(lambda database: database.compact(before, COMPACTION_BATCH_RUNS))


def end_log(database: LogDatabase, writer: SqliteRunWriter) -> bool:
    """Return False if another process has claimed the run, and ends its log."""
    return not writer.is_shut_out and database.end(writer.key, writer.epoch, time.time())
