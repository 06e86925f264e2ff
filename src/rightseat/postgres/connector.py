"""Opens connections to PostgreSQL, directly or through a pooler such as PgBouncer.

A pooler may execute each transaction on another connection to the server. Then what belongs to a session is lost, or
belongs to another client. A connection through a pooler therefore has neither prepared statements nor settings of its
own, and each statement is in a transaction: the driver sends it in two messages, which belong together.

A pooler is detected by the number of the server's process. PostgreSQL tells it to a client that connects; a pooler
tells its clients a number of its own.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
from asyncpg.transaction import Transaction  # type: ignore[import-untyped]

CONNECT_TIMEOUT_S = 10.0
IDLE_TRANSACTION_TIMEOUT_S = 5.0
SHARING_ATTEMPTS = 10

BACKEND_PID = "SELECT pg_backend_pid()"


class PostgresConnector:
    """Looks for a pooler when it opens its first connection."""

    def __init__(self, url: str, connect_timeout: float | None = None) -> None:
        self._url = url
        self._connect_timeout = CONNECT_TIMEOUT_S if connect_timeout is None else connect_timeout
        self._has_pooler: bool | None = None

    async def connect(
        self, *, command_timeout: float | None = None, limits_idle_transactions: bool = False
    ) -> asyncpg.Connection:
        """Raises the driver's errors, `OSError` and `TimeoutError`.

        `limits_idle_transactions`: the server ends a transaction in which no statement arrives, because a process that
        was suspended in it would keep its locks.
        """
        connection = await asyncpg.connect(self._url, command_timeout=command_timeout, **await self.options())
        if not limits_idle_transactions:
            return connection
        if await self.has_pooler():
            connection.limits_idle_transactions = True
            return connection
        try:  # not as a startup parameter: connection poolers reject those that they do not know
            await connection.execute(f"SET {limit_idle_transaction()}", timeout=self._connect_timeout)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def has_pooler(self) -> bool:
        if self._has_pooler is None:
            async with self._trial() as connection:
                self._has_pooler = await connection.fetchval(BACKEND_PID) != connection.get_server_pid()
        return self._has_pooler

    async def options(self) -> dict[str, Any]:
        """What the driver's `connect` and `create_pool` need beside the URL."""
        if not await self.has_pooler():
            return {"timeout": self._connect_timeout}
        return {"timeout": self._connect_timeout} | UNNAMED_STATEMENTS

    async def shares_sessions(self) -> bool:
        """Whether a pooler gives two clients the same connection to the server, so that nothing of a session is kept.

        A pooler with other clients may give away that connection between two statements, so it is tried several times.
        """
        if not await self.has_pooler():
            return False
        async with self._trial() as one, self._trial() as other:
            for _ in range(SHARING_ATTEMPTS):
                before = await one.fetchval(BACKEND_PID)
                async with other.transaction():
                    held = await other.fetchval(BACKEND_PID)
                    if before == held or before != await one.fetchval(BACKEND_PID):
                        return True
        return False

    async def connect_as_pooled(self) -> asyncpg.Connection:
        """Without looking for a pooler: each statement takes more messages than it may need."""
        return await asyncpg.connect(
            self._url, timeout=self._connect_timeout, command_timeout=self._connect_timeout, **UNNAMED_STATEMENTS
        )

    @asynccontextmanager
    async def _trial(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await self.connect_as_pooled()
        try:
            yield connection
        finally:
            connection.terminate()


class PooledConnection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    limits_idle_transactions = False

    def transaction(self, *, isolation: Any = None, readonly: bool = False, deferrable: bool = False) -> Transaction:
        kind = LimitedTransaction if self.limits_idle_transactions else Transaction
        return kind(self, isolation, readonly, deferrable)

    async def execute(self, query: str, *args: Any, **options: Any) -> Any:
        if not args:  # one message
            return await super().execute(query, **options)
        async with self._in_transaction():
            return await super().execute(query, *args, **options)

    async def executemany(self, command: str, args: Any, **options: Any) -> Any:
        async with self._in_transaction():
            return await super().executemany(command, args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        async with self._in_transaction():
            return await super().fetch(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        async with self._in_transaction():
            return await super().fetchval(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        async with self._in_transaction():
            return await super().fetchrow(query, *args, **options)

    async def prepare(self, query: str, *, name: str | None = None, **options: Any) -> Any:
        """To be executed before the next one is prepared: it has no name."""
        return await super().prepare(query, name="", **options)

    def get_reset_query(self) -> str:
        return ""  # it would reset the session of another client

    @asynccontextmanager
    async def _in_transaction(self) -> AsyncIterator[None]:
        if self.is_in_transaction():
            yield
            return
        async with self.transaction():
            yield


class LimitedTransaction(Transaction):  # type: ignore[misc]  # asyncpg has no types
    def __init__(self, connection: asyncpg.Connection, *options: Any) -> None:
        super().__init__(connection, *options)
        self._limited = connection

    async def start(self) -> None:
        await super().start()
        try:
            await self._limited.execute(f"SET LOCAL {limit_idle_transaction()}")
        except BaseException:
            self._limited.terminate()
            raise


UNNAMED_STATEMENTS: dict[str, Any] = {"statement_cache_size": 0, "connection_class": PooledConnection}


def limit_idle_transaction() -> str:
    return f"idle_in_transaction_session_timeout = {round(IDLE_TRANSACTION_TIMEOUT_S * 1000)}"
