"""Writes the ends of runs that could not be written while the server was unavailable.

Otherwise followers in other processes would wait for ever. Once the server is back, and if no other process has claimed
the run, its last writer's end events are appended.
"""

import asyncio
import logging

from rightseat.concurrency import cancel_and_wait
from rightseat.logs.shared.backend import BackendUnavailable, LogBackend
from rightseat.logs.shared.records import Record
from rightseat.logs.shared.writer import SharedRunWriter

logger = logging.getLogger(__name__)

RETRY_INTERVAL_S = 1.0


class UnfinishedEnds:
    def __init__(self, backend: LogBackend) -> None:
        self._backend = backend
        self._writers: dict[SharedRunWriter, list[Record]] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, writer: SharedRunWriter) -> None:
        self._writers[writer] = []
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_all())

    async def close(self) -> None:
        if self._task is not None:
            await cancel_and_wait(self._task)
        for writer in self._writers:
            logger.error("run %s has no end in the log: the log server did not come back", writer.run.id)

    async def _write_all(self) -> None:
        while self._writers:
            await asyncio.sleep(RETRY_INTERVAL_S)
            try:
                writer, records = next(iter(self._writers.items()))
                await self._write(writer, records)
                del self._writers[writer]
            except BackendUnavailable:
                continue  # the sender logs it

    async def _write(self, writer: SharedRunWriter, records: list[Record]) -> None:
        """Does nothing if another writer has claimed the run, which then ends it. `records` are those tried before."""
        [last_position] = await self._backend.last_positions([writer.run.id])
        if last_position is None or last_position.epoch != writer.epoch:
            return
        records[:] = records or writer.closing_records(last_position)
        for record in records:
            if record.position > last_position:
                await self._backend.append([(writer.run.id, record)])
        logger.warning("run %s: its end was written late, after an outage of the log server", writer.run.id)
