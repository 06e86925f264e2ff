"""The tables of the log in a SQLite file, and all statements that read or write them. Synchronous.

`log_records` takes the events of all runs in the order in which they are appended. It has no index besides its row
number: that makes an insert four times cheaper than one below its run's key. The rows of a run lie between two numbers
that its row in `log_runs` holds. Once a run has ended, they are compacted into one text in that row.
A writer's epoch is checked only when another connection has written to the file since the last check.
"""

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from rightseat.core.errors import ConfigError, RunExists, RunNotFound, StaleWriter, UnreadableEvent
from rightseat.core.log import Entry
from rightseat.core.stream import codec
from rightseat.erasure import overwrite_deleted
from rightseat.logs.sqlite import compaction
from rightseat.sqlite_writer import BUSY_TIMEOUT_S

logger = logging.getLogger(__name__)

VERSION = 1
NEVER_COMPACTED = 1e12  # as `ended_at`: a time in the far future

SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS log_runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    ended_at REAL,                              -- unix time; NULL while it is written
    is_compacted INTEGER NOT NULL DEFAULT 0,    -- 1 if `compacted` has all its entries
    rows_after INTEGER NOT NULL,                -- its rows in `log_records` have higher numbers,
    last_row INTEGER,                           -- and none above this one
    compacted TEXT                              -- entries, as `compaction` encodes them
);
CREATE INDEX IF NOT EXISTS log_uncompacted ON log_runs (ended_at) WHERE is_compacted = 0;
CREATE TABLE IF NOT EXISTS log_records (
    number INTEGER PRIMARY KEY,
    run_key INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,         -- of the first of the events
    events TEXT NOT NULL
);
PRAGMA user_version = 1;
COMMIT;
"""
CREATE = """
INSERT INTO log_runs (id, epoch, rows_after)
VALUES (?, ?, (SELECT coalesce(max(number), 0) FROM log_records))
"""
APPEND = "INSERT INTO log_records (run_key, epoch, first_seq, events) VALUES (?, ?, ?, ?)"
END = """
UPDATE log_runs SET ended_at = ?, last_row = (SELECT coalesce(max(number), 0) FROM log_records)
WHERE key = ? AND epoch = ?
"""
# The row with the highest number stays, because SQLite counts on from it; `BLANK_LAST_ROW` removes its events.
DELETE_ROWS = """
DELETE FROM log_records
WHERE number > ? AND number <= ? AND run_key = ? AND number < (SELECT max(number) FROM log_records)
"""
BLANK_LAST_ROW = """
UPDATE log_records SET events = '[]' WHERE run_key = ? AND number = (SELECT max(number) FROM log_records)
"""
SET_COMPACTED = "UPDATE log_runs SET is_compacted = 1, compacted = ?, rows_after = last_row WHERE key = ?"
DELETE_COMPACTED = """
DELETE FROM log_records
WHERE number <= coalesce((SELECT min(rows_after) FROM log_runs WHERE is_compacted = 0), 9223372036854775807)
AND number < (SELECT max(number) FROM log_records)
"""
FIND_DUE = """
SELECT id, key, rows_after, last_row FROM log_runs WHERE is_compacted = 0 AND ended_at < ? ORDER BY ended_at LIMIT ?
"""
READ = """
SELECT runs.compacted, rows.epoch, rows.first_seq, rows.events
FROM log_runs AS runs LEFT JOIN log_records AS rows
    ON rows.run_key = runs.key AND rows.number > runs.rows_after
    AND rows.number <= coalesce(runs.last_row, 9223372036854775807)
WHERE runs.id = ? ORDER BY rows.number
"""

# One statement sees one snapshot: every later entry of the run is in a row above the last number.
READ_STATE = """
SELECT key, ended_at IS NOT NULL, compacted,
    (SELECT max(first_seq + json_array_length(events)) - 1 FROM log_records
    WHERE run_key = log_runs.key AND number > rows_after AND number <= coalesce(last_row, 9223372036854775807)),
    (SELECT coalesce(max(number), 0) FROM log_records)
