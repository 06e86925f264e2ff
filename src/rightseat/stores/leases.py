"""A process's word that it lives: a row that it renews, and that counts by the database's clock alone.

It is renewed by a thread that does nothing else, so a process that is busy is not taken for dead. One that was stopped
for longer than its lease is; what it writes afterwards is refused, because its runs have a higher epoch by then.

A process that was killed is found sooner. Its system closes the connection over which it renewed the row, and the
database ends the backend that served it. A row that is half a lease old and whose backend is gone is a dead one's: who
lives and only lost the connection has said so over another by then. When the database itself was started anew, backends
that are gone mean nothing.
"""

import asyncio
import logging
import threading

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

logger = logging.getLogger(__name__)

BEATS = 4  # in a lease

RENEW = """
INSERT INTO processes (id, expires_at, doubted_at, backend, booted_at)
SELECT $1, now.seconds + $2, now.seconds + $3, pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time())
FROM (SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds) AS now
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, doubted_at = excluded.doubted_at,
    backend = excluded.backend, booted_at = excluded.booted_at
"""
LIVES = """
SELECT expires_at > now.seconds AND NOT coalesce(
    doubted_at < now.seconds
    AND booted_at = extract(epoch FROM pg_postmaster_start_time())::float8
    AND NOT EXISTS (SELECT FROM pg_stat_get_activity(backend)), false)
FROM processes, (SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds) AS now
WHERE id = :process FOR UPDATE OF processes
"""
LEAVE = "DELETE FROM processes WHERE id = $1"


class Lease:
    def __init__(self, url: str, process: int, seconds: float) -> None:
        self._url = url
        self._process = process
        self._seconds = seconds
        self._connection: asyncpg.Connection | None = None
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rightseat lease", daemon=True)

    async def open(self) -> None:
        """From now on this process lives. Raises what the database raises."""
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute(RENEW, self._process, self._seconds, self._seconds)
        finally:
            await connection.close()
        self._thread.start()

    async def close(self) -> None:
        """Others need not wait for the lease to end."""
        self._leaving.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while not self._leaving.wait(self._seconds / BEATS):
                runner.run(self._say(RENEW, self._process, self._seconds, self._seconds / 2))
            runner.run(self._say(LEAVE, self._process))
            if self._connection is not None:
                runner.run(self._connection.close())

    async def _say(self, statement: str, *values: object) -> None:
        was_connected = self._connection is not None
        try:
            async with asyncio.timeout(self._seconds / 2):
                if self._connection is None:
                    self._connection = await asyncpg.connect(self._url)
                await self._connection.execute(statement, *values)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            problem = str(error) or type(error).__name__
            logger.warning("the lease of this server could not be renewed, and is tried again: %s", problem)
            if self._connection is not None:
                self._connection.terminate()
                self._connection = None
            if was_connected:  # the database may be there, and only have closed the connection
                await self._say(statement, *values)
