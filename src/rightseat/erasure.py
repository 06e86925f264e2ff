"""Erases deleted rows from a SQLite file: from its pages, and from its write-ahead log.

SQLite keeps deleted rows in three places:

1. the pages that held them: `secure_delete` overwrites those;
2. the write-ahead log, until it is overwritten: a checkpoint truncates it;
3. sometimes the unused middle of a page whose rows were moved to another page, which `secure_delete` does not reach:
   `VACUUM` rewrites the file if it is small enough to do so while a server runs.
"""

import asyncio
import logging
import sqlite3
import time
from pathlib import Path

from rightseat.concurrency import cancel_and_wait

logger = logging.getLogger(__name__)

DELAY_S = 0.2
"""Deletions within this time are erased together."""
RETRY_S = 0.25
WARN_AFTER_S = 5.0
CLOSING_S = 3.0
MAX_VACUUM_BYTES = 64 * 2**20
VACUUM_SHARE = 0.1
"""The share of time that VACUUM may take. Other connections cannot write during a VACUUM."""
LOCK_TIMEOUT_S = 1.0
READER_TIMEOUT_S = 0.05
"""How long a checkpoint waits for readers. No connection can write meanwhile."""
ERASING_ID = 0x52534552
"""The `application_id` of a file in which every deleted row was overwritten."""


class Eraser:
    """Erases deleted rows in the background, beside other connections to the file. Use it in one event loop only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._requested = asyncio.Event()
        self._vacuum_after = 0.0
        self._task = asyncio.create_task(self._run())

    def request(self) -> None:
        """Call this after a deletion is committed."""
        self._requested.set()

    async def close(self) -> None:
        """Pending deletions are erased first, unless other connections keep the file busy."""
        await cancel_and_wait(self._task)
        if self._requested.is_set():
            await erase_now(self._path)

    async def _run(self) -> None:
        while True:
            await self._requested.wait()
            await asyncio.sleep(max(DELAY_S, self._vacuum_after - time.monotonic()))
            self._requested.clear()
            try:
                await self._erase()
            except BaseException:
                self._requested.set()  # the request is still pending
                raise

    async def _erase(self) -> None:
        began, is_reported = time.monotonic(), False
        while True:
            started = time.monotonic()
            try:
                if await asyncio.to_thread(erase, self._path):
                    self._vacuum_after = time.monotonic() + (time.monotonic() - started) / VACUUM_SHARE
                    return
                problem = "other processes are reading it"
            except (sqlite3.Error, OSError) as error:
                problem = str(error)
            if not is_reported and time.monotonic() - began > WARN_AFTER_S:
                logger.warning("deleted data of %s is not erased yet, retrying: %s", self._path, problem)
                is_reported = True
            await asyncio.sleep(RETRY_S)


async def erase_now(path: Path) -> None:
    """Overwrite deleted rows. If other connections lock the file for too long, log a warning instead."""
    until = time.monotonic() + CLOSING_S
    while not await asyncio.to_thread(erase, path):
        if time.monotonic() > until:
            logger.warning("%s is in use: deleted data is erased after the next deletion, or by `VACUUM`", path)
            return
        await asyncio.sleep(RETRY_S)


def erase(path: Path) -> bool:
    """Overwrite deleted rows. False if other connections lock the file; the caller tries again."""
    if not path.exists():
        return True
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)
    try:
        overwrite_deleted(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        if path.stat().st_size <= MAX_VACUUM_BYTES:
            vacuum(connection)
        connection.execute(f"PRAGMA busy_timeout = {READER_TIMEOUT_S * 1000:.0f}")
        is_busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy
    except sqlite3.OperationalError as error:
        if is_locked(error):
            return False
        raise
    finally:
        connection.close()


def overwrite_deleted(connection: sqlite3.Connection) -> None:
    """Make this connection overwrite the rows that it deletes. Many builds of SQLite do so by default, but not all."""
    connection.execute("PRAGMA secure_delete = ON")


def clean_file(path: Path) -> None:
    """Erase, once per file, rows that earlier versions deleted without overwriting. A new file is only marked."""
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)
    try:
        overwrite_deleted(connection)
        if connection.execute("PRAGMA application_id").fetchone()[0] == ERASING_ID:
            return
        if connection.execute("PRAGMA page_count").fetchone()[0] > 0:
            logger.info("rewriting %s without its deleted data", path)
            vacuum(connection)
        connection.execute(f"PRAGMA application_id = {ERASING_ID}")
    except sqlite3.OperationalError as error:
        if not is_locked(error):
            raise
        logger.warning("%s is in use: data deleted earlier is erased at the next start", path)
    finally:
        connection.close()


def vacuum(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA temp_store = MEMORY")  # no copy of the content in another folder
    connection.execute("VACUUM")


def is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
