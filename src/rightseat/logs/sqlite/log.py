"""The log in one SQLite file: every published entry survives a kill of the process.

A run that is being written is followed in memory (`logs.run_buffer`), and written to the file by the thread of the file
(`logs.sqlite.writer`). Runs that have ended, and those of an earlier process, are read from the file.
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

from rightseat.core.concurrency import run_to_completion
from rightseat.core.errors import NotConfigured, RightseatError, RunExists, RunNotFound
from rightseat.core.log import Entry, ImmediateSink, Log, Writer, seq
from rightseat.erasure import Eraser, clean_file
from rightseat.logs.memory import MemoryLog
from rightseat.logs.run_buffer import RunBuffer
from rightseat.logs.sqlite.database import LogDatabase
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

    async def __aenter__(self) -> Self:
        private_folder(self._path.parent)
        private_file(self._path)
        await asyncio.to_thread(clean_file, self._path)
        self._eraser = Eraser(self._path)
        reader = LogDatabase.open(self._path)
        self._writer = SqliteWriter.share(self._path, PART)
        self._opened = CommitQueue(self._writer), reader
        self._compaction_task = asyncio.create_task(self._compact_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._compaction_task.cancel()
        await asyncio.wait((self._compaction_task,))
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
            await self._commits.execute(lambda database: database.delete(written))
            self._eraser.request()

    async def expect_writer(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            if run_id not in self._active_runs and self._reader.has(run_id):
                entries = await self._read(run_id, 0)
                self._active_runs.setdefault(run_id, self._run(run_id, entries[-1].seq if entries else 0))

    def stop_followers(self) -> None:
        """Does nothing: there is no other process."""

    async def unfinished_runs(self) -> Sequence[tuple[str, int]]:
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
        if not self._reader.has(run_id):
            raise RunNotFound(run_id)
        return self._replay(run_id, seen)

    async def _replay(self, run_id: str, seen: int) -> AsyncGenerator[Sequence[Entry], None]:
        if entries := await self._read(run_id, seen):
            yield entries

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
            run = self._active_runs.setdefault(run_id, self._run(run_id, last))
            run.fence(epoch)
        return self._commits.open_writer(run, key, epoch)

    async def _end(self, writer: SqliteRunWriter) -> None:
        """Write the end after the last entry. Followers come to an end even if this fails."""
        run = writer.run
        try:
            await self._commits.end(writer, lambda database: database.end(writer.key, writer.epoch, time.time()))
        except RightseatError as error:
            logger.error("cannot write the end of run %s: %s", run.id, error)
        if run.epoch == writer.epoch:
            run.end()
            if self._active_runs.get(run.id) is run:
                del self._active_runs[run.id]

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
