"""One connection to Redis that sends commands in batches. The library connects, authenticates and parses replies.

Commands are packed here: the library's own pipelines need three times the CPU.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Any

from redis import exceptions
from redis.asyncio.connection import ConnectionPool

from rightseat.core.errors import ConfigError
from rightseat.logs.shared.backend import BackendUnavailable
from rightseat.operations.database_metrics import ObserveOperation, ignore_operation

Command = Sequence[bytes]
Reply = Any
"""A reply of Redis: None, a number, bytes, a list of such, or a `ResponseError`."""

RESPONSE_TIMEOUT_S = 5.0  # in addition to the time for which a command itself blocks
CONNECT_TIMEOUT_S = 2.0
WAITING_COMMANDS = (b"XREAD",)  # it waits for new entries, so its duration says nothing about Redis


def build_pool(url: str) -> ConnectionPool:
    scheme, _, rest = url.partition("://")
    if "sentinel" in scheme or "," in rest.partition("/")[0].rpartition("@")[2]:
        raise ConfigError(
            "The `url` of the log names several hosts or Redis Sentinel, which is not supported. Give the address of a "
            'proxy that asks for the role, such as HAProxy; the page "Deploy several replicas" has its configuration.'
        )
    try:
        return ConnectionPool.from_url(url, protocol=2, socket_timeout=None, socket_connect_timeout=CONNECT_TIMEOUT_S)
    except ValueError as error:
        raise ConfigError(f"The `url` of the log should be like redis://user:password@host:6379/0: {error}") from error


class RedisConnection:
    """Replies arrive in the order of the commands, so one batch is sent at a time."""

    def __init__(self, pool: ConnectionPool, observe: ObserveOperation = ignore_operation) -> None:
        """`observe` measures each batch by the name of its first command."""
        self._observe = observe
        self.connects = 0  # how often it has connected
        self._connection = pool.make_connection()  # type: ignore[no-untyped-call]  # the library's own gap
        self._lock = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        return self._lock.locked()

    async def send(self, *commands: Command, blocks_s: float = 0.0) -> list[Reply]:
        """Send one batch. Raises `BackendUnavailable`; a command that Redis refuses has an error as its reply."""
        packed = b"".join([pack(command) for command in commands])
        timeout = RESPONSE_TIMEOUT_S + blocks_s
        began = time.perf_counter()
        try:
            async with self._lock, asyncio.timeout(timeout):
                if not self._connection.is_connected:
                    await self._connection.connect()
                    self.connects += 1
                await self._connection.send_packed_command(packed, check_health=False)
                return [await self._read_reply() for _ in commands]
        except TimeoutError as error:
            raise BackendUnavailable(f"Redis did not respond within {timeout:g} s") from error
        except (exceptions.RedisError, OSError) as error:
            await self.close()
            raise BackendUnavailable(str(error) or type(error).__name__) from error
        finally:
            if commands[0][0] not in WAITING_COMMANDS:
                self._observe("redis", commands[0][0].decode(), time.perf_counter() - began)

    async def _read_reply(self) -> Reply:
        try:
            return await self._connection.read_response(timeout=math.inf)
        except exceptions.ResponseError as refusal:
            return refusal

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)


def pack(command: Command) -> bytes:
    return b"*%d\r\n%b" % (len(command), b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in command]))
