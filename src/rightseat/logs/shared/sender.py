"""The one task that sends queued records to the server, a few milliseconds' worth per batch.

Entries that are appended while it sleeps or waits for a response become the next batch. An entry is published when the
server has acknowledged it, not before. While the server is unavailable the batch waits, and writers wait behind it.
Afterwards the last positions of the logs show which records of the batch arrived, and whether older ones still exist.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from rightseat.concurrency import cancel_and_wait
from rightseat.logs.shared.backend import BackendUnavailable, LogBackend
from rightseat.logs.shared.backoff import Backoff
from rightseat.logs.shared.writer import PendingRecord, SendQueue, SharedRunWriter, fail_all

logger = logging.getLogger(__name__)

MAX_BATCH_INTERVAL_S = 0.01  # what is appended within it is sent together, and no reader sees the difference
BATCH_INTERVAL_PER_RUN_S = 0.0004  # a single run is sent at once, many runs wait for each other
BUSY_INTERVAL_S = 0.02  # batches that follow each other faster than this are better sent together


class Sender:
    def __init__(self, backend: LogBackend, timeout: float, on_failure: Callable[[SharedRunWriter], None]) -> None:
        """`on_failure` is called with every writer that can write no more."""
        self.queue = SendQueue()
        self.outages = 0
        self._backend = backend
        self._backoff = Backoff("writing the log", timeout)
        self._on_failure = on_failure
        self._is_sending = False
        self._waiters: list[asyncio.Future[None]] = []  # for the next batch to be resolved
        self._task = asyncio.create_task(self._run())

    async def flush(self) -> None:
        """Wait until all records that were queued before are committed or have failed."""
        batches = self._is_sending + bool(self.queue.entries)
        for _ in range(batches):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    async def close(self) -> None:
        await self.flush()
        await cancel_and_wait(self._task)

    async def _run(self) -> None:
        time = asyncio.get_running_loop().time
        last_began = -BUSY_INTERVAL_S
        while True:
            await self.queue.filled.wait()
            began = time()
            batch = self.queue.take()
            self._is_sending = True
            try:
                await self._send(batch)
            except Exception:  # whatever it is: waiting writers must fail, and the task must continue
                logger.exception("cannot write the log")
                fail_all(batch, "unexpected error, see the server's log")
            self._is_sending = False
            self._notify(batch)
            is_busy = began - last_began < BUSY_INTERVAL_S
            per_run = min(MAX_BATCH_INTERVAL_S, BATCH_INTERVAL_PER_RUN_S * len(batch))
            await asyncio.sleep(MAX_BATCH_INTERVAL_S if is_busy else per_run)
            last_began = began

    async def _send(self, batch: Sequence[PendingRecord]) -> None:
        """Retry until each record is resolved."""
        time = asyncio.get_running_loop().time
        while batch:
            try:
                batch = await self._attempt(await self._check(batch))
                self._backoff.record_success(time())
            except BackendUnavailable as problem:
                self.outages += 1
                delay = self._backoff.record_failure(time(), problem)
                if delay is None:
                    return fail_all([pending for pending in batch if pending.writer.failure is None], str(problem))
                await asyncio.sleep(delay)

    async def _check(self, batch: Sequence[PendingRecord]) -> Sequence[PendingRecord]:
        """After an outage, resolve the records that the server has, and fail those of logs that it has lost."""
        unchecked = [
            pending for pending in batch if pending.writer.checked_outage != self.outages and not is_resolved(pending)
        ]
        if not unchecked:
            return [pending for pending in batch if not is_resolved(pending)]
        last_positions = await self._backend.last_positions([pending.writer.run.id for pending in unchecked])
        for pending, last_position in zip(unchecked, last_positions, strict=True):
            pending.writer.checked_outage = self.outages
            pending.resolve(last_position)
        return [pending for pending in batch if not is_resolved(pending)]

    async def _attempt(self, batch: Sequence[PendingRecord]) -> Sequence[PendingRecord]:
        if not batch:
            return ()
        last_positions = await self._backend.append([pending.item for pending in batch])
        results = zip(batch, last_positions, strict=True)
        return [pending for pending, last_position in results if not pending.resolve(last_position)]

    def _notify(self, batch: Sequence[PendingRecord]) -> None:
        for pending in batch:
            if pending.writer.failure is not None:
                self._on_failure(pending.writer)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            with suppress(asyncio.InvalidStateError):  # a cancelled waiter
                waiter.set_result(None)


def is_resolved(pending: PendingRecord) -> bool:
    return pending.writer.failure is not None or pending.writer.position >= pending.record.position
