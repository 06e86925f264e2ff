"""Announcements of changes between servers, as notifications of PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from rightseat.logs.shared.backend import BackendUnavailable
from rightseat.postgres.connector import PostgresConnector

CHECK_INTERVAL_S = 15.0
"""Between two statements that show that the listening connection is alive, if nothing was received meanwhile."""
MAX_UNREAD = 10_000

NOTIFY = "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message"


class PostgresChanges:
    """`acquire` lends a connection of the log's pool. `channel` is the same for all servers of the tables."""

    def __init__(
        self,
        connector: PostgresConnector,
        acquire: Callable[[], AbstractAsyncContextManager[Any]],
        channel: Callable[[], str],
        timeout: float,
    ) -> None:
        self._connector = connector
        self._acquire = acquire
        self._channel = channel
        self._timeout = timeout

    async def send(self, messages: Sequence[bytes]) -> None:
        async with self._acquire() as connection:
            await connection.execute(NOTIFY, self._channel(), [message.decode() for message in messages])

    async def receive(self) -> AsyncIterator[Sequence[bytes]]:
        received: asyncio.Queue[bytes] = asyncio.Queue(MAX_UNREAD + 1)

        def add(_connection: object, _pid: int, _channel: str, payload: str) -> None:
            if received.qsize() <= MAX_UNREAD:
                received.put_nowait(payload.encode())

        connection = await self._connector.connect(command_timeout=self._timeout)
        try:
            connection.add_termination_listener(lambda _: add(None, 0, "", ""))
            await connection.add_listener(self._channel(), add)
            yield ()
            while True:
                try:
                    async with asyncio.timeout(CHECK_INTERVAL_S):
                        first = await received.get()
                except TimeoutError:
                    await connection.execute("")
                    continue
                if received.qsize() >= MAX_UNREAD:
                    raise BackendUnavailable("too many announcements were not read")
                if connection.is_closed():
                    raise BackendUnavailable("the connection was closed")
                yield [first, *(received.get_nowait() for _ in range(received.qsize()))]
        finally:
            connection.terminate()
