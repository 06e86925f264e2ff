"""Copies the entries that other processes write to the file to followers in this process.

SQLite has no notifications. `PRAGMA data_version` returns within microseconds whether any connection has written to the
file. It is queried every 20 ms while this process follows a run of another one, and not at all otherwise. Then one
statement reads the new rows of all these runs.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Collection, Iterable
from pathlib import Path

from rightseat.concurrency import cancel_and_wait
from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.log import Entry
from rightseat.core.stream import codec
from rightseat.logs.run_buffer import MAX_UNCOMMITTED_ENTRIES, RunBuffer
from rightseat.logs.sqlite.database import LogDatabase, RunState, TailRow

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 0.02
END_CHECK_INTERVAL_S = 1.0  # of runs whose last event was not read; a killed process may have written none
RETRY_INTERVAL_S = 1.0
BATCH_ROWS = 500


class RunCopy:
    """A run that another process writes. All its rows up to number `row` were read."""

    __slots__ = ("failure", "has_last_event", "key", "row", "run")

    def __init__(self, run: RunBuffer, key: int, row: int) -> None:
        self.run = run
        self.key = key
        self.row = row
        self.has_last_event = False
        self.failure: UnreadableEvent | None = None

    def publish(self, epoch: int, first_seq: int, events: str) -> None:
        run = self.run
        decoded = [Entry(epoch, seq, event) for seq, event in enumerate(codec.decode_all(events), first_seq)]
        if entries := [entry for entry in decoded if entry.seq > run.visible_seq]:
            run.publish_all(entries)
            self.has_last_event = isinstance(entries[-1].event, RunFinished | RunFailed)
        run.seq = run.visible_seq
        if len(run.entries) > MAX_UNCOMMITTED_ENTRIES:  # its readers are slow, and get them from the file
            run.drop_entries()


class FileTail:
    def __init__(self, path: Path) -> None:
        self._database = LogDatabase.open(path)  # in the event loop: `data_version` counts for each connection
        self._copies: dict[str, RunCopy] = {}
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        self.stop()
        if self._task is not None:
            await cancel_and_wait(self._task)
        self._database.close()

    def find(self, run_id: str) -> RunCopy | None:
        return self._copies.get(run_id)

    def add(self, run: RunBuffer, state: RunState) -> RunCopy:
        """From now on the entries after this state are published to the readers of `run`. A run without readers is
        soon removed."""
        if run.visible_seq < state.last_seq:
            run.skip_to(state.last_seq)
        run.seq = run.visible_seq
        copy = self._copies[run.id] = RunCopy(run, state.key, state.last_row)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll_forever())
        return copy

    def take(self, run_id: str) -> RunBuffer | None:
        """The run with its readers, for its new writer in this process."""
        copy = self._copies.pop(run_id, None)
        return copy.run if copy else None

    async def read_rest(self, run_ids: Iterable[str]) -> None:
        """Publish all entries that the file has of these runs. They are about to be deleted."""
        while not self._copies.keys().isdisjoint(run_ids):
            if self._read(checks_all=True):
                return
            await asyncio.sleep(0)

    def stop(self) -> None:
        """End all readers. They may resume in another process."""
        for copy in self._copies.values():
            copy.run.end()
        self._copies.clear()

    async def _poll_forever(self) -> None:
        clock = asyncio.get_running_loop().time
        version, check_at = -1, 0.0
        while self._copies:
            delay = POLL_INTERVAL_S
            try:
                is_check_due = clock() >= check_at
                if is_check_due:
                    check_at = clock() + END_CHECK_INTERVAL_S
                found = self._database.read_version()
                if found != version or is_check_due:
                    is_complete = self._read(checks_all=is_check_due)
                    version = found if is_complete else -1
                    delay = POLL_INTERVAL_S if is_complete else 0.0
            except sqlite3.Error as error:
                logger.warning("cannot follow the runs of other processes, retrying: %s", error)
                delay = RETRY_INTERVAL_S
            await asyncio.sleep(delay)

    def _read(self, *, checks_all: bool) -> bool:
        """Publish new entries, and end the runs that have ended. Returns whether all rows were read."""
        for run_id in [run_id for run_id, copy in self._copies.items() if not copy.run.readers]:
            del self._copies[run_id]
        copies = {copy.key: copy for copy in self._copies.values()}
        if not copies:
            return True
        last_row = self._database.last_row()
        rows = self._database.read_tail(min(one.row for one in copies.values()), list(copies), BATCH_ROWS)
        is_complete = len(rows) < BATCH_ROWS
        for row in rows:
            self._publish(copies[row[1]], row)
        for copy in copies.values():
            copy.row = max(copy.row, last_row if is_complete else rows[-1][0])
        if is_complete:
            ended = self._database.find_ended([key for key, one in copies.items() if checks_all or one.has_last_event])
            self._end([copies[key] for key in ended])
        return is_complete

    def _publish(self, copy: RunCopy, row: TailRow) -> None:
        number, _, epoch, first_seq, events = row
        if number <= copy.row or copy.failure:
            return
        copy.row = number
        try:
            copy.publish(epoch, first_seq, events)
        except UnreadableEvent as error:
            logger.error("cannot follow run %s any further: %s", copy.run.id, error)
            copy.failure = error
            self._remove(copy)

    def _end(self, copies: Collection[RunCopy]) -> None:
        for copy in copies:
            state = self._database.read_state(copy.run.id)
            if state is not None and copy.run.visible_seq < state.last_seq:
                copy.run.skip_to(state.last_seq)  # its last rows are newer, or were compacted before they were read
            self._remove(copy)

    def _remove(self, copy: RunCopy) -> None:
        copy.run.end()
        if self._copies.get(copy.run.id) is copy:
            del self._copies[copy.run.id]
