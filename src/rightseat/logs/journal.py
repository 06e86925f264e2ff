"""The file behind the log: its tables, and every statement that reads or writes them. Nothing here waits for a loop.

`log_journal` takes what is being said, in the order in which it is said, whichever run it belongs to. It has no index
besides its row number: that makes a piece four times cheaper to write than a row under its run's key. A run's rows lie
between two numbers that its row in `log_runs` knows. Once a run has ended they become one text in that row.
Who may write a run is looked up only when another connection has written to the file since it was last looked up.
"""

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rightseat.core import codec
from rightseat.core.errors import ConfigError, RunExists, RunNotFound, StaleWriter, UnreadableEvent
from rightseat.core.log import Entry
from rightseat.erasure import overwrite_deleted
from rightseat.logs import stretches

logger = logging.getLogger(__name__)

VERSION = 1
NEVER = 1e12  # a time to come
PATIENCE = 10.0  # seconds to wait for another connection that writes

SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS log_runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    ended REAL,                         -- unix time; NULL while it is written
    tidy INTEGER NOT NULL DEFAULT 0,    -- 1 when `entries` has all of it
    first INTEGER NOT NULL,             -- its rows in the journal have higher numbers,
    last INTEGER,                       -- and none above this one
    entries TEXT
);
CREATE INDEX IF NOT EXISTS log_untidy ON log_runs (ended) WHERE tidy = 0;
CREATE TABLE IF NOT EXISTS log_journal (
    number INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,               -- of the first of the events
    events TEXT NOT NULL
);
PRAGMA user_version = 1;
COMMIT;
"""
CREATE = """
INSERT INTO log_runs (id, epoch, first)
VALUES (?, 0, (SELECT coalesce(max(number), 0) FROM log_journal))
"""
APPEND = "INSERT INTO log_journal (run, epoch, seq, events) VALUES (?, ?, ?, ?)"
END = """
UPDATE log_runs SET ended = ?, last = (SELECT coalesce(max(number), 0) FROM log_journal) WHERE key = ? AND epoch = ?
"""
# The highest number stays taken: the next ones are counted from it. `BLANK` leaves nothing else of its row.
CLEAR = """
DELETE FROM log_journal
WHERE number > ? AND number <= ? AND run = ? AND number < (SELECT max(number) FROM log_journal)
"""
BLANK = "UPDATE log_journal SET events = '[]' WHERE run = ? AND number = (SELECT max(number) FROM log_journal)"
SWEEP = """
DELETE FROM log_journal
WHERE number <= coalesce((SELECT min(first) FROM log_runs WHERE tidy = 0), 9223372036854775807)
AND number < (SELECT max(number) FROM log_journal)
"""
READ = """
SELECT runs.entries, rows.epoch, rows.seq, rows.events
FROM log_runs AS runs LEFT JOIN log_journal AS rows
    ON rows.run = runs.key AND rows.number > runs.first AND rows.number <= coalesce(runs.last, 9223372036854775807)
WHERE runs.id = ? ORDER BY rows.number
"""

Row = tuple[int, int, int, str]
"""A run's key, the epoch, the number of the first event, the events."""


