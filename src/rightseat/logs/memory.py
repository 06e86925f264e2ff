"""The log in this process's memory.

A writer waits while the slowest of those who follow is more than `LEAD` entries behind: so one stuck reader costs a few
entries of memory, and pauses its model. With nobody following, a run goes on unhindered.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import RunExists, RunNotFound, StaleWriter
from rightseat.core.events import CallEnded, Event, RunFailed, RunFinished, StepEnded, TextEnded, ThoughtEnded
from rightseat.core.log import Entry, Log, Tap, Writer, seq

LEAD = 32
ENDINGS = (TextEnded, ThoughtEnded, CallEnded, StepEnded, RunFinished, RunFailed)
"""These never wait: a run must be able to end."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    keep: int = 256
    """How many runs that have ended can still be followed from their beginning."""


def build(options: Options) -> Log:
    return MemoryLog(options.keep)


class MemoryLog:
    def __init__(self, keep: int = 256) -> None:
        self._keep = keep
        self._runs: dict[str, _Run] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if run_id in self._runs:
            raise RunExists(run_id)
        self._runs[run_id] = _Run(run_id, transient)

    @asynccontextmanager
    async def open(self, run_id: str, epoch: int) -> AsyncIterator[Writer]:
        run = self._find(run_id)
        run.fence(epoch)
        try:
            yield _Writer(run, epoch)
        finally:
            if run.epoch == epoch:
                run.end()
                self._retire(run)

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        # Found now and not with the first entry: the run may have ended, and be forgotten, before that is asked for.
        return self._follow(self._find(run_id), seq(after) if after else 0, tap)

    async def _follow(self, run: "_Run", seen: int, tap: Tap | None) -> AsyncGenerator[Sequence[Entry], None]:
        reader = _Reader(run, seen, tap)
        run.readers.append(reader)
        try:
            while batch := await reader.next():
                yield batch
        finally:
            run.readers.remove(reader)
            run.let_writer_go()

    def _find(self, run_id: str) -> "_Run":
        try:
            return self._runs[run_id]
        except KeyError:
            raise RunNotFound(run_id) from None

    def _retire(self, run: "_Run") -> None:
        """Forget the oldest of the ended runs; who still follows one keeps it to its end."""
        if run.transient and run.forgotten:
            del self._runs[run.id]
            return
        self._ended[run.id] = None
        while len(self._ended) > self._keep:
            oldest, _ = self._ended.popitem(last=False)
            del self._runs[oldest]


class _Run:
    """The entries of one run. `forgotten` counts those that a transient run has dropped from the front."""

    __slots__ = ("ended", "entries", "epoch", "forgotten", "id", "readers", "room", "transient")

    def __init__(self, id: str, transient: bool) -> None:
        self.id = id
        self.transient = transient
        self.epoch = 0
        self.entries: list[Entry] = []
        self.forgotten = 0
        self.ended = False
        self.readers: list[_Reader] = []
        self.room: asyncio.Future[None] | None = None  # the writer waits here

    def fence(self, epoch: int) -> None:
        if epoch <= self.epoch:
            raise StaleWriter(self.id, epoch, self.epoch)
        self.epoch = epoch
        self.let_writer_go()

    def is_crowded(self) -> bool:
        """Is someone reading, and too far behind?"""
        needed = self.forgotten + len(self.entries) - LEAD
        for reader in self.readers:  # noqa: SIM110  # `any` with a generator takes three times as long
            if reader.seen < needed:
                return True
        return False

    def let_writer_go(self) -> None:
        if self.room is not None and not self.room.done():
            self.room.set_result(None)

    def end(self) -> None:
        self.ended = True
        for reader in self.readers:
            reader.wake()


class _Writer:
    __slots__ = ("_epoch", "_run")

    def __init__(self, run: _Run, epoch: int) -> None:
        self._run = run
        self._epoch = epoch

    async def append(self, event: Event) -> Entry:
        run = self._run
        if run.epoch != self._epoch:
            raise StaleWriter(run.id, self._epoch, run.epoch)
        entries = run.entries
        entry = Entry(self._epoch, run.forgotten + len(entries) + 1, event)
        entries.append(entry)
        for reader in run.readers:
            reader.offer(entry)
        if len(entries) > LEAD and run.is_crowded() and not isinstance(event, ENDINGS):
            await self._wait_for_room()
        return entry

    async def _wait_for_room(self) -> None:
        run = self._run
        while run.epoch == self._epoch and run.is_crowded():
            run.room = asyncio.get_running_loop().create_future()
            await run.room  # left as it is afterwards: by then it may be another writer's


class _Reader:
    """One who follows a run: how many entries it has seen, and where it waits for more."""

    __slots__ = ("_run", "_tap", "_waiter", "seen")

    def __init__(self, run: _Run, seen: int, tap: Tap | None) -> None:
        self.seen = seen
        self._run = run
        self._tap = tap
        self._waiter: asyncio.Future[None] | None = None

    def offer(self, entry: Entry) -> None:
        """A new entry. One who waits has seen all others, and may take it at once."""
        if self._waiter is None or self._waiter.done() or entry.seq <= self.seen:
            return
        if self._tap is not None and self._tap(entry):
            self._take()
        else:
            self._waiter.set_result(None)

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> Sequence[Entry]:
        """All that is new; empty when the run has ended and everything was read."""
        run = self._run
        while self.seen >= run.forgotten + len(run.entries):
            if run.ended:
                return ()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self.seen < run.forgotten:
            raise RunNotFound(run.id)
        return self._take()

    def _take(self) -> Sequence[Entry]:
        run = self._run
        start = self.seen - run.forgotten
        batch = run.entries[start:] if start else run.entries
        self.seen = run.forgotten + len(run.entries)
        if run.transient and len(run.readers) == 1:
            run.forgotten = self.seen
            run.entries = []
        elif not start:
            batch = list(batch)
        run.let_writer_go()
        return batch
