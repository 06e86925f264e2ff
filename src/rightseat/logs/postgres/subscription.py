"""A subscription to many runs in PostgreSQL: waits for notifications, then reads the runs that they name."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.core.log import Position
from rightseat.logs.shared.backend import BackendUnavailable
from rightseat.logs.shared.records import Record

POLL_INTERVAL_S = 2.0  # without a notification, which may be lost with its connection
MAX_RECORDS_PER_RUN = 200

READ_NEW = f"""
SELECT positions.id, records.epoch, records.seq, records.kind, records.content
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS positions(id, epoch, seq)
JOIN log_runs AS runs ON runs.id = positions.id
CROSS JOIN LATERAL (
    SELECT epoch, seq, kind, content FROM log_records
    WHERE run_key = runs.key AND (epoch, seq) > (positions.epoch, positions.seq)
    ORDER BY epoch, seq LIMIT {MAX_RECORDS_PER_RUN}
) AS records
"""  # noqa: S608  # a constant number


class PostgresSubscription:
    def __init__(
        self, connect: Callable[[], Awaitable[Any]], channel: str, read: Callable[[Sequence[Any]], Record]
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._read = read
        self._connection: Any = None
        self._notified = asyncio.Event()
        self._hashes: set[str] = set()  # of the runs with new records
        self._read_before: set[str] = set()  # run ids
        self._reads_all = True

    async def receive(self, positions: Mapping[str, Position]) -> Mapping[str, Sequence[Record]]:
        try:
            if self._connection is None or self._connection.is_closed():
                await self._listen()
            if not (due := self._take_due(positions)):
                await self._wait()
                due = self._take_due(positions)
            return await self._read_new(due) if due else {}
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            await self.close()
            raise BackendUnavailable(str(error) or type(error).__name__) from error

    def wake(self) -> None:
        self._notified.set()

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _listen(self) -> None:
        self._connection = await self._connect()
        await self._connection.add_listener(self._channel, self._on_notification)
        self._reads_all = True

    def _on_notification(self, _connection: object, _pid: int, _channel: str, payload: str) -> None:
        if payload:
            self._hashes.update(payload.split(","))
        else:
            self._reads_all = True
        self._notified.set()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(POLL_INTERVAL_S):
                await self._notified.wait()
        except TimeoutError:
            self._reads_all = True

    def _take_due(self, positions: Mapping[str, Position]) -> Mapping[str, Position]:
        """The runs that may have new records: a notification named them, or they were not read yet."""
        if self._reads_all:
            due = positions
        else:
            read_before, hashes = self._read_before, self._hashes
            due = {id: at for id, at in positions.items() if id not in read_before or short_hash(id) in hashes}
        self._notified.clear()
        self._read_before = set(positions)
        self._hashes = set()
        self._reads_all = False
        return due

    async def _read_new(self, positions: Mapping[str, Position]) -> Mapping[str, Sequence[Record]]:
        epochs, numbers = [at.epoch for at in positions.values()], [at.seq for at in positions.values()]
        found: dict[str, list[Record]] = {}
        for run_id, *row in await self._connection.fetch(READ_NEW, list(positions), epochs, numbers):
            found.setdefault(run_id, []).append(self._read(row))
        for run_id, records in found.items():
            records.sort(key=lambda record: record.position)
            if len(records) == MAX_RECORDS_PER_RUN:
                self._read_before.discard(run_id)  # there are more
        return found


def short_hash(run_id: str) -> str:
    """Short, so that one notification can name many runs. A collision costs one more read."""
    return f"{crc32(run_id.encode()):x}"
