"""Recovers runs whose process died: durable runs are resumed, the others are closed."""

import logging
from contextlib import suppress

from rightseat.core.admission import Admission, OpenAdmission
from rightseat.core.ask import Ask
from rightseat.core.engine import Engine, Resumed
from rightseat.core.errors import RunExists, StaleWriter, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.log import ListsOpenLogs, Log
from rightseat.core.run.durable import build_run_started, read_all_entries
from rightseat.core.run.executor import end_run
from rightseat.core.run.observers import CountTakeover, ignore_takeover
from rightseat.core.run.outcome import FailureRecorder, LastEvent
from rightseat.core.run.spans import SpanHistory, SpanRecorder
from rightseat.core.stream.reducer import Reducer
from rightseat.core.threads import RunClaim, Threads

logger = logging.getLogger(__name__)

CUT_OFF = "The server stopped while it was answering. Please ask again."
GIVEN_UP = "The server failed repeatedly while it was answering this, so the answer was given up."


class Recovery:
    def __init__(
        self,
        log: Log,
        threads: Threads,
        engine: Engine,
        admission: Admission | None = None,
        count_takeover: CountTakeover = ignore_takeover,
    ) -> None:
        self._admission = admission or OpenAdmission()
        self._count_takeover = count_takeover
        self._log = log
        self._threads = threads
        self._engine = engine
        self._left_logs: set[str] = set()  # logs without an end, whose runs had ended at the last search

    async def recover_all(self) -> None:
        """Recover the runs of processes that died, and close the logs that no known run belongs to."""
        going_on = await self.recover_orphans()
        for run_id, epoch in await self._log.unfinished_runs():
            if run_id not in going_on:
                await self._close_log(run_id, epoch + 1)

    async def close_left_logs(self) -> None:
        """Close the logs of runs that have ended in the store: their process died before it wrote their end.

        At the second sight: a process that is alive writes the end of the log right after the store.
        """
        open_logs = dict(await self._log.open_logs()) if isinstance(self._log, ListsOpenLogs) else {}
        ended = set(await self._threads.ended(list(open_logs))) if open_logs else set()
        again, self._left_logs = ended & self._left_logs, ended - self._left_logs
        for run_id in sorted(again):
            with suppress(StaleWriter):  # another process closes it
                await self._close_log(run_id, open_logs[run_id] + 1)
                logger.warning("run %s had ended without the end of its log, which is now closed", run_id)

    async def recover_orphans(self) -> set[str]:
        """Resume durable runs, and close the others. Returns the ids of the resumed runs."""
        orphans = await self._threads.orphans()
        durable_asks = [ask for ask in orphans if ask.durable]
        resumed = Resumed()
        if durable_asks:
            await self._log.expect_writer([ask.run_id for ask in durable_asks])
            resumed = await self._engine.resume(durable_asks)
        if going_on := set(resumed.going_on):
            logger.warning("resuming runs whose process died: %s", ", ".join(sorted(going_on)))
        for ask in orphans:
            self._count_takeover("resumed" if ask.run_id in going_on else "cut_off")
            if ask.run_id in going_on:
                continue
            if ask.durable:
                (await self._admission.take(ask)).release()  # its slots passed to this process
            failed = RunFailed("recovery_failed", GIVEN_UP) if ask.durable else RunFailed("cut_off", CUT_OFF)
            try:
                await self._close(ask, RunFinished("cancelled") if ask.run_id in resumed.cancelled else failed)
            except (RunExists, StaleWriter) as taken:
                logger.warning("run %s is not closed here: %s", ask.run_id, taken)  # it has ended, or another closes it
            except Exception:
                logger.exception("run %s was interrupted and cannot be closed", ask.run_id)
        return going_on

    async def _close(self, ask: Ask, last: LastEvent) -> None:
        """The partial response is kept, marked as incomplete."""
        try:
            claim = await self._threads.claim(ask, again=True)
        except ThreadNotFound:
            return  # the thread was deleted in the meantime
        try:
            await self._end(ask, claim, last)
        finally:
            self._threads.release(ask.run_id, claim.epoch)

    async def _end(self, ask: Ask, claim: RunClaim, last: LastEvent) -> None:
        with suppress(RunExists):
            await self._log.create(ask.run_id)
        reducer = Reducer(claim.state if ask.state is None else ask.state)
        events = [entry.event for entry in await read_all_entries(self._log, ask.run_id)]
        for event in events:
            reducer.add(event)
        recorder = SpanRecorder()
        recorder.resume(SpanHistory(events))
        if events and isinstance(events[-1], LastEvent):  # only the store does not have it
            totals = recorder.history.totals
            await self._threads.finish(ask, reducer.messages(), reducer.state, events[-1], totals)
            return
        async with self._log.open(ask.run_id, claim.epoch) as writer:
            if not events:
                await writer.append(build_run_started(ask, claim, recorder))
            recorder.attach(writer)
            await end_run(self._threads, ask, writer, reducer, last, FailureRecorder(ask, reducer), recorder)
        logger.warning("run %s was interrupted when the server stopped and is now closed: %s", ask.run_id, reason(last))

    async def _close_log(self, run_id: str, epoch: int) -> None:
        """Close the log of a run that the store does not have as unfinished: only its last events are missing."""
        reducer = Reducer()
        events = [entry.event for entry in await self._log.read(run_id)]
        for event in events:
            reducer.add(event)
        recorder = SpanRecorder()
        recorder.resume(SpanHistory(events))
        async with self._log.open(run_id, epoch) as writer:
            if events and not isinstance(events[-1], LastEvent):
                recorder.attach(writer)
                for event in (*reducer.endings(), RunFailed("cut_off", CUT_OFF)):
                    await writer.append(event)
        if not events:
            await self._log.delete((run_id,))  # the run never started


def reason(last: LastEvent) -> str:
    return last.code if isinstance(last, RunFailed) else last.outcome
