"""This process's view of one run of a shared log: written here, or copied from another process's records.

Both are followed alike (`logs.run_buffer`). Only the last entries are in memory; a reader that is further behind reads
the rest from the server. So a slow reader holds up no other as long as one of them keeps up. If all local readers of a
run that is written here are slow, its writer (and with it the model) waits for the fastest of them, at most
`SLOW_READER_TIMEOUT_S`. After that it continues without them until one has reached that point. Without local readers
the writer never waits.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence

from rightseat.core.errors import RightseatError
from rightseat.core.log import Entry, Position
from rightseat.logs.run_buffer import MAX_UNCOMMITTED_ENTRIES, RunBuffer
from rightseat.logs.shared.records import Cursor, Record, RecordPage

WINDOW_ENTRIES = 256
"""About how many entries of a run are in memory for readers, and how far a writer may be ahead of all of them."""
LONG_ENTRY_BYTES = 512
"""A run with longer entries has a smaller window, of as many bytes as a full one of entries of this size."""
MIN_WINDOW_ENTRIES = 8
UNCOMMITTED_WINDOWS = MAX_UNCOMMITTED_ENTRIES // WINDOW_ENTRIES
SLOW_READER_TIMEOUT_S = 30.0

ReadPage = Callable[[Cursor], Awaitable[RecordPage]]


class SharedRun(RunBuffer):
    """`cursor` is the known end of the log. `is_written_here` is true while a writer in this process owns the run."""

    __slots__ = ("_epochs", "_ignores_readers_below", "_starts", "cursor", "failure", "is_written_here", "window")

    def __init__(self, cursor: Cursor, read: ReadPage) -> None:
        super().__init__(
            cursor.run_id, drops_read_entries=True, seq=cursor.seq, read_older=self._build_read_older(read)
        )
        self.cursor = cursor
        self.failure: RightseatError | None = None
        self.is_written_here = False
        self.window = WINDOW_ENTRIES
        self._ignores_readers_below = 0  # readers below this number were waited for in vain
        # Which epoch wrote which numbers: `_epochs[i]` those from `_starts[i]` on.
        self._starts = [cursor.seq]
        self._epochs = [cursor.last_entry.epoch]

    def publish(self, entry: Entry) -> None:
        if entry.epoch != self._epochs[-1]:
            self._starts.append(entry.seq)
            self._epochs.append(entry.epoch)
        super().publish(entry)
        if len(self.entries) > 2 * self.window:
            excess = len(self.entries) - self.window
            del self.entries[:excess]
            self.dropped += excess

    def fit_window(self, entry_bytes: int) -> None:
        """Keep fewer entries from now on, because this one is long."""
        self.window = max(MIN_WINDOW_ENTRIES, min(self.window, WINDOW_ENTRIES * LONG_ENTRY_BYTES // entry_bytes))

    def is_full(self) -> bool:
        return self.seq - self.visible_seq > UNCOMMITTED_WINDOWS * self.window or self._are_readers_lagging()

    def _are_readers_lagging(self) -> bool:
        if not self.readers:
            return False
        fastest = max([reader.seen for reader in self.readers])
        return self.visible_seq - fastest > self.window and fastest >= self._ignores_readers_below

    async def wait_for_capacity(self, epoch: int) -> None:
        """Wait once, not until there is capacity: the writer may have failed meanwhile, and checks that itself."""
        self.capacity = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait((self.capacity,), timeout=SLOW_READER_TIMEOUT_S)
        if not done and self._are_readers_lagging():
            self._ignores_readers_below = self.visible_seq

    def can_serve(self, reader: Cursor) -> bool:
        """Whether all entries that this reader has not seen are in memory, or still to come.

        The reader's position must belong to this log: a log that was lost and restarted uses the same numbers again.
        """
        if self.visible_seq < reader.seq <= self.seq:
            return reader.last_entry.epoch == self.epoch  # written here and not acknowledged yet
        return self.dropped <= reader.seq <= self.visible_seq and reader.last_entry == self.position_of(reader.seq)

    def is_behind(self, reader: Cursor) -> bool:
        """Whether this is a copy that has not come as far as the reader, or one of a log that is lost."""
        return not self.is_written_here and self.cursor.position < reader.position

    def position_of(self, number: int) -> Position:
        """The position of an entry that was appended after this process first saw the run."""
        return Position(self._epochs[max(bisect_right(self._starts, number) - 1, 0)], number)

    def feed(self, records: Sequence[Record]) -> None:
        """Publish records that another process wrote."""
        for entry in self.cursor.read(records):
            self.publish(entry)
        self.seq = self.visible_seq
        if self.cursor.truncated:
            self.fail(self.cursor.truncated)
        elif self.cursor.is_ended:
            self.end()

    def fail(self, failure: RightseatError) -> None:
        """Followers first receive the buffered entries, then this error."""
        self.failure = failure
        self.end()

    def _build_read_older(self, read: ReadPage) -> Callable[[int, int], Awaitable[Sequence[Entry]]]:
        async def read_older(seen: int, until: int) -> Sequence[Entry]:
            reader = Cursor(self.id, self.position_of(seen))
            reader.page_records = self.cursor.page_records
            while True:
                page = await read(reader)
                self.cursor.page_records = reader.page_records
                if found := [entry for entry in reader.read(page.records) if entry.seq <= until]:
                    return found
                if reader.truncated:
                    raise reader.truncated
                if page.is_last:
                    return ()

        return read_older
