"""A subscription to many Redis streams: one blocking XREAD at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rightseat.concurrency import cancel_and_wait
from rightseat.core.log import Position
from rightseat.logs.redis.connection import RedisConnection
from rightseat.logs.redis.replies import check, read_records
from rightseat.logs.shared.backend import BackendUnavailable
from rightseat.logs.shared.records import Record

MAX_RECORDS_PER_STREAM = b"200"
BLOCK_S = 1.0
WAKE_INTERVAL_S = 0.002  # before a connection that may not have blocked yet is unblocked again

WaitForReplicas = Callable[[], Awaitable[None]]


class RedisSubscription:
    """`connection` blocks in XREAD, so it is woken by CLIENT UNBLOCK over `control`."""

    def __init__(
        self,
        connection: RedisConnection,
        control: RedisConnection,
        key: Callable[[str], bytes],
        wait_for_replicas: WaitForReplicas | None,
    ) -> None:
        self._connection = connection
        self._control = control
        self._key = key
        self._wait_for_replicas = wait_for_replicas
        self._client_id = b"0"
        self._connects = 0
        self._is_woken = False
        self._waking: asyncio.Task[None] | None = None

    async def receive(self, positions: Mapping[str, Position]) -> Mapping[str, Sequence[Record]]:
        self._is_woken = False
        await self._read_client_id()
        keys = {self._key(run_id): run_id for run_id in positions}
        ids = [b"%d-%d" % position for position in positions.values()]
        count, block = (b"COUNT", MAX_RECORDS_PER_STREAM), (b"BLOCK", b"%d" % (BLOCK_S * 1000))
        if self._is_woken:
            return {}
        [reply] = await self._connection.send((b"XREAD", *count, *block, b"STREAMS", *keys, *ids), blocks_s=BLOCK_S)
        check(reply)
        if reply and self._wait_for_replicas:
            await self._wait_for_replicas()
        return {keys[key]: read_records(entries) for key, entries in reply or ()}

    async def _read_client_id(self) -> None:
        """Each new connection has another id."""
        while self._connects != self._connection.connects or not self._connects:
            [client_id] = await self._connection.send((b"CLIENT", b"ID"))
            check(client_id)
            self._client_id = b"%d" % client_id
            self._connects = self._connection.connects

    def wake(self) -> None:
        self._is_woken = True
        if self._waking is None or self._waking.done():
            self._waking = asyncio.create_task(self._unblock())

    async def _unblock(self) -> None:
        """Repeat until `receive` is called again: it may be about to block, or not block at all."""
        try:
            while self._is_woken:
                await self._control.send((b"CLIENT", b"UNBLOCK", self._client_id))
                await asyncio.sleep(WAKE_INTERVAL_S)
        except BackendUnavailable:
            pass  # then nothing blocks there

    async def close(self) -> None:
        if self._waking:
            await cancel_and_wait(self._waking)
        await self._connection.close()