class Journal:
    """One connection. Reading is one statement each time, and so never sees half of a change."""

    def __init__(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self._set_up()
        except sqlite3.DatabaseError as error:
            raise ConfigError(f"The log {path} cannot be opened: {error}.") from error
        self.execute = self._connection.execute
        self._version = -1
        self._sure: set[tuple[int, int]] = set()  # runs and epochs: nobody has taken them over

    def _set_up(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit is in the system's hands when it returns: killing the process loses nothing. A power cut may take the
        # last seconds, and leaves the file whole.
        connection.execute("PRAGMA synchronous = NORMAL")
        overwrite_deleted(connection)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise sqlite3.DatabaseError(f"a newer rightseat wrote it (version {version}, this one knows {VERSION})")
        if version < VERSION:
            connection.executescript(SCHEMA)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")

    # Writing, inside a transaction

    def append(self, rows: Sequence[Row]) -> dict[int, int]:
        """Write what may be written. Returns the runs that others have taken over, with their epochs."""
        stale = self._stale(rows)
        self._connection.executemany(APPEND, [row for row in rows if row[0] not in stale] if stale else rows)
        return stale

    def _stale(self, rows: Sequence[Row]) -> dict[int, int]:
        """Who was sure stays sure until another connection has written something, whatever it was."""
        (version,) = self.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._sure.clear()
        unsure = [row[:2] for row in rows if row[:2] not in self._sure]
        current = {key: self._epoch(key) for key, _ in unsure}
        self._sure.update((key, epoch) for key, epoch in unsure if current[key] == epoch)
        return {key: current[key] for key, epoch in unsure if current[key] != epoch}

    def create(self, run_id: str) -> int:
        try:
            return self.execute(CREATE, (run_id,)).lastrowid or 0
        except sqlite3.IntegrityError:
            raise RunExists(run_id) from None

    def claim(self, run_id: str, epoch: int) -> tuple[int, int]:
        """Shut out everyone with a lower epoch. Returns the run's key and the number of its last entry."""
        found = self.execute("SELECT key, epoch FROM log_runs WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            raise RunNotFound(run_id)
        key, current = found
        if epoch <= current:
            raise StaleWriter(run_id, epoch, current)
        entries = self.read(run_id)
        self.execute("UPDATE log_runs SET epoch = ?, ended = NULL, tidy = 0, last = NULL WHERE key = ?", (epoch, key))
        self._sure.discard((key, current))
        return key, entries[-1].seq if entries else 0

    def end(self, key: int, epoch: int, now: float) -> None:
        self.execute(END, (now, key, epoch))
        self._sure.discard((key, epoch))

    def forget(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            found = self.execute("SELECT key, first, last FROM log_runs WHERE id = ?", (run_id,)).fetchone()
            if found is not None:
                self._clear(*found)
                self.execute(BLANK, found[:1])
                self.execute("DELETE FROM log_runs WHERE key = ?", found[:1])

    def tidy(self, before: float, most: int) -> int:
        """Make one text of the rows of runs that ended before then. Returns how many runs that were."""
        due = "SELECT id, key, first, last FROM log_runs WHERE tidy = 0 AND ended < ? ORDER BY ended LIMIT ?"
        found = self.execute(due, (before, most)).fetchall()
        for run_id, key, first, last in found:
            try:
                earlier, entries = self._read(run_id)
                text = stretches.encode(entries, earlier).decode()
            except UnreadableEvent as error:
                logger.warning("run %s stays as it is: %s", run_id, error)
                self.execute("UPDATE log_runs SET ended = ? WHERE key = ?", (NEVER, key))
                continue
            self._clear(key, first, last)
            self.execute("UPDATE log_runs SET tidy = 1, entries = ?, first = last WHERE key = ?", (text, key))
        if found:
            self.execute(SWEEP)
        return len(found)

    def _clear(self, key: int, first: int, last: int | None) -> None:
        self.execute(CLEAR, (first, last or 2**62, key))

    def _epoch(self, key: int) -> int:
        found = self.execute("SELECT epoch FROM log_runs WHERE key = ?", (key,)).fetchone()
        return found[0] if found else 2**62  # it was forgotten: nobody may write it

    # Reading

    def has(self, run_id: str) -> bool:
        return self.execute("SELECT 1 FROM log_runs WHERE id = ?", (run_id,)).fetchone() is not None

    def read(self, run_id: str, after: int = 0) -> list[Entry]:
        earlier, entries = self._read(run_id, after)
        return stretches.decode(earlier, after) + entries if earlier else entries

    def _read(self, run_id: str, after: int = 0) -> tuple[str | None, list[Entry]]:
        """What was made one text, and the rows that came after it."""
        rows = self.execute(READ, (run_id,)).fetchall()
        if not rows:
            raise RunNotFound(run_id)
        said = [(epoch, seq, codec.decode_all(events)) for _, epoch, seq, events in rows if events is not None]
        numbered = ((epoch, number, event) for epoch, seq, events in said for number, event in enumerate(events, seq))
        return rows[0][0], [Entry(*one) for one in numbered if one[1] > after]

    def unended(self) -> list[tuple[str, int]]:
        return self.execute("SELECT id, epoch FROM log_runs WHERE tidy = 0 AND ended IS NULL").fetchall()
