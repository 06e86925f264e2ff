"""The lease of a process: a row that it renews, and from which others see that it lives (`stores.lease_rule`).

A thread that does nothing else renews it, so a busy process does not count as dead. A process that was suspended for
longer than its lease does; its later writes are refused, because by then its runs have a higher epoch.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.outages import OutageLog
from rightseat.postgres.connector import PostgresConnector
from rightseat.stores.lease_rule import LeaseJudge, LeaseRow
from rightseat.stores.pool import CLOSE_TIMEOUT_S, STATEMENT_TIMEOUT_S

logger = logging.getLogger(__name__)

RENEW = """
INSERT INTO processes (id, expires_at, suspect_after, backend_pid, database_started_at)
SELECT $1, now.seconds + $2, now.seconds + $2 / 2, CASE WHEN $3::boolean THEN pg_backend_pid() END,
    extract(epoch FROM pg_postmaster_start_time())
FROM (SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds) AS now
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, suspect_after = excluded.suspect_after,
    backend_pid = excluded.backend_pid, database_started_at = excluded.database_started_at
"""
"""Servers of earlier versions take `expires_at` for the end of the lease."""
VALUE = "xmin::text, expires_at"
"""Of one renewal: the transaction that wrote the row, and what it wrote. After the loss of some transactions in a
failover, the same number may be given to another one."""
SECONDS = """
CASE WHEN suspect_after < expires_at THEN 2 * (expires_at - suspect_after)
    ELSE expires_at - extract(epoch FROM clock_timestamp())::float8 END
"""
"""The lease of the row's process. The first renewal of an earlier version does not say it; then it is what remains."""
LEASES = f"SELECT id, {VALUE}, {SECONDS}, expires_at = 0 FROM processes WHERE id = ANY($1::bigint[])"  # noqa: S608
LOCK_LEASE = f"""
SELECT {VALUE}, {SECONDS}, expires_at = 0, coalesce(
    database_started_at = extract(epoch FROM pg_postmaster_start_time())::float8
    AND NOT EXISTS (SELECT FROM pg_stat_get_activity(backend_pid)), false)
FROM processes WHERE id = :process_id FOR UPDATE
"""  # noqa: S608
"""From now on, the process cannot renew its lease."""
RELEASE = "UPDATE processes SET expires_at = 0 WHERE id = $1"
FORGET = """
DELETE FROM processes WHERE id = $1
AND NOT EXISTS (SELECT FROM runs WHERE process_id = $1 AND outcome IS NULL)
AND NOT EXISTS (SELECT FROM limit_holds WHERE process_id = $1)
"""
"""Whoever takes over the rest deletes the row."""


ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)


class Lease:
    def __init__(self, url: str, process_id: int, seconds: float) -> None:
        self.seconds = seconds
        self.judge = LeaseJudge(seconds)
        self._connector = PostgresConnector(url)
        self._process_id = process_id
        self._renewed_at = time.monotonic()
        self._outage = OutageLog("the database to renew the lease of this server", logger)
        self._connection: asyncpg.Connection | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rightseat lease", daemon=True)

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._renewed_at

    async def open(self) -> None:
        """From now on this process counts as alive. Raises the driver's errors."""
        began_at = time.monotonic()
        connection = await self._connector.connect(command_timeout=STATEMENT_TIMEOUT_S)
        try:
            await connection.execute(RENEW, self._process_id, self.seconds, False)
        finally:
            await connection.close(timeout=CLOSE_TIMEOUT_S)
        self._record_renewal(began_at)
        self._thread.start()

    async def close(self) -> None:
        """Releases the lease, so that others take over at once what is left."""
        self._closing.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        delay = self.judge.times.interval
        with asyncio.Runner() as runner:
            while not self._closing.wait(delay):
                is_renewed = runner.run(self._renew())
                delay = self.judge.times.interval if is_renewed else self.judge.times.retry_delay
            runner.run(self._release())
            if self._connection is not None:
                with suppress(OSError, asyncpg.PostgresError):  # the database may be away
                    runner.run(self._connection.close(timeout=CLOSE_TIMEOUT_S))

    async def _renew(self) -> bool:
        try:
            # The server's process behind a pooler outlives this one, or ends before it.
            is_direct = not await self._connector.has_pooler()
            began_at = await self._execute(RENEW, self._process_id, self.seconds, is_direct)
        except ERRORS as error:
            self._outage.fail(str(error) or type(error).__name__)
            return False
        self._record_renewal(began_at)
        return True

    async def _release(self) -> None:
        try:
            await self._execute(RELEASE, self._process_id)
            await self._execute(FORGET, self._process_id)
        except ERRORS as error:
            text = "cannot release the lease of this server, so others wait until it expires: %s"
            logger.warning(text, str(error) or type(error).__name__)

    async def _execute(self, statement: str, *values: object) -> float:
        """Return when the attempt began. A second one follows if the database has only closed the connection."""
        was_connected, began_at = self._connection is not None, time.monotonic()
        try:
            await self._attempt(statement, *values)
        except ERRORS:
            self.judge.record_failure()
            if not was_connected:
                raise
            began_at = time.monotonic()
            await self._attempt(statement, *values)
        return began_at

    async def _attempt(self, statement: str, *values: object) -> None:
        try:
            async with asyncio.timeout(self.judge.times.attempt_timeout):
                if self._connection is None:
                    self._connection = await self._connector.connect()
                await self._connection.execute(statement, *values)
        except ERRORS:
            if self._connection is not None:
                self._connection.terminate()
                self._connection = None
            raise

    def _record_renewal(self, began_at: float) -> None:
        self._renewed_at = time.monotonic()
        self.judge.record_renewal(began_at, self._renewed_at)
        self._outage.recover()


def read_leases(process_ids: Sequence[int], found: Sequence[Sequence[Any]]) -> Mapping[int, LeaseRow | None]:
    """The rows that `LEASES` has found."""
    rows: dict[int, LeaseRow | None] = dict.fromkeys(process_ids)
    for process_id, *values in found:
        rows[process_id] = read_lease(values)
    return rows


def read_lease(row: Sequence[Any]) -> LeaseRow:
    """A row of `LEASES` without its id, or of `LOCK_LEASE`."""
    xmin, expires_at, *rest = row
    return LeaseRow((xmin, expires_at), *rest)
