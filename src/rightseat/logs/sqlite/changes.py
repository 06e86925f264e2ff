"""Announcements of changes between the workers of one SQLite file, and from commands beside them.

They are rows of a table. `PRAGMA data_version` returns within microseconds whether another connection has written to
the file; it is queried ten times a second, once a list is open (decision 0019).
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

from rightseat.erasure import overwrite_deleted
from rightseat.sqlite_writer import BUSY_TIMEOUT_S

POLL_INTERVAL_S = 0.1
KEPT_S = 60.0
"""So long an announcement stays. Workers read it within a second."""
MAX_ROWS = 1000

CREATE = """
CREATE TABLE IF NOT EXISTS log_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, sent_at REAL NOT NULL, message TEXT NOT NULL
)
"""
READ = "SELECT number, message FROM log_changes WHERE number > ? ORDER BY number LIMIT ?"
LAST = "SELECT coalesce(max(number), 0) FROM log_changes"


class SqliteChanges:
    """`is_alone`: no other process follows what this one changes, so it announces nothing."""

    def __init__(self, path: Path, *, is_alone: bool) -> None:
        self._path = path
        self._is_alone = is_alone

    async def send(self, messages: Sequence[bytes]) -> None:
        if not self._is_alone:
            await asyncio.to_thread(self._write, messages)

    def _write(self, messages: Sequence[bytes]) -> None:
        now = time.time()
        with closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM log_changes WHERE sent_at < ?", (now - KEPT_S,))
            rows = [(now, message.decode()) for message in messages]
            connection.executemany("INSERT INTO log_changes (sent_at, message) VALUES (?, ?)", rows)
            connection.execute("COMMIT")

    async def receive(self) -> AsyncIterator[Sequence[bytes]]:
        with closing(await asyncio.to_thread(self._connect)) as connection:  # `data_version` is of each connection
            [last] = connection.execute(LAST).fetchone()
            version = -1
            yield ()
            while True:
                [found] = connection.execute("PRAGMA data_version").fetchone()
                if found != version:
                    rows = connection.execute(READ, (last, MAX_ROWS)).fetchall()
                    if rows:
                        last = rows[-1][0]
                        yield [message.encode() for _, message in rows]
                    version = found if len(rows) < MAX_ROWS else -1
                await asyncio.sleep(POLL_INTERVAL_S)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        overwrite_deleted(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(CREATE)
        return connection
