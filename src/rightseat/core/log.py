"""The log protocol: one writer per run appends events, any number of followers read them.

An entry's id is `<epoch>-<seq>`. The epoch fences writers: opening a log under a higher epoch fences every writer with
a lower one. `seq` counts the run's events from 1 without a gap. Ids are ordered as pairs.

A log on another server can be lost. Its writer receives `LogDataLost`, and may open the log again under a higher epoch
with the last number as its `base`; it then writes the current messages again. Followers receive `LogTruncated`, and may
resume after it: every gap is reported.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.events import Event


class Entry(msgspec.Struct, frozen=True, gc=False):
    epoch: int
    seq: int
    event: Event

    @property
    def id(self) -> str:
        return f"{self.epoch}-{self.seq}"


class Position(NamedTuple):
    """An entry's id, parsed."""

    epoch: int
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.seq}"


class Writer(Protocol):
    @property
    def failure(self) -> RightseatError | None:
        """Why no more events are stored. End events can still be appended, and reach the followers of this process."""
        ...

    async def append(self, event: Event) -> Entry:
        """Write the event. Waits while too many events are not stored yet, or while followers in this process are too
        far behind and their unread entries are only in memory.

        Raises `StaleWriter` if another process has opened this run under a higher epoch, `LogWriteFailed` if earlier
        events could not be stored, and `LogDataLost` if stored events were lost.
        """
        ...

    def append_nowait(self, event: Event) -> Entry:
        """Write the event without waiting for anything; for the few events that are written beside the agent's.

        Raises as `append` does.
        """
        ...

    async def flush(self) -> None:
        """Returns when all appended events are stored. Raises as `append` does."""
        ...


ImmediateSink = Callable[[Entry], bool]
"""Takes an entry at the moment it is written, if it can do so without waiting; False leaves it to the next batch.

A shortcut for a follower that has received all earlier entries: its task need not be woken for each delta of a slow
response. It never raises.
"""


class Log(Protocol):
    """Stores the events of runs, and streams them to any number of followers while they are written::

        async def write_and_follow(log: Log) -> list[Event]:
            await log.create("r1")
            async with log.open("r1", epoch=1) as writer:
                first = await writer.append(RunStarted("r1", "t1", "default"))
                await writer.append(RunFinished("done"))
            return [entry.event async for entries in log.follow("r1", after=first.id) for entry in entries]

    The runtime creates a log before the run starts, and opens it under the epoch of its claim of the thread. `base`,
    `expect_writer`, `stop_followers` and `unfinished_runs` matter to logs that outlive their process or are shared by
    several; one in memory does nothing there. `tests/contracts/test_logs.py` has the contract.
    """

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        """Create the log of a run: from now on it can be followed, although it has no entries yet.

        The log of a `transient` run may discard entries once they have been read. Raises `RunExists`.
        """
        ...

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        """Open the only writer of a run. Leaving the block ends the log and its followers.

        Leaving it with a `StaleWriter` does not end a log that processes share: the new owner of the run ends it.

        `base` recreates a log that was lost: the next entry has the number after it. It is 0 if the last number of the
        lost log is unknown.
        """
        ...

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        """The entries written so far, without waiting for more. Raises `RunNotFound`, `LogTruncated`."""
        ...

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Delete the logs of ended runs. Followers still read them to their end."""
        ...

    async def expect_writer(self, run_ids: Sequence[str]) -> None:
        """Another process will resume these runs. Followers keep waiting although there is no writer yet."""
        ...

    def stop_followers(self) -> None:
        """End the followers in this process of runs that other processes write. They may resume elsewhere."""
        ...

    async def unfinished_runs(self) -> Sequence[tuple[str, int]]:
        """Runs whose log has no end and no writer because their process died, with their epochs.

        A log that several processes share returns none: the thread store knows which processes are alive.
        """
        ...

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Return the entries after the one with that id, then new entries as they are written, until the log ends.

        Followers never receive entries that could be lost: a log that stores its entries returns them once they are
        stored. In a run that has ended, consecutive deltas of one message may be merged, under the id of the last.

        Each batch has all entries available now, so a follower that is behind catches up in one write. A log may offer
        an entry to the `tap` first.
        Raises `RunNotFound` if the run does not exist (any more), `BadRequest` if `after` is not the id of an entry,
        and `LogTruncated` if entries after it were lost.
        """
        ...


@runtime_checkable
class ListsOpenLogs(Protocol):
    """A log that several processes may share, and that does not know which of them are alive."""

    async def open_logs(self) -> Sequence[tuple[str, int]]:
        """Runs whose log has no end and that this process does not write, with their epochs."""
        ...


@runtime_checkable
class KeepsJudgedRuns(Protocol):
    """A log that deletes ended runs by itself. Other logs keep a run as long as its thread."""

    async def keep_judged(self, run_id: str) -> None:
        """Keep the run for longer, because a user has judged it. An outage is logged, not raised."""
        ...


def seq(id: str) -> int:
    """The sequence number in an entry's id."""
    return position(id).seq


def position(id: str) -> Position:
    """Parse an entry's id. It comes from a client, which may send any text."""
    epoch, _, number = id.partition("-")
    if not (_is_number(epoch) and _is_number(number)):
        raise BadRequest(f"{id!r} is not the id of an entry; such an id looks like '1-12'.")
    return Position(int(epoch), int(number))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18  # fits the integers of every log server
