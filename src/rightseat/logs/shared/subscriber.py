"""Copies the records of other processes' runs to local followers: one subscription serves many runs."""

import asyncio
import logging
import math
from collections.abc import Sequence

from rightseat.core.errors import LogTruncated, RunNotFound, UnreadableEvent
from rightseat.logs.shared.backend import BackendUnavailable, LastPosition, LogBackend, Subscription
from rightseat.logs.shared.backoff import Backoff
from rightseat.logs.shared.records import Record
from rightseat.logs.shared.run import SharedRun

logger = logging.getLogger(__name__)

MAX_RECEIVE_INTERVAL_S = 0.01  # records that are written within it are received together
RECEIVE_INTERVAL_PER_RUN_S = 0.0001
BUSY_INTERVAL_S = 0.02  # receptions that follow each other faster than this are better done together, as in `sender`
CHECK_INTERVAL_S = 5.0  # between two checks that the followed logs still exist
MISSING_TIMEOUT_S = 10.0  # a log may be missing for so long: its writer may be about to restart it
RETRY_INTERVAL_S = 1.0
NO_TIMEOUT = math.inf  # an outage is not reported to followers; they wait as for a silent writer


class Subscriber:
    def __init__(self, backend: LogBackend) -> None:
        self._backend = backend
        self._groups: list[_SubscriptionGroup] = []

    def __contains__(self, run_id: str) -> bool:
        return any(run_id in group.runs for group in self._groups)

    def add(self, run: SharedRun) -> None:
        limit = self._backend.max_runs_per_subscription
        group = next((group for group in self._groups if len(group.runs) < limit), None)
        if group is None:
            group = _SubscriptionGroup(self._backend)
            self._groups.append(group)
        group.add(run)

    def remove(self, run_id: str) -> None:
        for group in self._groups:
            group.runs.pop(run_id, None)

    async def close(self) -> None:
        for group in self._groups:
            await group.close()
        self._groups.clear()


class _SubscriptionGroup:
    """The runs of one subscription."""

    def __init__(self, backend: LogBackend) -> None:
        self.runs: dict[str, SharedRun] = {}
        self._backend = backend
        self._subscription: Subscription = backend.subscribe()
        self._filled = asyncio.Event()
        self._backoff = Backoff("following the log", NO_TIMEOUT)
        self._missing_since: dict[str, float] = {}
        self._tasks = asyncio.create_task(self._receive_forever()), asyncio.create_task(self._check_forever())

    def add(self, run: SharedRun) -> None:
        self.runs[run.id] = run
        self._filled.set()
        self._subscription.wake()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._subscription.close()

    async def _receive_forever(self) -> None:
        time = asyncio.get_running_loop().time
        last_received = -BUSY_INTERVAL_S
        while True:
            while not self.runs:  # one that was added may have been removed before this task continued
                self._filled.clear()
                await self._filled.wait()
            try:
                positions = {run.id: run.cursor.position for run in self.runs.values()}
                received = await self._subscription.receive(positions)
                now = time()
                self._backoff.record_success(now)
            except BackendUnavailable as problem:
                await asyncio.sleep(self._backoff.record_failure(time(), problem) or RETRY_INTERVAL_S)
                continue
            except Exception:  # whatever it is: otherwise followers would wait for ever
                logger.exception("cannot follow the log")
                await asyncio.sleep(RETRY_INTERVAL_S)
                continue
            for run_id, records in received.items():
                run = self.runs.get(run_id)
                if run is not None and run.cursor.position == positions[run_id]:  # else it was added again meanwhile
                    self._feed(run, records)
            is_busy = now - last_received < BUSY_INTERVAL_S
            per_run = min(MAX_RECEIVE_INTERVAL_S, RECEIVE_INTERVAL_PER_RUN_S * len(self.runs))
            last_received = now if received else last_received
            await asyncio.sleep(MAX_RECEIVE_INTERVAL_S if is_busy and received else per_run)

    def _feed(self, run: SharedRun, records: Sequence[Record]) -> None:
        try:
            run.feed(records)
        except UnreadableEvent as error:
            logger.error("cannot follow run %s any further: %s", run.id, error)
            run.fail(error)
        if run.ended:
            self.runs.pop(run.id, None)

    async def _check_forever(self) -> None:
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            runs = list(self.runs.values())
            try:
                last_positions = await self._backend.last_positions([run.id for run in runs])
            except BackendUnavailable:
                continue  # `_receive_forever` logs it
            now = asyncio.get_running_loop().time()
            for run, last_position in zip(runs, last_positions, strict=True):
                if self.runs.get(run.id) is run:
                    self._check(run, last_position, now)

    def _check(self, run: SharedRun, last_position: LastPosition, now: float) -> None:
        """Fail a run whose log is lost or ends before the cursor: it would never send another record."""
        if last_position is not None and last_position >= run.cursor.position:
            self._missing_since.pop(run.id, None)
            return
        if now - self._missing_since.setdefault(run.id, now) < MISSING_TIMEOUT_S:
            return
        del self._missing_since[run.id], self.runs[run.id]
        run.fail(RunNotFound(run.id) if last_position is None else LogTruncated(run.id, str(last_position)))