FROM log_runs WHERE id = ?
"""
FIND_ENDED = """
SELECT value FROM json_each(?) LEFT JOIN log_runs ON log_runs.key = value
WHERE log_runs.key IS NULL OR ended_at IS NOT NULL
"""
READ_TAIL = """
SELECT number, run_key, epoch, first_seq, events FROM log_records
WHERE number > ? AND run_key IN (SELECT value FROM json_each(?)) ORDER BY number LIMIT ?
"""

EntryRow = tuple[int, int, int, str]
"""A run's key, the epoch, the number of the first event, the events."""
TailRow = tuple[int, int, int, int, str]
"""The number of the row, then the columns of an `EntryRow`."""


class RunState(NamedTuple):
    """The log of a run at one moment. `last_row` is the last row of all runs then."""

    key: int
    is_ended: bool
    last_seq: int
    last_row: int


class LogDatabase:
    """One connection. Each read is one statement, and so never sees half of a change."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.execute = self._connection.execute
        self._version = -1
        self._current_epochs: set[tuple[int, int]] = set()  # (run key, epoch) pairs that were current when last checked

    @classmethod
    def open(cls, path: Path) -> Self:
        """Create the tables if the file has none. Raises `ConfigError`."""
        try:
            connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            found = cls(connection)
            found._set_up()
        except sqlite3.DatabaseError as error:
            raise ConfigError(f"The log {path} cannot be opened: {error}.") from error
        return found

    def _set_up(self) -> None:
        connection = self._connection
        overwrite_deleted(connection)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise sqlite3.DatabaseError(
                f"its tables have version {version}, but this rightseat knows only {VERSION}; upgrade it"
            )
        if version < VERSION:
            connection.executescript(SCHEMA)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            self.check_version()
            yield
            self.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self.forget_epochs()
                self.execute("ROLLBACK")

    def forget_epochs(self) -> None:
        """Call this after a rollback."""
        self._current_epochs.clear()

    def check_version(self) -> None:
        """An epoch that is current stays so until another connection has written to the file."""
        version = self.read_version()
        if version != self._version:
            self._version = version
            self._current_epochs.clear()

    # Writing, inside a transaction

    def append(self, rows: Sequence[EntryRow]) -> dict[int, int]:
        """Write the rows of current writers. Returns the keys of runs that others have claimed, with their epochs."""
        stale = self._find_stale(rows)
        self._connection.executemany(APPEND, [row for row in rows if row[0] not in stale] if stale else rows)
        return stale

    def _find_stale(self, rows: Sequence[EntryRow]) -> dict[int, int]:
        unchecked = [row[:2] for row in rows if row[:2] not in self._current_epochs]
        current = {key: self._epoch(key) for key, _ in unchecked}
        self._current_epochs.update((key, epoch) for key, epoch in unchecked if current[key] == epoch)
        return {key: current[key] for key, epoch in unchecked if current[key] != epoch}

    def create(self, run_id: str, epoch: int) -> int:
        """Create the run under its writer's epoch. Returns its key."""
        try:
            key = self.execute(CREATE, (run_id, epoch)).lastrowid or 0
        except sqlite3.IntegrityError:
            raise RunExists(run_id) from None
        self._current_epochs.add((key, epoch))
        return key

    def claim(self, run_id: str, epoch: int) -> tuple[int, int]:
        """Fence off writers with lower epochs. Returns the run's key and the number of its last entry."""
        found = self.execute("SELECT key, epoch FROM log_runs WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            raise RunNotFound(run_id)
        key, current = found
        if epoch <= current:
            raise StaleWriter(run_id, epoch, current)
        entries = self.read(run_id)
        claim = "UPDATE log_runs SET epoch = ?, ended_at = NULL, is_compacted = 0, last_row = NULL WHERE key = ?"
        self.execute(claim, (epoch, key))
        self._current_epochs.discard((key, current))
        return key, entries[-1].seq if entries else 0

    def end(self, key: int, epoch: int, now: float) -> bool:
        """Return False if the run has a writer with a higher epoch, which ends it."""
        self._current_epochs.discard((key, epoch))
        return self.execute(END, (now, key, epoch)).rowcount > 0

    def delete(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            found = self.execute("SELECT key, rows_after, last_row FROM log_runs WHERE id = ?", (run_id,)).fetchone()
            if found is not None:
                self._delete_rows(*found)
                self.execute(BLANK_LAST_ROW, found[:1])
                self.execute("DELETE FROM log_runs WHERE key = ?", found[:1])

    def compact(self, before: float, limit: int) -> int:
        """Compact runs that ended before then, at most `limit`. Returns how many."""
        found = self.execute(FIND_DUE, (before, limit)).fetchall()
        for run_id, key, rows_after, last_row in found:
            try:
                compacted, entries = self._read(run_id)
                text = compaction.encode(entries, compacted).decode()
            except UnreadableEvent as error:
                logger.warning("run %s is not compacted: %s", run_id, error)
                self.execute("UPDATE log_runs SET ended_at = ? WHERE key = ?", (NEVER_COMPACTED, key))
                continue
            self._delete_rows(key, rows_after, last_row)
            self.execute(SET_COMPACTED, (text, key))
        if found:
            self.execute(DELETE_COMPACTED)
        return len(found)

    def _delete_rows(self, key: int, rows_after: int, last_row: int | None) -> None:
        self.execute(DELETE_ROWS, (rows_after, last_row or 2**62, key))

    def _epoch(self, key: int) -> int:
        found = self.execute("SELECT epoch FROM log_runs WHERE key = ?", (key,)).fetchone()
        return found[0] if found else 2**62  # it was deleted, so no epoch may write it

    # Reading

    def has(self, run_id: str) -> bool:
        return self.execute("SELECT 1 FROM log_runs WHERE id = ?", (run_id,)).fetchone() is not None

    def read(self, run_id: str, after: int = 0) -> list[Entry]:
        compacted, entries = self._read(run_id, after)
        return compaction.decode(compacted, after) + entries if compacted else entries

    def _read(self, run_id: str, after: int = 0) -> tuple[str | None, list[Entry]]:
        """The compacted text, and the entries of the rows after it."""
        rows = self.execute(READ, (run_id,)).fetchall()
        if not rows:
            raise RunNotFound(run_id)
        decoded = [(epoch, seq, codec.decode_all(events)) for _, epoch, seq, events in rows if events is not None]
        entries = [Entry(epoch, n, event) for epoch, seq, events in decoded for n, event in enumerate(events, seq)]
        return rows[0][0], [entry for entry in entries if entry.seq > after]

    def read_state(self, run_id: str) -> RunState | None:
        """None if there is no such run."""
        found = self.execute(READ_STATE, (run_id,)).fetchone()
        if found is None:
            return None
        key, is_ended, compacted, last_seq, last_row = found
        if last_seq is None:
            entries = compaction.decode(compacted) if compacted else ()
            last_seq = entries[-1].seq if entries else 0
        return RunState(key, bool(is_ended), last_seq, last_row)

    def read_version(self) -> int:
        """A number that changes when another connection, of this or another process, has written to the file."""
        (version,) = self.execute("PRAGMA data_version").fetchone()
        return int(version)

    def last_row(self) -> int:
        (number,) = self.execute("SELECT coalesce(max(number), 0) FROM log_records").fetchone()
        return int(number)

    def find_ended(self, keys: Sequence[int]) -> set[int]:
        """Those of the runs that have ended, or were deleted."""
        return {key for (key,) in self.execute(FIND_ENDED, (json.dumps(keys),))}

    def read_tail(self, after_row: int, keys: Sequence[int], limit: int) -> list[TailRow]:
        """The next rows of these runs."""
        return self.execute(READ_TAIL, (after_row, json.dumps(keys), limit)).fetchall()

    def list_unended(self) -> list[tuple[str, int]]:
        return self.execute("SELECT id, epoch FROM log_runs WHERE is_compacted = 0 AND ended_at IS NULL").fetchall()
