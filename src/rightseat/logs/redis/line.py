"""One connection to Redis, spoken to in batches. The library connects, logs in and reads; what is sent is packed here.

Its own pipelines would do too, for three times the CPU.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

from redis import exceptions
from redis.asyncio.connection import ConnectionPool

from rightseat.core.errors import ConfigError
from rightseat.logs.keeper import Away

Command = Sequence[bytes]
Reply = Any
"""What Redis answers: None, a number, bytes, a list of such, or a `ResponseError` instead of an answer."""

ANSWER = 5.0  # seconds to wait for one, beyond what a command itself may wait
CONNECT = 2.0


def pool(url: str) -> ConnectionPool:
    try:
        return ConnectionPool.from_url(url, protocol=2, socket_timeout=None, socket_connect_timeout=CONNECT)
    except ValueError as error:
        raise ConfigError(f"The `url` of the log should be like redis://user:password@host:6379/0: {error}") from error


class Line:
    """Answers come in the order of the commands, so one speaks at a time."""

    def __init__(self, pool: ConnectionPool) -> None:
        self.connected = 0  # how often
        self._connection = pool.make_connection()  # type: ignore[no-untyped-call]  # the library's own gap
        self._lock = asyncio.Lock()

    async def ask(self, *commands: Command, waits: float = 0.0) -> list[Reply]:
        """One batch. Raises `Away`; a refusal of one command is among the replies."""
        packed = b"".join([pack(command) for command in commands])
        try:
            async with self._lock, asyncio.timeout(ANSWER + waits):
                if not self._connection.is_connected:
                    await self._connection.connect()
                    self.connected += 1
                await self._connection.send_packed_command(packed, check_health=False)
                return [await self._reply() for _ in commands]
        except TimeoutError as error:
            raise Away(f"Redis does not answer within {ANSWER + waits:g} s") from error
        except (exceptions.RedisError, OSError) as error:
            await self.close()
            raise Away(str(error) or type(error).__name__) from error

    async def _reply(self) -> Reply:
        try:
            return await self._connection.read_response(timeout=math.inf)
        except exceptions.ResponseError as refusal:
            return refusal

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)


def pack(command: Command) -> bytes:
    return b"*%d\r\n%b" % (len(command), b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in command]))
