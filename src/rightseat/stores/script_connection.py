"""A connection of its own to PostgreSQL for scripts, without SQLAlchemy.

Admission waits for it, so its transactions have few round trips: no ping before them and no reset after them.
"""

import asyncio
from contextlib import suppress
from typing import TypeVar

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.stores.scripts import Script

T = TypeVar("T")

CLOSE_TIMEOUT_S = 2.0


class ScriptConnection:
    """Opened for the first script, and again after it was lost. Scripts run one after the other."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None
        self._turn = asyncio.Lock()

    async def run(self, script: Script[T]) -> T:
        """Run a script in a transaction. Raises the driver's errors; `ConnectionError` if the connection was lost."""
        async with self._turn:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(self._url)
            try:
                async with self._connection.transaction():
                    return await send_statements(self._connection, script)
            except asyncpg.InterfaceError as error:
                if self._connection.is_closed():  # then even the rollback fails, with this error
                    raise ConnectionError(str(error)) from error
                raise

    async def close(self) -> None:
        if self._connection is not None:
            with suppress(OSError, asyncpg.PostgresConnectionError):  # the database may be away
                await self._connection.close(timeout=CLOSE_TIMEOUT_S)


async def send_statements(connection: asyncpg.Connection, script: Script[T]) -> T:
    try:
        statement = next(script)
        while True:
            statement = script.send(await connection.fetch(statement.sql, *statement.parameters))
    except StopIteration as end:
        found: T = end.value
        return found
