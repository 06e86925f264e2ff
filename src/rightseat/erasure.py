"""Erases what was deleted from a SQLite file: from its pages, and from its write-ahead log.

SQLite keeps deleted rows in three places. In the pages that held them: `secure_delete` overwrites those. In the
write-ahead log, until it is overwritten: a checkpoint truncates it. And now and then in the unused middle of a page
whose rows were moved to another one, which `secure_delete` does not reach: `VACUUM` writes the file anew, where it is
small enough to do that while a server runs.
"""

import asyncio
import logging
import sqlite3
import time
from pathlib import Path

logger = logging.getLogger(__name__)

DELAY_S = 0.2
"""Deletions within so many seconds are erased together."""
RETRY_S = 0.25
WARN_AFTER_S = 5.0
CLOSING_S = 3.0
MAX_VACUUM_BYTES = 64 * 2**20
VACUUM_SHARE = 0.1
"""The part of the time that may be spent on VACUUM, during which others cannot write."""
LOCK_TIMEOUT_S = 1.0
READER_TIMEOUT_S = 0.05
"""How long a checkpoint waits for readers. Nobody can write meanwhile."""
ERASING_ID = 0x52534552
"""The `application_id` of a file from which nothing was ever deleted without being overwritten."""


class Eraser:
    """Works beside the connections of a file. To be made, used and closed in one event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._requested = asyncio.Event()
        self._vacuum_after = 0.0
        self._task = asyncio.create_task(self._run())

    def request(self) -> None:
        """Something was deleted, and committed."""
        self._requested.set()

    async def close(self) -> None:
        """What was deleted before is erased first, unless others keep the file busy."""
        self._task.cancel()
        await asyncio.wait((self._task,))
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
                self._requested.set()  # it is not done
                raise

    async def _erase(self) -> None:
        began, is_reported = time.monotonic(), False
        while True:
            started = time.monotonic()
            try:
                if await asyncio.to_thread(erase, self._path):
                    self._vacuum_after = time.monotonic() + (time.monotonic() - started) / VACUUM_SHARE
                    return
                problem = "others read it"
            except (sqlite3.Error, OSError) as error:
                problem = str(error)
            if not is_reported and time.monotonic() - began > WARN_AFTER_S:
                logger.warning(
                    "what was deleted from %s is not erased yet, and is tried again: %s", self._path, problem
                )
                is_reported = True
            await asyncio.sleep(RETRY_S)


async def erase_now(path: Path) -> None:
    """Overwrite what was deleted, and wait for it. Where others hold the file for too long, a warning says so."""
    until = time.monotonic() + CLOSING_S
    while not await asyncio.to_thread(erase, path):
        if time.monotonic() > until:
            logger.warning(
                "%s is in use: what was deleted from it is erased after the next deletion, or by `VACUUM`", path
            )
            return
        await asyncio.sleep(RETRY_S)


def erase(path: Path) -> bool:
    """Overwrite what was deleted. False if others hold the file, and it has to be tried again."""
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
    """Have this connection overwrite what it deletes. Many builds of SQLite do so by themselves; not all."""
    connection.execute("PRAGMA secure_delete = ON")


def clean_file(path: Path) -> None:
    """Erase once what was deleted before deleted rows were overwritten. A new file is only marked."""
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)
    try:
        overwrite_deleted(connection)
        if connection.execute("PRAGMA application_id").fetchone()[0] == ERASING_ID:
            return
        if connection.execute("PRAGMA page_count").fetchone()[0] > 0:
            logger.info("writing %s anew, without what was deleted from it", path)
            vacuum(connection)
        connection.execute(f"PRAGMA application_id = {ERASING_ID}")
    except sqlite3.OperationalError as error:
        if not is_locked(error):
            raise
        logger.warning("%s is in use: what was deleted from it before is erased at the next start", path)
    finally:
        connection.close()


def vacuum(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA temp_store = MEMORY")  # no copy of the content in another folder
    connection.execute("VACUUM")


def is_locked(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
