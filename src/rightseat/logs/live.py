"""A run that is being written in this process: what it has said, who writes it, and those who follow.

A writer waits while the slowest of those who follow is more than `LEAD` entries behind: so one stuck reader costs a few
entries of memory, and pauses its model. With nobody following, a run goes on unhindered. After a large entry the writer
waits until it is kept and all followers have it: 32 of them, or 1,024, would be many megabytes.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from rightseat.core.errors import RunNotFound, StaleWriter
from rightseat.core.events import CallEnded, Event, RunFailed, RunFinished, StepEnded, TextEnded, ThoughtEnded
from rightseat.core.log import Entry, Tap

LEAD = 32
BACKLOG = 1024
"""How many entries may wait to be kept before their writer waits too."""
LARGE_ENTRY_BYTES = 8192
ENDINGS = (TextEnded, ThoughtEnded, CallEnded, StepEnded, RunFinished, RunFailed)
"""These never wait: a run must be able to end."""

Older = Callable[[int, int], Awaitable[Sequence[Entry]]]
"""The entries behind the first number, up to the second, from where they are kept."""


class Run:
    """`entries` are those that may be seen. `forgotten` counts the ones before them, which are not in memory any more:
    of a run that `forgets`, those that were read. `seq` is the last number that was given to an entry; what is above
    `forgotten + len(entries)` is still being kept, and nobody sees it.
    """

    __slots__ = (
        "ended",
        "entries",
        "epoch",
        "forgets",
        "forgotten",
        "id",
        "large_seq",
        "older",
        "readers",
        "room",
        "seq",
    )

    def __init__(self, id: str, *, forgets: bool, older: Older | None = None, seq: int = 0) -> None:
        self.id = id
        self.forgets = forgets
        self.older = older
        self.epoch = 0
        self.seq = self.forgotten = seq
        self.entries: list[Entry] = []
        self.large_seq = 0  # the last large entry
        self.ended = False
        self.readers: list[_Reader] = []
        self.room: asyncio.Future[None] | None = None  # the writer waits here

    @property
    def shown(self) -> int:
        return self.forgotten + len(self.entries)

    def fence(self, epoch: int) -> None:
        if epoch <= self.epoch:
            raise StaleWriter(self.id, epoch, self.epoch)
        self.epoch = epoch
        self.let_writer_go()

    def next(self, epoch: int, event: Event) -> Entry:
        """The event as the run's next entry, not shown yet."""
        if self.epoch != epoch:
            raise StaleWriter(self.id, epoch, self.epoch)
        self.seq += 1
        return Entry(epoch, self.seq, event)

    def show(self, entry: Entry) -> None:
        self.entries.append(entry)
        for reader in self.readers:
            reader.offer(entry)

    def is_crowded(self) -> bool:
        """Is someone reading, and too far behind? Or does too much wait to be kept?"""
        needed = max(self.seq - LEAD, self.large_seq)
        for reader in self.readers:
            if reader.seen < needed:
                return True
        shown = self.shown
        return self.seq - shown > BACKLOG or shown < self.large_seq

    async def wait_for_room(self, epoch: int) -> None:
        while self.epoch == epoch and self.is_crowded():
            self.room = asyncio.get_running_loop().create_future()
            await self.room  # left as it is afterwards: by then it may be another writer's

    def let_writer_go(self) -> None:
        if self.room is not None and not self.room.done():
            self.room.set_result(None)

    def end(self) -> None:
        self.ended = True
        for reader in self.readers:
            reader.wake()

    async def follow(self, seen: int, tap: Tap | None) -> AsyncGenerator[Sequence[Entry], None]:
        reader = _Reader(self, seen, tap)
        self.readers.append(reader)
        self.let_writer_go()  # it may have seen more than the others
        try:
            while batch := await reader.next():
                yield batch
        finally:
            self.readers.remove(reader)
            self.let_writer_go()

    def forget(self) -> None:
        self.forgotten = self.shown
        self.entries = []


class _Reader:
    """One who follows a run: how many entries it has seen, and where it waits for more."""

    __slots__ = ("_run", "_tap", "_waiter", "seen")

    def __init__(self, run: Run, seen: int, tap: Tap | None) -> None:
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
        return await self._catch_up() if self.seen < run.forgotten else self._take()

    async def _catch_up(self) -> Sequence[Entry]:
        """What is not in memory any more, from where it is kept."""
        run = self._run
        batch = await run.older(self.seen, run.forgotten) if run.older else ()
        if not batch:
            raise RunNotFound(run.id)
        self.seen = batch[-1].seq
        run.let_writer_go()
        return batch

    def _take(self) -> Sequence[Entry]:
        run = self._run
        start = self.seen - run.forgotten
        batch = run.entries[start:] if start else run.entries
        self.seen = run.forgotten + len(run.entries)
        if run.forgets and len(run.readers) == 1:
            run.forget()
        elif not start:
            batch = list(batch)
        run.let_writer_go()
        return batch
