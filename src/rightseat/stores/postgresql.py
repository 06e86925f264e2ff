"""The store in PostgreSQL. Each process holds a lease, so that others can detect its death."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import ParamSpec, TypeVar

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
from sqlalchemy import Connection, QueuePool, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from rightseat.core.errors import ConfigError, StorageFull, StoreUnreachable
from rightseat.core.full_storage import is_storage_full
from rightseat.health.readiness import address_of
from rightseat.operations.database_metrics import ObserveOperation, PoolState, ignore_operation
from rightseat.outages import OutageLog
from rightseat.postgres.addresses import read_url
from rightseat.postgres.connector import PostgresConnector
from rightseat.stores.leases import LEASES, LOCK_LEASE, Lease, read_lease, read_leases
from rightseat.stores.migrations import upgrade_once
from rightseat.stores.pool import POOL_OVERFLOW, POOL_SIZE, STATEMENT_TIMEOUT_S, create_pool
from rightseat.stores.prepared import Parameters, PreparedStatement, Row
from rightseat.stores.schema_rights import warn_of_creators
from rightseat.stores.script_connection import ScriptConnection
from rightseat.stores.scripts import Script
from rightseat.stores.store_database import Work, new_process_id

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MIGRATION_LOCK = 0x52534D49  # the advisory lock that a process holds while it migrates
MIGRATION_LOCK_TIMEOUT_S = 3
MIGRATION_ATTEMPTS = 20
MAX_REAP_INTERVAL_S = 1.0  # between two searches for dead processes
FIRST_RETRY_DELAY_S, MAX_RETRY_DELAY_S = 0.1, 1.0  # between two attempts to connect
CONNECTION_ERRORS = (
    OSError,
    PoolTimeout,
    asyncpg.PostgresConnectionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.ReadOnlySQLTransactionError,
)


def original_message(error: Exception) -> str:
    """The server's own message, without what SQLAlchemy adds to it."""
    original = error.orig if isinstance(error, DBAPIError) else None
    cause = error if original is None else original.__cause__ or original
    return str(cause) or ("no response in time" if isinstance(cause, TimeoutError) else type(cause).__name__)


def first_line(error: Exception) -> str:
    return original_message(error).strip().splitlines()[0]


