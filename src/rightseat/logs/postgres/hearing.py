"""Waits for notifications, and reads what is new in the runs that they name."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.core.log import Position
from rightseat.logs.keeper import Away
from rightseat.logs.pieces import Piece

LOOK = 2.0  # seconds after which one looks without having been told: a notification may be lost with its connection
MOST = 200  # pieces of one run at once

NEWS = f"""
SELECT places.id, pieces.epoch, pieces.seq, pieces.kind, pieces.content
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS places(id, epoch, seq)
JOIN log_runs AS runs ON runs.id = places.id
CROSS JOIN LATERAL (
    SELECT epoch, seq, kind, content FROM log_pieces
    WHERE run = runs.key AND (epoch, seq) > (places.epoch, places.seq) ORDER BY epoch, seq LIMIT {MOST}
) AS pieces
"""  # noqa: S608  # a number of ours


class PostgresEar:
    def __init__(
        self, connect: Callable[[], Awaitable[Any]], channel: str, read: Callable[[Sequence[Any]], Piece]
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._read = read
        self._connection: Any = None
        self._told = asyncio.Event()
        self._signs: set[str] = set()  # of the runs that have news
        self._known: set[str] = set()  # runs that were looked at before
        self._is_all = True

    async def hear(self, places: Mapping[str, Position]) -> Mapping[str, Sequence[Piece]]:
        try:
            if self._connection is None or self._connection.is_closed():
                await self._listen()
            if not (wanted := self._take(places)):
                await self._wait()
                wanted = self._take(places)
            return await self._look(wanted) if wanted else {}
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            await self.close()
            raise Away(str(error) or type(error).__name__) from error

    def nudge(self) -> None:
        self._told.set()

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _listen(self) -> None:
        self._connection = await self._connect()
        await self._connection.add_listener(self._channel, self._notified)
        self._is_all = True

    def _notified(self, _connection: object, _pid: int, _channel: str, payload: str) -> None:
        if payload:
            self._signs.update(payload.split(","))
        else:
            self._is_all = True
        self._told.set()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(LOOK):
                await self._told.wait()
        except TimeoutError:
            self._is_all = True

    def _take(self, places: Mapping[str, Position]) -> Mapping[str, Position]:
        """Those that may have news: they were named, or were not looked at yet."""
        if self._is_all:
            wanted = places
        else:
            known, signs = self._known, self._signs
            wanted = {id: place for id, place in places.items() if id not in known or sign(id) in signs}
        self._told.clear()
        self._known = set(places)
        self._signs = set()
        self._is_all = False
        return wanted

    async def _look(self, places: Mapping[str, Position]) -> Mapping[str, Sequence[Piece]]:
        epochs, numbers = [place.epoch for place in places.values()], [place.seq for place in places.values()]
        news: dict[str, list[Piece]] = {}
        for run_id, *row in await self._connection.fetch(NEWS, list(places), epochs, numbers):
            news.setdefault(run_id, []).append(self._read(row))
        for run_id, pieces in news.items():
            pieces.sort(key=lambda piece: piece.at)
            if len(pieces) == MOST:
                self._known.discard(run_id)  # there is more
        return news


def sign(run_id: str) -> str:
    """Short, so that one notification can name many runs. That two may have the same costs a look."""
    return f"{crc32(run_id.encode()):x}"
