"""The lease of a process: a row that it renews, and that expires by the database's clock alone.

A thread that does nothing else renews it, so a busy process does not count as dead. A process that was suspended for
longer than its lease does; its later writes are refused, because by then its runs have a higher epoch.

A killed process is detected sooner. The operating system closes the connection that renewed the row, and the database
ends the backend of that connection. So a row that is half a lease old and whose backend has gone belongs to a dead
process: a live one that only lost its connection has renewed over another by then. After a restart of the database
itself, missing backends prove nothing.
"""

import asyncio
import logging
import threading
from contextlib import suppress

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.postgres.connector import Connector
from rightseat.stores.pool import CLOSE_TIMEOUT_S, STATEMENT_TIMEOUT_S

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4

RENEW = """
INSERT INTO processes (id, expires_at, suspect_after, backend_pid, database_started_at)
SELECT $1, now.seconds + $2, now.seconds + $3, pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time())
FROM (SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds) AS now
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, suspect_after = excluded.suspect_after,
    backend_pid = excluded.backend_pid, database_started_at = excluded.database_started_at
"""
IS_ALIVE = """
SELECT expires_at > now.seconds AND NOT coalesce(
    suspect_after < now.seconds
    AND database_started_at = extract(epoch FROM pg_postmaster_start_time())::float8
    AND NOT EXISTS (SELECT FROM pg_stat_get_activity(backend_pid)), false)
FROM processes, (SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds) AS now
WHERE id = :process_id FOR UPDATE OF processes
"""
SUSPECTS = """
SELECT other.id FROM unnest($1::bigint[]) AS other (id) WHERE NOT EXISTS (
    SELECT FROM processes
    WHERE processes.id = other.id
    AND least(suspect_after, expires_at) > extract(epoch FROM clock_timestamp())::float8)
"""
"""Those of some processes that `IS_ALIVE` may find dead, without a lock."""
RELEASE = "DELETE FROM processes WHERE id = $1"


class Lease:
    def __init__(self, url: str, process_id: int, seconds: float) -> None:
        self._connector = Connector(url)
        self._process_id = process_id
        self._seconds = seconds
        self._connection: asyncpg.Connection | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rightseat lease", daemon=True)

    async def open(self) -> None:
        """From now on this process counts as alive. Raises the driver's errors."""
        connection = await self._connector.connect(command_timeout=STATEMENT_TIMEOUT_S)
        try:
            await connection.execute(RENEW, self._process_id, self._seconds, self._seconds)
        finally:
            await connection.close(timeout=CLOSE_TIMEOUT_S)
        self._thread.start()

    async def close(self) -> None:
        """Releases the lease, so that others need not wait for it to expire."""
        self._closing.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while not self._closing.wait(self._seconds / RENEWALS_PER_LEASE):
                runner.run(self._execute(RENEW, self._process_id, self._seconds, self._seconds / 2))
            runner.run(self._execute(RELEASE, self._process_id))
            if self._connection is not None:
                with suppress(OSError, asyncpg.PostgresError):  # the database may be away
                    runner.run(self._connection.close(timeout=CLOSE_TIMEOUT_S))

    async def _execute(self, statement: str, *values: object) -> None:
        was_connected = self._connection is not None
        try:
            async with asyncio.timeout(self._seconds / 2):
                if self._connection is None:
                    self._connection = await self._connector.connect()
                await self._connection.execute(statement, *values)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            problem = str(error) or type(error).__name__
            logger.warning("cannot renew the lease of this server, retrying: %s", problem)
            if self._connection is not None:
                self._connection.terminate()
                self._connection = None
            if was_connected:  # the database may be up and only have closed the connection
                await self._execute(statement, *values)
