"""One XREAD that waits for news of many streams."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rightseat.core.log import Position
from rightseat.logs.keeper import Away
from rightseat.logs.pieces import Piece
from rightseat.logs.redis.line import Line
from rightseat.logs.redis.replies import check, read_pieces

MOST = b"200"  # pieces of one stream at once
BLOCK = 1.0  # seconds
AGAIN = 0.002  # seconds before one that does not wait yet is woken again

Settle = Callable[[], Awaitable[None]]


class RedisEar:
    """It is woken by CLIENT UNBLOCK, through another line: its own is busy with waiting."""

    def __init__(self, line: Line, other: Line, key: Callable[[str], bytes], settle: Settle | None) -> None:
        self._line = line
        self._other = other
        self._key = key
        self._settle = settle
        self._client = b"0"
        self._connected = 0
        self._is_nudged = False
        self._waking: asyncio.Task[None] | None = None

    async def hear(self, places: Mapping[str, Position]) -> Mapping[str, Sequence[Piece]]:
        self._is_nudged = False
        await self._introduce()
        keys = {self._key(run_id): run_id for run_id in places}
        ids = [b"%d-%d" % place for place in places.values()]
        ask = (b"XREAD", b"COUNT", MOST, b"BLOCK", b"%d" % (BLOCK * 1000), b"STREAMS", *keys, *ids)
        if self._is_nudged:
            return {}
        [reply] = await self._line.ask(ask, waits=BLOCK)
        check(reply)
        if reply and self._settle:
            await self._settle()
        return {keys[key]: read_pieces(entries) for key, entries in reply or ()}

    async def _introduce(self) -> None:
        """After each new connection we are another client."""
        while self._connected != self._line.connected or not self._connected:
            [client] = await self._line.ask((b"CLIENT", b"ID"))
            check(client)
            self._client = b"%d" % client
            self._connected = self._line.connected

    def nudge(self) -> None:
        self._is_nudged = True
        if self._waking is None or self._waking.done():
            self._waking = asyncio.create_task(self._wake())

    async def _wake(self) -> None:
        """Until `hear` is called anew. It may be about to wait, or not wait at all."""
        try:
            while self._is_nudged:
                await self._other.ask((b"CLIENT", b"UNBLOCK", self._client))
                await asyncio.sleep(AGAIN)
        except Away:
            pass  # then nobody waits there

    async def close(self) -> None:
        if self._waking:
            self._waking.cancel()
            await asyncio.wait((self._waking,))
        await self._line.close()
