"""Announcements of changes between servers, as messages of a channel of Redis."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence

from redis import exceptions
from redis.asyncio.connection import Connection, ConnectionPool

from rightseat.concurrency import cancel_and_wait
from rightseat.logs.redis.connection import RESPONSE_TIMEOUT_S, RedisConnection, pack
from rightseat.logs.redis.replies import check
from rightseat.logs.shared.backend import BackendUnavailable

CHECK_INTERVAL_S = 15.0
"""Between two pings that show that the subscribed connection is alive, if nothing was received meanwhile."""

MAX_UNREAD = 10_000


class RedisChanges:
    def __init__(self, pool: ConnectionPool, connection: Callable[[], RedisConnection], channel: bytes) -> None:
        self._pool = pool
        self._connection = connection
        self._channel = channel

    async def send(self, messages: Sequence[bytes]) -> None:
        for reply in await self._connection().send(*((b"PUBLISH", self._channel, message) for message in messages)):
            check(reply)

    async def receive(self) -> AsyncIterator[Sequence[bytes]]:
        connection: Connection = self._pool.make_connection()  # type: ignore[no-untyped-call]  # the library's own gap
        replies: asyncio.Queue[Sequence[bytes] | BaseException] = asyncio.Queue(MAX_UNREAD)
        reading: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_S):
                await connection.connect()  # type: ignore[no-untyped-call]  # the library's own gap
                await connection.send_packed_command(pack((b"SUBSCRIBE", self._channel)), check_health=False)
                check(await connection.read_response(timeout=math.inf))
            reading = asyncio.create_task(read_replies(connection, replies))
            yield ()
            is_asked = False
            while True:
                try:
                    async with asyncio.timeout(RESPONSE_TIMEOUT_S if is_asked else CHECK_INTERVAL_S):
                        reply = await replies.get()
                except TimeoutError:
                    if is_asked:
                        raise BackendUnavailable("Redis did not respond to a ping") from None
                    await connection.send_packed_command(pack((b"PING",)), check_health=False)
                    is_asked = True
                    continue
                is_asked = False
                if isinstance(reply, BaseException):
                    raise BackendUnavailable(str(reply) or type(reply).__name__) from reply
                if reply[0] == b"message":
                    yield [reply[2]]
        except (exceptions.RedisError, OSError) as error:
            raise BackendUnavailable(str(error) or type(error).__name__) from error
        finally:
            if reading is not None:
                await cancel_and_wait(reading)
            await connection.disconnect(nowait=True)


async def read_replies(connection: Connection, replies: "asyncio.Queue[Sequence[bytes] | BaseException]") -> None:
    """A task of its own: the library closes a connection whose reader is cancelled."""
    try:
        while True:
            await replies.put(await connection.read_response(timeout=math.inf))
    except Exception as error:
        await replies.put(error)
