"""The seam to the log: what a run writes and everyone else reads.

An entry's id is `<epoch>-<seq>`. The epoch is the writer's right to write: who opens a log under a higher one shuts out
everyone below. `seq` counts the run's events from 1 without a gap.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from rightseat.core.errors import BadAsk
from rightseat.core.events import Event


class Entry(msgspec.Struct, frozen=True, gc=False):
    epoch: int
    seq: int
    event: Event

    @property
    def id(self) -> str:
        return f"{self.epoch}-{self.seq}"


class Writer(Protocol):
    async def append(self, event: Event) -> Entry:
        """Write the event. Waits while those who follow are too far behind.

        Raises `StaleWriter` once another has opened this run under a higher epoch.
        """
        ...


Tap = Callable[[Entry], bool]
"""Takes an entry in the moment in which it is written, if it can without waiting; False leaves it to the next batch.

A short cut for a reader that has seen everything before it: its task need not be woken for each piece of an answer that
trickles. It never raises.
"""


class Log(Protocol):
    async def create(self, run_id: str, *, transient: bool = False) -> None:
        """Make the run known: from now on it can be followed, though nothing is written yet.

        A `transient` run's log may forget entries once they have been read. Raises `RunExists`.
        """
        ...

    def open(self, run_id: str, epoch: int) -> AbstractAsyncContextManager[Writer]:
        """The one writer of a run. Leaving the block ends the log: who follows it comes to an end."""
        ...

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        """What is written by now, without waiting for more. Raises `RunNotFound`."""
        ...

    async def forget(self, run_ids: Sequence[str]) -> None:
        """Drop the logs of runs that have ended; who follows one still reads it to its end."""
        ...

    async def cut_off(self) -> Sequence[tuple[str, int]]:
        """Runs whose log has no end, though nobody writes them any more: their process died. With their epochs."""
        ...

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """What was written after the entry with that id, then what is being written, until the log ends.

        Nothing is shown that could be lost: a log that keeps its entries shows them once they are kept. Of a run that
        has ended, pieces of one message that follow each other may come as one, under the id of the last.

        Comes in batches: all that is there now. So a reader that is behind catches up in one write. A log may offer an
        entry to the `tap` first.
        Raises `RunNotFound` where there is no such run (any more), and `BadAsk` where `after` is no id of an entry.
        """
        ...


def seq(id: str) -> int:
    """The number in an entry's id. Clients send ids back, and may send anything."""
    try:
        _epoch, number = map(int, id.split("-"))
    except ValueError:
        raise BadAsk(f"{id!r} is not the id of an entry; such an id looks like '1-12'.") from None
    return number
