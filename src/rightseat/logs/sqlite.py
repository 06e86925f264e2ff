"""The log in one SQLite file: what was shown is still there after the process was killed.

A run that is being written is followed in memory (`logs.live`), and written to the file by one thread
(`logs.committing`). A run that has ended is read from the file, and so is what an earlier process has left there.
Transient runs never touch the file.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.cancelling import to_the_end
from rightseat.core.errors import Misuse, RightseatError, RunExists, RunNotFound
from rightseat.core.log import Entry, Log, Tap, Writer, seq
from rightseat.erasure import Eraser, clean_file
from rightseat.logs.committing import Committer, Pen
from rightseat.logs.journal import Journal
from rightseat.logs.live import Run
from rightseat.logs.memory import MemoryLog
from rightseat.parts import StatePath, private_file, private_folder

logger = logging.getLogger(__name__)

ROUND = 10.0  # seconds between two looks for runs to compact
NOT_OPEN = (
    "The log is not open. To serve opens it; in a program that serves nothing, `async with copilot.opened():` does."
)
AT_ONCE = 20  # runs that are compacted in one transaction: others wait for it


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: StatePath = Path("rightseat.db")
    """The file; a relative path is one in the folder `server.state`."""
    compact_after: float = Field(default=60.0, ge=0)
    """How many seconds after its end a run is kept piece by piece, as it was said. Then its pieces are joined."""


def build(options: Options) -> Log:
    return SqliteLog(options.path, options.compact_after)


class SqliteLog:
    def __init__(self, path: Path, compact_after: float = 60.0) -> None:
        self._path = path
        self._compact_after = compact_after
        self._transient = MemoryLog()
        self._live: dict[str, Run] = {}
        self._opened: tuple[Committer, Journal] | None = None

    async def __aenter__(self) -> Self:
        private_folder(self._path.parent)
        private_file(self._path)
        await asyncio.to_thread(clean_file, self._path)
        self._eraser = Eraser(self._path)
        self._opened = Committer(self._path), Journal(self._path)
        self._compacting = asyncio.create_task(self._compact_for_ever())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._compacting.cancel()
        await asyncio.wait((self._compacting,))
        await self._committer.close()
        self._reading.close()
        await self._eraser.close()
        self._opened = None

    @property
    def _committer(self) -> Committer:
        if self._opened is None:
            raise Misuse(NOT_OPEN)
        return self._opened[0]

    @property
    def _reading(self) -> Journal:
        if self._opened is None:
            raise Misuse(NOT_OPEN)
        return self._opened[1]

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if transient or run_id in self._transient:
            await self._transient.create(run_id, transient=True)
            return
        if run_id in self._live:
            raise RunExists(run_id)
        await self._committer.do(lambda journal: journal.create(run_id))
        self._live[run_id] = self._run(run_id)

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
            raise Misuse("A log in a file is not lost while the file is there, so it never begins anew.")
        if run_id in self._transient:
            async with self._transient.open(run_id, epoch) as writer:
                yield writer
            return
        pen = await to_the_end(self._claim(run_id, epoch))
        try:
            yield pen
        finally:
            await to_the_end(self._end(pen))

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        if run_id in self._transient:
            return await self._transient.read(run_id, after)
        await self._committer.do(lambda _: None)  # what was written before is in the file then, also of one that ended
        return await self._read(run_id, seq(after) if after else 0)

    async def forget(self, run_ids: Sequence[str]) -> None:
        await self._transient.forget(run_ids)
        await self._committer.do(lambda journal: journal.forget(run_ids))
        self._eraser.request()

    async def expect(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            if run_id not in self._live and self._reading.has(run_id):
                entries = await self._read(run_id, 0)
                self._live.setdefault(run_id, self._run(run_id, entries[-1].seq if entries else 0))

    def release(self) -> None:
        """There is no other."""

    async def cut_off(self) -> Sequence[tuple[str, int]]:
        found = await self._committer.do(Journal.unended)
        return [(run_id, epoch) for run_id, epoch in found if run_id not in self._live]

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        if run_id in self._transient:
            return self._transient.follow(run_id, after, tap)
        seen = seq(after) if after else 0
        if run := self._live.get(run_id):
            return run.follow(seen, tap)
        if not self._reading.has(run_id):
            raise RunNotFound(run_id)
        return self._replay(run_id, seen)

    async def _replay(self, run_id: str, seen: int) -> AsyncGenerator[Sequence[Entry], None]:
        if entries := await self._read(run_id, seen):
            yield entries

    async def _read(self, run_id: str, after: int) -> list[Entry]:
        return await asyncio.to_thread(self._reading.read, run_id, after)

    async def _claim(self, run_id: str, epoch: int) -> Pen:
        run = self._live.get(run_id)
        if run:
            run.fence(epoch)  # now, and not behind what the old writer says meanwhile
        key, last = await self._committer.do(lambda journal: journal.claim(run_id, epoch))
        if run is None:
            run = self._live.setdefault(run_id, self._run(run_id, last))
            run.fence(epoch)
        return self._committer.pen(run, key, epoch)

    async def _end(self, pen: Pen) -> None:
        """Behind the last entry. Whatever happens, those who follow come to an end."""
        run = pen.run
        try:
            await self._committer.do(partial(Journal.end, key=pen.key, epoch=pen.epoch, now=time.time()))
        except RightseatError as error:
            logger.error("the end of run %s could not be kept: %s", run.id, error)
        if run.epoch == pen.epoch:
            run.end()
            if self._live.get(run.id) is run:
                del self._live[run.id]

    def _run(self, run_id: str, last: int = 0) -> Run:
        async def older(seen: int, until: int) -> Sequence[Entry]:
            with suppress(RunNotFound):
                return [entry for entry in await self._read(run_id, seen) if entry.seq <= until]
            return ()

        return Run(run_id, forgets=True, older=older, seq=last)

    async def _compact_for_ever(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            try:
                while await self.compact() == AT_ONCE:
                    pass
            except RightseatError as error:
                logger.error("ended runs could not be compacted: %s", error)

    async def compact(self) -> int:
        """Join the pieces of some runs that ended long enough ago. Returns how many."""
        before = time.time() - self._compact_after
        return await self._committer.do(lambda journal: journal.tidy(before, AT_ONCE))
