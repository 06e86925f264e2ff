"""A connection of its own to PostgreSQL for scripts and polls, without SQLAlchemy.

Admission waits for it, so its transactions have few round trips: no ping before them and no reset after them. A poll
has one; with SQLAlchemy's pool it has four.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.postgres.connector import PostgresConnector
from rightseat.stores.pool import CLOSE_TIMEOUT_S, STATEMENT_TIMEOUT_S
from rightseat.stores.scripts import Script

T = TypeVar("T")


class ScriptConnection:
    """Opened for the first script, and again after it was lost. Scripts run one after the other."""

    def __init__(self, connector: PostgresConnector, on_lost: Callable[[], None] = lambda: None) -> None:
        self._connector = connector
        self._on_lost = on_lost
        self._connection: asyncpg.Connection | None = None
        self._is_closing = False
        self._turn = asyncio.Lock()

    async def run(self, script: Script[T], *, is_transaction: bool = True) -> T:
        """Run a script in a transaction, or each of its statements in one of its own.

        Raises the driver's errors; `ConnectionError` if the connection was lost.
        """
        async with self._connected() as connection, connection.transaction() if is_transaction else nullcontext():
            return await send_statements(connection, script)

    async def fetch(self, sql: str, parameters: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Execute one query without a transaction: one round trip. Raises as `run` does, but not for a connection that
        was lost since it was last used.
        """
        was_connected = self._connection is not None
        try:
            return await self._fetch(sql, parameters)
        except (OSError, asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError):
            if not was_connected:
                raise
            return await self._fetch(sql, parameters)

    async def _fetch(self, sql: str, parameters: Sequence[Any]) -> Sequence[Sequence[Any]]:
        async with self._connected() as connection:
            found: Sequence[Sequence[Any]] = await connection.fetch(sql, *parameters)
            return found

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        async with self._turn:
            connection = await self._connect()
            try:
                yield connection
            except asyncpg.InterfaceError as error:
                if connection.is_closed():  # then even the rollback fails, with this error
                    raise ConnectionError(str(error)) from error
                raise
            except (TimeoutError, asyncpg.ReadOnlySQLTransactionError):
                # The next statement would wait for the end of this one, or be refused in this session, too.
                connection.terminate()
                raise

    async def _connect(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connector.connect(
                command_timeout=STATEMENT_TIMEOUT_S, limits_idle_transactions=True
            )
            self._connection.add_termination_listener(self._report_loss)
        return self._connection

    def _report_loss(self, _: asyncpg.Connection) -> None:
        if not self._is_closing:
            self._on_lost()

    async def close(self) -> None:
        self._is_closing = True
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
