"""Announcements of changes between servers, as messages of a channel of Redis."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence

from redis import exceptions
from redis.asyncio.connection import ConnectionPool

from rightseat.logs.redis.connection import RESPONSE_TIMEOUT_S, RedisConnection, pack
from rightseat.logs.redis.replies import check
from rightseat.logs.shared.backend import BackendUnavailable

CHECK_INTERVAL_S = 15.0
"""Between two pings that show that the subscribed connection is alive, if nothing was received meanwhile."""


class RedisChanges:
    def __init__(self, pool: ConnectionPool, connection: Callable[[], RedisConnection], channel: bytes) -> None:
        self._pool = pool
        self._connection = connection
        self._channel = channel

    async def send(self, messages: Sequence[bytes]) -> None:
        for reply in await self._connection().send(*((b"PUBLISH", self._channel, message) for message in messages)):
            check(reply)

    async def receive(self) -> AsyncIterator[Sequence[bytes]]:
        connection = self._pool.make_connection()  # type: ignore[no-untyped-call]  # the library's own gap
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_S):
                await connection.connect()
                await connection.send_packed_command(pack((b"SUBSCRIBE", self._channel)), check_health=False)
                check(await connection.read_response(timeout=math.inf))
            yield ()
            is_asked = False
            while True:
                try:
                    async with asyncio.timeout(RESPONSE_TIMEOUT_S if is_asked else CHECK_INTERVAL_S):
                        kind, *_, message = await connection.read_response(timeout=math.inf)
                except TimeoutError:
                    if is_asked:
                        raise BackendUnavailable("Redis did not respond to a ping") from None
                    await connection.send_packed_command(pack((b"PING",)), check_health=False)
                    is_asked = True
                    continue
                is_asked = False
                if kind == b"message":
                    yield [message]
        except (exceptions.RedisError, OSError) as error:
            raise BackendUnavailable(str(error) or type(error).__name__) from error
        finally:
            await connection.disconnect(nowait=True)