class Postgres:
    dialect = "postgresql"

    def __init__(self, url: str, lease_seconds: float, timeout: float = 0.0) -> None:
        """`timeout`: for how many seconds after a failed attempt to connect another one is made."""
        self.process_id = new_process_id()
        self._address = address_of(url)
        self.observe_operation: ObserveOperation = ignore_operation
        self._outage = OutageLog("the database of threads", logger)
        self._url = read_url(url, "threads")
        self._timeout = timeout
        self._connector = PostgresConnector(self._url)
        self._use_pool(has_pooler=False)
        self.on_lost_scripts: Callable[[], None] = lambda: None
        self._scripts = ScriptConnection(self._connector, lambda: self.on_lost_scripts())
        self.lease = Lease(self._url, self.process_id, lease_seconds)
        self.reap_every: float | None = min(self.lease.judge.times.interval, MAX_REAP_INTERVAL_S)

    def _use_pool(self, *, has_pooler: bool) -> None:
        self._engine = create_pool(self._connector, statement_timeout=STATEMENT_TIMEOUT_S, has_pooler=has_pooler)
        self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ")
        self._autocommit = self._engine  # through a pooler a statement is sent in two messages of one transaction
        if not has_pooler:
            self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # two round trips fewer

    async def open(self) -> None:
        try:
            if await self._connector.has_pooler():
                self._use_pool(has_pooler=True)
            await self._migrate()
            async with self._engine.connect() as connection:
                await connection.run_sync(warn_of_creators, self._address)
            await self.lease.open()
        except (OSError, asyncpg.PostgresError, DBAPIError) as error:
            await self._engine.dispose()
            problem, advice = original_message(error).rstrip("."), "Is it running, and is its `url` right?"
            raise ConfigError(
                f"Cannot reach the database of threads at {self._address}: {problem}. {advice}"
            ) from error

    async def _migrate(self) -> None:
        engine = create_pool(  # an index of a large table takes minutes
            self._connector, statement_timeout=None, has_pooler=await self._connector.has_pooler()
        )
        attempts = MIGRATION_ATTEMPTS
        try:
            while True:
                try:
                    async with engine.begin() as connection:
                        if not await connection.run_sync(migrate_once):
                            return
                except DBAPIError as error:
                    attempts -= 1
                    if not attempts or not is_lock_conflict(error):
                        raise
                    logger.warning("a migration could not lock a table; trying again: %s", original_message(error))
        finally:
            await engine.dispose()

    async def close(self) -> None:
        await self.lease.close()
        await self._scripts.close()
        await self._engine.dispose()

    def pool_states(self) -> Sequence[PoolState]:
        pool = self._engine.pool
        if not isinstance(pool, QueuePool):
            return ()
        return (PoolState("threads", pool.checkedout(), pool.checkedin(), POOL_SIZE + POOL_OVERFLOW),)

    @contextmanager
    def _operation(self, name: str) -> Iterator[None]:
        """Measures an operation, and raises `StoreUnreachable` if the database is away."""
        began = time.perf_counter()
        try:
            yield
            self._outage.recover()
        except Exception as error:
            if is_storage_full(error):
                self._outage.fail(original_message(error))
                raise StorageFull from error
            if not is_connection_error(error):
                raise
            self._outage.fail(first_line(error))
            raise StoreUnreachable from error
        finally:
            self.observe_operation("postgresql", name, time.perf_counter() - began)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._operation("write"):
            return await self._transact(work, *args, **kwargs)

    async def write_run_end(self, run_id: str, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    async def _transact(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._connected(self._engine.begin) as connection:
            return await connection.run_sync(work, *args, **kwargs)

    @asynccontextmanager
    async def _connected(
        self, connect: Callable[[], AbstractAsyncContextManager[AsyncConnection]]
    ) -> AsyncIterator[AsyncConnection]:
        """A request that arrives in an outage waits for its end. Nothing has been sent, so nothing is done twice."""
        until, delay = time.monotonic() + self._timeout, FIRST_RETRY_DELAY_S
        async with AsyncExitStack() as stack:
            while True:
                try:
                    connection = await stack.enter_async_context(connect())
                    break
                except Exception as error:
                    is_busy = isinstance(error, PoolTimeout)  # the database is there
                    if is_busy or not is_connection_error(error) or time.monotonic() + delay > until:
                        raise
                await asyncio.sleep(delay)
                delay = min(2 * delay, MAX_RETRY_DELAY_S)
            yield connection

    async def run_script(self, script: Script[T]) -> T:
        with self._operation("script"):
            return await self._scripts.run(script)

    async def run_statements(self, script: Script[T]) -> T:
        with self._operation("script"):
            return await self._scripts.run(script, is_transaction=False)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._operation("read"):
            async with self._connected(self._reading.connect) as connection:
                return await connection.run_sync(work, *args, **kwargs)

    async def query(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._operation("query"):
            async with self._connected(self._autocommit.connect) as connection:
                return await connection.run_sync(work, *args, **kwargs)

    async def poll(self, statement: PreparedStatement, parameters: Parameters) -> Sequence[Row]:
        with self._operation("poll"):
            found = await self._scripts.fetch(*statement.bind_numbered(parameters))
        return [tuple(row) for row in found]

    async def read_beside(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    async def scan(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    def lacks_thread(self, thread_id: str) -> bool:
        return False  # a lookup waits for the server

    async def find_suspects(self, process_ids: Sequence[int]) -> Sequence[int]:
        asked_at = time.monotonic()
        with self._operation("poll"):
            found = await self._scripts.fetch(LEASES, [list(process_ids)])
        return self.lease.judge.find_suspects(read_leases(process_ids, found), asked_at, time.monotonic())

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        """Reading locks its row, so that the process cannot renew its lease meanwhile."""
        asked_at = time.monotonic()
        found = connection.execute(text(LOCK_LEASE), {"process_id": process_id}).one_or_none()
        row = None if found is None else read_lease(found)
        return self.lease.judge.is_dead(process_id, row, asked_at, time.monotonic())

    def erase(self) -> None:
        """Does nothing: PostgreSQL's own VACUUM erases deleted rows, as the operator has configured it."""


def is_connection_error(error: BaseException | None) -> bool:
    """Whether the connection failed, and not the statement."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or (error.orig is not None and is_connection_error(error.orig.__cause__))
    return isinstance(error, CONNECTION_ERRORS)


def migrate_once(connection: Connection) -> bool:
    """Requests of other servers wait behind a migration that waits for a lock, so it does not wait long."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
    connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATION_LOCK_TIMEOUT_S}s'"))
    return upgrade_once(connection)


def is_lock_conflict(error: DBAPIError) -> bool:
    original = error.orig and error.orig.__cause__
    return isinstance(original, asyncpg.DeadlockDetectedError | asyncpg.LockNotAvailableError)
