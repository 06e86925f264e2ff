"""PostgreSQL. A process has a lease for as long as it lives, so that others can see whether it does."""

from functools import partial
from typing import ParamSpec, TypeVar

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine

from rightseat.core.errors import ConfigError
from rightseat.stores.databases import Work, new_process
from rightseat.stores.leases import BEATS, Lease
from rightseat.stores.migrations import upgrade

P = ParamSpec("P")
T = TypeVar("T")

MIGRATING = 0x52534D49  # the lock that one process holds while it migrates
LONGEST = 0.25  # seconds between two looks for processes that died
SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")


LIVES = text("SELECT expires_at > extract(epoch FROM clock_timestamp()) FROM processes WHERE id = :process FOR UPDATE")


class Postgres:
    def __init__(self, url: str, lease: float) -> None:
        self.process = new_process()
        self.reap_every = min(lease / BEATS, LONGEST)
        # The driver reads the URL itself: it knows `sslmode` and all else that PostgreSQL's own tools know.
        connect = partial(asyncpg.connect, read_url(url))
        self._engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, pool_pre_ping=True)
        self._lease = Lease(read_url(url), self.process, lease)

    async def open(self) -> None:
        try:
            await self.write(migrate)
            await self._lease.open()
        except (OSError, asyncpg.PostgresError) as error:
            await self._engine.dispose()
            raise ConfigError(f"The database of threads cannot be reached: {error}") from error

    async def close(self) -> None:
        await self._lease.close()
        await self._engine.dispose()

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work, *args, **kwargs)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    def is_gone(self, connection: Connection, process: int) -> bool:
        """Its row is locked by being read: it cannot come back to life in the middle of this."""
        return not connection.execute(LIVES, {"process": process}).scalar()


def migrate(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
    upgrade(connection)


def read_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES or not rest:
        raise ConfigError("The `url` of threads should be like postgresql://user:password@host/name.")
    return f"postgresql://{rest}"
