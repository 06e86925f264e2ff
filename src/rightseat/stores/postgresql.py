"""PostgreSQL. A process has a lease for as long as it lives, so that others can see whether it does."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine

from rightseat.core.errors import ConfigError, StoreUnreachable
from rightseat.stores.databases import Work, new_process
from rightseat.stores.leases import BEATS, LIVES, Lease
from rightseat.stores.migrations import upgrade

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MIGRATING = 0x52534D49  # the lock that one process holds while it migrates
LONGEST = 0.5  # seconds between two looks for processes that died
AWAY = (
    OSError,
    PoolTimeout,
    asyncpg.PostgresConnectionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
)
SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")


def in_its_words(error: Exception) -> str:
    """What the server said, without what is put around it on the way."""
    original = error.orig if isinstance(error, DBAPIError) else None
    return str(error if original is None else original.__cause__ or original)


class Postgres:
    def __init__(self, url: str, lease: float) -> None:
        self.process = new_process()
        self.reap_every = min(lease / BEATS, LONGEST)
        # The driver reads the URL itself: it knows `sslmode` and all else that PostgreSQL's own tools know.
        connect = partial(asyncpg.connect, read_url(url))
        self._engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, pool_pre_ping=True)
        self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ")
        self._looking = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # two ways less than a transaction
        self._lease = Lease(read_url(url), self.process, lease)

    async def open(self) -> None:
        try:
            await self._transact(migrate)
            await self._lease.open()
        except (OSError, asyncpg.PostgresError, DBAPIError) as error:
            await self._engine.dispose()
            said, advice = in_its_words(error).rstrip("."), "Is it running, and is its `url` right?"
            raise ConfigError(f"The database of threads cannot be reached: {said}. {advice}") from error

    async def close(self) -> None:
        await self._lease.close()
        await self._engine.dispose()

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with reaching():
            return await self._transact(work, *args, **kwargs)

    async def _transact(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work, *args, **kwargs)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with reaching():
            async with self._reading.connect() as connection:
                return await connection.run_sync(work, *args, **kwargs)

    async def look(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with reaching():
            async with self._looking.connect() as connection:
                return await connection.run_sync(work, *args, **kwargs)

    def is_gone(self, connection: Connection, process: int) -> bool:
        """Its row is locked by being read: it cannot come back to life in the middle of this."""
        return not connection.execute(text(LIVES), {"process": process}).scalar()

    def erase(self) -> None:
        """PostgreSQL's own VACUUM does, when the operator has set it to."""


@contextmanager
def reaching() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_away(error):
            raise
        logger.warning("the database of threads cannot be reached: %s", error)
        raise StoreUnreachable from error


def is_away(error: BaseException | None) -> bool:
    """Was it the connection that failed, and not what was asked over it?"""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or (error.orig is not None and is_away(error.orig.__cause__))
    return isinstance(error, AWAY)


def migrate(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
    upgrade(connection)


def read_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES or not rest:
        raise ConfigError("The `url` of threads should be like postgresql://user:password@host/name.")
    return f"postgresql://{rest}"
