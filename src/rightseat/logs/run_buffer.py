"""The in-memory buffer of a run that is written in this process: its newest entries, its writer and its readers.

A writer waits while the slowest reader is more than `MAX_READER_LAG` entries behind: so a stuck reader costs a few
entries of memory, and pauses the model. Without readers the writer does not wait. After a large entry the writer waits
until it is committed and all readers have it: 32 of them, or 1,024, would be many megabytes.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from rightseat.core import events as e
from rightseat.core.errors import RunNotFound, StaleWriter
from rightseat.core.log import Entry, ImmediateSink

MAX_READER_LAG = 32
MAX_UNCOMMITTED_ENTRIES = 1024
"""A writer waits while more entries than this are not committed."""
LARGE_ENTRY_BYTES = 8192
END_EVENTS = (e.TextEnded, e.ReasoningEnded, e.ToolCallEnded, e.StepEnded, e.SpanEnded, e.RunFinished, e.RunFailed)
"""The writer never waits with these: a run must be able to end."""

ReadOlder = Callable[[int, int], Awaitable[Sequence[Entry]]]
"""Reads the stored entries after the first number, up to the second."""


class RunBuffer:
    """`entries` are visible to readers. `dropped` counts the entries before them that are no longer in memory; with
    `drops_read_entries` entries are dropped once they were read. `seq` is the number of the newest entry; entries above
    `visible_seq` are not committed yet, and no reader sees them.
    """

    __slots__ = (
        "capacity",
        "dropped",
        "drops_read_entries",
        "ended",
        "entries",
        "epoch",
        "id",
        "large_seq",
        "read_older",
        "readers",
        "seq",
    )

    def __init__(self, id: str, *, drops_read_entries: bool, read_older: ReadOlder | None = None, seq: int = 0) -> None:
        self.id = id
        self.drops_read_entries = drops_read_entries
        self.read_older = read_older
        self.epoch = 0
        self.seq = self.dropped = seq
        self.entries: list[Entry] = []
        self.large_seq = 0  # the last large entry
        self.ended = False
        self.readers: list[_Reader] = []
        self.capacity: asyncio.Future[None] | None = None  # the writer waits for it

    @property
    def visible_seq(self) -> int:
        return self.dropped + len(self.entries)

    def fence(self, epoch: int) -> None:
        if epoch <= self.epoch:
            raise StaleWriter(self.id, epoch, self.epoch)
        self.epoch = epoch
        self.wake_writer()

    def next_entry(self, epoch: int, event: e.Event) -> Entry:
        """The event as the run's next entry, not published yet."""
        if self.epoch != epoch:
            raise StaleWriter(self.id, epoch, self.epoch)
        self.seq += 1
        return Entry(epoch, self.seq, event)

    def publish(self, entry: Entry) -> None:
        self.entries.append(entry)
        for reader in self.readers:
            reader.offer(entry)

    def publish_all(self, entries: Sequence[Entry]) -> None:
        """A reader sends entries that become visible together at once: a tap would send the first one separately."""
        if len(entries) == 1:
            return self.publish(entries[0])
        self.entries.extend(entries)
        for reader in self.readers:
            reader.wake()

    def is_full(self) -> bool:
        """Whether a reader is too far behind, or too many entries are not committed."""
        needed = max(self.seq - MAX_READER_LAG, self.large_seq)
        for reader in self.readers:
            if reader.seen < needed:
                return True
        visible_seq = self.visible_seq
        return self.seq - visible_seq > MAX_UNCOMMITTED_ENTRIES or visible_seq < self.large_seq

    async def wait_for_capacity(self, epoch: int) -> None:
        while self.epoch == epoch and self.is_full():
            self.capacity = asyncio.get_running_loop().create_future()
            await self.capacity  # not reset afterwards: by then it may be another writer's

    def wake_writer(self) -> None:
        if self.capacity is not None and not self.capacity.done():
            self.capacity.set_result(None)

    def end(self) -> None:
        self.ended = True
        for reader in self.readers:
            reader.wake()

    async def follow(self, seen: int, tap: ImmediateSink | None) -> AsyncGenerator[Sequence[Entry], None]:
        reader = _Reader(self, seen, tap)
        self.readers.append(reader)
        self.wake_writer()  # this reader may be ahead of the others
        try:
            while batch := await reader.next():
                yield batch
        finally:
            self.readers.remove(reader)
            self.wake_writer()

    def drop_entries(self) -> None:
        self.dropped = self.visible_seq
        self.entries = []

    def skip_to(self, seq: int) -> None:
        """Readers get the entries up to this one from storage: another process has written them."""
        self.seq = self.dropped = seq
        self.entries = []
        for reader in self.readers:
            reader.wake()


class _Reader:
    """One follower of a run. `seen` is the number of its last entry."""

    __slots__ = ("_run", "_tap", "_waiter", "seen")

    def __init__(self, run: RunBuffer, seen: int, tap: ImmediateSink | None) -> None:
        self.seen = seen
        self._run = run
        self._tap = tap
        self._waiter: asyncio.Future[None] | None = None

    def offer(self, entry: Entry) -> None:
        """A reader that waits has seen all other entries, and its tap may take this one at once."""
        if self._waiter is None or self._waiter.done() or entry.seq <= self.seen:
            return
        if self._tap is None or not self._tap(entry):
            self._waiter.set_result(None)
        elif (run := self._run).drops_read_entries and len(run.readers) == 1:
            # What `_take` does, for nearly every entry of a transient run. It saves 0.4 µs.
            run.entries.clear()
            run.dropped = self.seen = entry.seq
            if run.capacity is not None:
                run.wake_writer()
        else:
            self._take()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> Sequence[Entry]:
        """All new entries; empty when the run has ended and everything was read."""
        run = self._run
        while self.seen >= run.dropped + len(run.entries):
            if run.ended:
                return ()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return await self._catch_up() if self.seen < run.dropped else self._take()

    async def _catch_up(self) -> Sequence[Entry]:
        """Read entries that are no longer in memory from storage."""
        run = self._run
        batch = await run.read_older(self.seen, run.dropped) if run.read_older else ()
        if not batch:
            raise RunNotFound(run.id)
        self.seen = batch[-1].seq
        run.wake_writer()
        return batch

    def _take(self) -> Sequence[Entry]:
        run = self._run
        start = self.seen - run.dropped
        batch = run.entries[start:] if start else run.entries
        self.seen = run.dropped + len(run.entries)
        if run.drops_read_entries and len(run.readers) == 1:
            run.drop_entries()
        elif not start:
            batch = list(batch)
        run.wake_writer()
        return batch
