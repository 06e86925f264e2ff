"""A run of a log that a server keeps, as this process knows it: written here, or copied from what another writes.

Both are followed alike (`logs.live`). Only the last entries are in memory, and who is further behind reads the rest
from the server. So one who is slow holds up nobody, as long as another keeps up. Where all who follow a run in the
process that writes it are slow, its writer waits for the first of them, and its model with it; but no longer than
`PATIENCE` seconds. Then it goes on without them, until one of them has come to where it was. With nobody following
here, a run goes on unhindered.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence

from rightseat.core.errors import RightseatError
from rightseat.core.log import Entry, Position
from rightseat.logs.live import BACKLOG, Run
from rightseat.logs.pieces import Cursor, Page, Piece

WINDOW = 256
"""About how many entries of a run are in memory for those who follow, and how far it may be ahead of all of them."""
PATIENCE = 30.0  # seconds

ReadPage = Callable[[str, Position], Awaitable[Page]]


class SharedRun(Run):
    """`cursor` is where its log ends, as far as we know. `is_ours` while a writer in this process has it."""

    __slots__ = ("_epochs", "_starts", "_waits_from", "cursor", "failure", "is_ours")

    def __init__(self, cursor: Cursor, read: ReadPage) -> None:
        super().__init__(cursor.run_id, forgets=True, seq=cursor.seq, older=self._older_from(read))
        self.cursor = cursor
        self.failure: RightseatError | None = None
        self.is_ours = False
        self._waits_from = 0  # who has not come to this number was waited for, in vain
        # Which epoch wrote which numbers: from the first of `_starts` on the first of `_epochs`, and so on.
        self._starts = [cursor.seq]
        self._epochs = [cursor.said.epoch]

    def show(self, entry: Entry) -> None:
        if entry.epoch != self._epochs[-1]:
            self._starts.append(entry.seq)
            self._epochs.append(entry.epoch)
        super().show(entry)
        if len(self.entries) > 2 * WINDOW:
            del self.entries[:WINDOW]
            self.forgotten += WINDOW

    def is_crowded(self) -> bool:
        return self.seq - self.shown > BACKLOG or self._is_unread()

    def _is_unread(self) -> bool:
        if not self.readers:
            return False
        first = max([reader.seen for reader in self.readers])
        return self.shown - first > WINDOW and first >= self._waits_from

    async def wait_for_room(self, epoch: int) -> None:
        """Once, and not until there is room: what its writer heard meanwhile may be a reason not to wait any more."""
        self.room = asyncio.get_running_loop().create_future()
        came, _ = await asyncio.wait((self.room,), timeout=PATIENCE)
        if not came and self._is_unread():
            self._waits_from = self.shown

    def can_serve(self, reader: Cursor) -> bool:
        """Is all that this reader has not seen in memory, or still to come?

        Its place has to be one of this log: what was begun anew after a loss has the same numbers once more.
        """
        if self.shown < reader.seq <= self.seq:
            return reader.said.epoch == self.epoch  # it was said here, and is on its way
        return self.forgotten <= reader.seq <= self.shown and reader.said == self.place_of(reader.seq)

    def is_behind(self, reader: Cursor) -> bool:
        """Is this a copy that has not come as far as the reader, or one of a log that is gone?"""
        return not self.is_ours and self.cursor.at < reader.at

    def place_of(self, number: int) -> Position:
        """The id of an entry that came after this run was first heard of here."""
        return Position(self._epochs[max(bisect_right(self._starts, number) - 1, 0)], number)

    def feed(self, pieces: Sequence[Piece]) -> None:
        """More of what another writes."""
        for entry in self.cursor.read(pieces):
            self.show(entry)
        self.seq = self.shown
        if self.cursor.gone:
            self.fail(self.cursor.gone)
        elif self.cursor.is_ended:
            self.end()

    def fail(self, failure: RightseatError) -> None:
        """Who follows is told, after what there was."""
        self.failure = failure
        self.end()

    def _older_from(self, read: ReadPage) -> Callable[[int, int], Awaitable[Sequence[Entry]]]:
        async def older(seen: int, until: int) -> Sequence[Entry]:
            reader = Cursor(self.id, self.place_of(seen))
            while True:
                page = await read(self.id, reader.at)
                if found := [entry for entry in reader.read(page.pieces) if entry.seq <= until]:
                    return found
                if reader.gone:
                    raise reader.gone
                if page.is_last:
                    return ()

        return older
