"""The seam to the log: what a run writes and everyone else reads.

An entry's id is `<epoch>-<seq>`. The epoch is the writer's right to write: who opens a log under a higher one shuts out
everyone below. `seq` counts the run's events from 1 without a gap. Ids grow as pairs.

A log that is kept by another server can be lost. Its writer is told with `LogLost`, and may open it again under a
higher epoch with the last number as its `base`; then it says anew what a reader must know. Who follows is told with
`EntriesGone`, and may go on from there: there is never a gap that nobody speaks of.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

import msgspec

from rightseat.core.errors import BadAsk, RightseatError
from rightseat.core.events import Event


class Entry(msgspec.Struct, frozen=True, gc=False):
    epoch: int
    seq: int
    event: Event

    @property
    def id(self) -> str:
        return f"{self.epoch}-{self.seq}"


class Position(NamedTuple):
    """An entry's id as what it is: a pair of numbers."""

    epoch: int
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.seq}"


class Writer(Protocol):
    @property
    def failure(self) -> RightseatError | None:
        """Why nothing more is kept. Ends can still be appended then, and are told to those who follow here."""
        ...

    async def append(self, event: Event) -> Entry:
        """Write the event. Waits while too much waits to be kept, or those who follow in this process are too far
        behind and nothing else keeps what they have not read.

        Raises `StaleWriter` once another has opened this run under a higher epoch, `LogUnwritable` when what was said
        before could not be kept, `LogLost` when what was kept is gone.
        """
        ...

    async def flush(self) -> None:
        """Returns when all that was appended is kept. Raises as `append` does."""
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

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        """The one writer of a run. Leaving the block ends the log: who follows it comes to an end.

        Leaving it with a `StaleWriter` does not end a log that processes share: another has the run, and ends it.

        `base` begins a log anew that was lost: the next entry has the number behind it. It is 0 where nobody knows how
        far the lost one had come.
        """
        ...

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        """What is written by now, without waiting for more. Raises `RunNotFound`, `EntriesGone`."""
        ...

    async def forget(self, run_ids: Sequence[str]) -> None:
        """Drop the logs of runs that have ended; who follows one still reads it to its end."""
        ...

    async def expect(self, run_ids: Sequence[str]) -> None:
        """Somebody goes on with these runs soon: who follows one waits, though nobody writes it now."""
        ...

    def release(self) -> None:
        """This process stops: who follows here a run that another process has comes to an end, and may go on there."""
        ...

    async def cut_off(self) -> Sequence[tuple[str, int]]:
        """Runs whose log has no end, though nobody writes them any more: their process died. With their epochs.

        A log that several processes share names none: which of them live is known elsewhere.
        """
        ...

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """What was written after the entry with that id, then what is being written, until the log ends.

        Nothing is shown that could be lost: a log that keeps its entries shows them once they are kept. Of a run that
        has ended, pieces of one message that follow each other may come as one, under the id of the last.

        Comes in batches: all that is there now. So a reader that is behind catches up in one write. A log may offer an
        entry to the `tap` first.
        Raises `RunNotFound` where there is no such run (any more), `BadAsk` where `after` is no id of an entry, and
        `EntriesGone` where what came after it was lost.
        """
        ...


def seq(id: str) -> int:
    """The number in an entry's id."""
    return position(id).seq


def position(id: str) -> Position:
    """Clients send ids back, and may send anything."""
    epoch, _, number = id.partition("-")
    if not (_is_number(epoch) and _is_number(number)):
        raise BadAsk(f"{id!r} is not the id of an entry; such an id looks like '1-12'.")
    return Position(int(epoch), int(number))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18  # what every server can count to
