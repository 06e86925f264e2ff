"""Executes a durable run, which reaches its end even if its process dies, its log is lost or its store is unavailable.

1. Another process may have begun the run: events that it wrote are not written again (`core.run.replay`).
2. The log may be lost while it is being written. It is recreated with the current messages of the thread, but not in
   the middle of a tool call, whose arguments could not be continued afterwards.
3. The last event is written to the log before the store. A process that takes over in between finds it in the log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

import msgspec

from rightseat.concurrency import aclosing, raise_if_cancelled, run_to_completion
from rightseat.core import errors
from rightseat.core import events as e
from rightseat.core.admission import RunSlot
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.guards.verdicts import mark_denied_question
from rightseat.core.log import Entry, Log
from rightseat.core.loop.continuation import ResumedSteps
from rightseat.core.messages import Message, continue_messages
from rightseat.core.run.outcome import FailureRecorder, LastEvent, Outcome, set_usage
from rightseat.core.run.replay import Replay
from rightseat.core.run.spans import SpanHistory, SpanRecorder
from rightseat.core.stream.reducer import Reducer
from rightseat.core.threads import RunClaim, Threads

logger = logging.getLogger(__name__)

T = TypeVar("T")

STORE_RETRY_TIMEOUT_S = 60.0  # how long writes of a durable run to an unreachable store are retried
FIRST_RETRY_DELAY_S, MAX_RETRY_DELAY_S = 0.1, 2.0  # between two attempts


class DurableRun:
    def __init__(
        self,
        log: Log,
        threads: Threads,
        ask: Ask,
        claim: RunClaim,
        reducer: Reducer,
        slot: RunSlot,
        failures: FailureRecorder,
        recorder: SpanRecorder,
    ) -> None:
        self._log = log
        self._threads = threads
        self._ask = ask
        self._epoch = claim.epoch
        self._slot = slot
        self._reducer = reducer
        self._failures = failures
        self._recorder = recorder
        self._started = build_run_started(ask, claim, recorder)
        self._ended: list[tuple[int, e.TextEnded]] = []  # texts that ended, with the sequence numbers of their entries
        self._lost: errors.LogDataLost | None = None
        self._stack = AsyncExitStack()

    async def perform(self, agent: Agent, steps: Steps, *, is_new: bool) -> LastEvent:
        try:
            return await self._perform(agent, steps, is_new=is_new)
        finally:
            self._recorder.detach()
            self._threads.release(self._ask.run_id, self._epoch)

    async def _perform(self, agent: Agent, steps: Steps, *, is_new: bool) -> LastEvent:
        async with self._stack:
            await self._open_or_create()
            replay = None if is_new else await self._resume(steps)
            if replay and replay.last:  # in the log, but perhaps not in the store
                last = replay.last
            else:
                last = await self._answer(agent, steps, replay)
                await self._slot.close()  # before the end is written: a client that receives it may ask again at once
                await run_to_completion(self._end(last))
        await run_to_completion(self._finish(last))
        return last

    async def _open_or_create(self) -> None:
        try:
            await self._open()
        except errors.RunNotFound:  # the log was lost
            await self._open(base=0)  # creates and fences in one step: in between, an old writer could open it

    async def _open(self, base: int | None = None) -> None:
        opened = self._log.open(self._ask.run_id, self._epoch, base=base)
        self._writer = await self._stack.enter_async_context(opened)

    async def _resume(self, steps: Steps) -> Replay:
        """Raises `StaleWriter` if another process has to resume the run; its followers wait for that process."""
        try:
            events = [entry.event for entry in await read_all_entries(self._log, self._ask.run_id)]
            self._recorder.resume(SpanHistory(events))
            self._started = msgspec.structs.replace(self._started, began_at=self._recorder.began_at)
            return Replay(events, self._reducer, await self._earlier())
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, errors.StaleWriter) or not (
                steps.is_shutting_down or isinstance(error, errors.StoreUnreachable)
            ):
                raise
            logger.warning("run %s cannot be resumed here: %r", self._ask.run_id, error)
            raise errors.StaleWriter(self._ask.run_id, self._epoch, self._epoch) from error

    async def _earlier(self) -> tuple[Message, ...]:
        """The messages of the thread before this run, and the new messages of its ask."""
        thread = await retry_store(self._ask, lambda: self._threads.load(self._ask.thread_id, self._ask.principal))
        earlier = thread.messages if thread else ()
        return continue_messages(earlier, self._ask.truncate_at, self._started.new_messages)

    async def _answer(self, agent: Agent, steps: Steps, replay: Replay | None) -> LastEvent:
        with Outcome(self._failures, steps, self._epoch) as outcome:
            raise_if_cancelled()  # it may have been cancelled while the log was being opened
            if replay is None or replay.is_first:
                await self._write(self._started)
            if replay and replay.is_first:  # the log may have been lost; then followers have more than the log
                await self._write(e.MessagesReplaced(await self._earlier(), ()))
            self._recorder.attach(self._writer)
            recalled = ResumedSteps(steps, replay) if replay else steps
            async with aclosing(agent.run(self._ask, recalled)) as events:
                async for event in events:
                    if type(event) is e.RunFinished or type(event) is e.RunFailed:  # faster than `isinstance`
                        outcome.read(event)
                        break
                    for unwritten in (event,) if replay is None else replay.feed(event):
                        await self._write(unwritten)
        return outcome.last

    async def _write(self, event: e.Event) -> None:
        self._reducer.add(event)
        failure = self._writer.failure
        if failure is not None and isinstance(failure, errors.LogDataLost):
            self._lost = failure  # recreate first: followers would receive ends without their starts
        if self._lost is not None:
            self._note_end(event, self._lost.seq + 1)
            return await self._recreate_log(self._lost)
        try:
            entry = await self._writer.append(event)
            self._note_end(event, entry.seq)
        except errors.LogDataLost as lost:
            self._note_end(event, lost.seq + 1)
            await self._recreate_log(lost)

    def _note_end(self, event: e.Event, seq: int) -> None:
        if type(event) is e.TextEnded:
            self._ended.append((seq, event))

    async def _recreate_log(self, lost: errors.LogDataLost) -> None:
        """Followers that received the start of a text but not its end receive the end again."""
        self._lost = lost
        if self._reducer.is_calling:
            return
        logger.warning("run %s: its log was lost and is created again", self._ask.run_id)
        self._epoch = await retry_store(self._ask, lambda: self._threads.advance_epoch(self._ask, self._epoch))
        await self._open(base=lost.seq)
        self._lost = None
        unseen = [event for seq, event in self._ended if seq > lost.seq]
        self._ended.clear()
        replaced = e.MessagesReplaced(await self._earlier(), self._reducer.messages())
        again: list[e.Event] = [self._started, replaced, *unseen]
        for event in again:
            await self._rewrite(event)
        self._recorder.attach_again(self._writer)

    async def _rewrite(self, event: e.Event) -> None:
        try:
            entry = await self._writer.append(event)
            self._note_end(event, entry.seq)
        except errors.LogDataLost as lost:  # the log was lost again
            await self._recreate_log(lost)

    async def _end(self, last: LastEvent) -> None:
        for ending in tuple(self._reducer.endings()):
            await self._write(ending)
        self._recorder.close(last)
        last = set_usage(last, self._recorder.history.totals.usage)
        while True:
            try:
                await self._writer.flush()
                await self._writer.append(last)
                return await self._writer.flush()
            except errors.LogDataLost as lost:
                await self._recreate_log(lost)
            except errors.StorageFull as full:
                await self._writer.append(self._failures.read(full))  # for followers: it is stored nowhere
                raise

    async def _finish(self, last: LastEvent) -> None:
        ask, messages, state = (
            mark_denied_question(self._ask, self._reducer),
            self._reducer.messages(),
            self._reducer.state,
        )
        totals = self._recorder.history.totals
        await retry_store(ask, lambda: self._threads.finish(ask, messages, state, last, totals))


def build_run_started(ask: Ask, claim: RunClaim, recorder: SpanRecorder | None = None) -> e.RunStarted:
    answered = [e.AnsweredInterrupt(one.interrupt_id, one.status, one.by or ask.principal.id) for one in ask.answers]
    downgrade = ask.downgrade
    return e.RunStarted(
        ask.run_id,
        ask.thread_id,
        ask.agent,
        ask.client_run_id,
        claim.new_messages,
        recorder.began_at if recorder else None,
        ask.face or None,
        tuple(answered),
        ask.truncate_at,
        e.DowngradedRun(downgrade.model, downgrade.limit) if downgrade else None,
    )


async def reclaim_run(threads: Threads, ask: Ask) -> RunClaim | None:
    """Claim a run that another process began; None if it has ended."""
    try:
        return await retry_store(ask, lambda: threads.claim(ask, again=True))
    except (errors.RunExists, errors.ThreadBusy, errors.ThreadNotFound):
        return None


async def retry_store(
    ask: Ask, call: Callable[[], Awaitable[T]], seconds: float = STORE_RETRY_TIMEOUT_S, *, is_outage_only: bool = False
) -> T:
    """Call the store, and retry for so long while it is unreachable; also after unexpected errors, unless
    `is_outage_only`.
    """
    pause, clock = FIRST_RETRY_DELAY_S, asyncio.get_running_loop().time
    until = clock() + seconds
    while True:
        try:
            return await call()
        except Exception as error:
            is_final = is_outage_only or isinstance(error, errors.RightseatError)
            if clock() > until or (is_final and not isinstance(error, errors.StoreUnreachable)):
                raise
            if pause == FIRST_RETRY_DELAY_S:
                logger.warning("run %s: the store cannot be reached yet: %s", ask.run_id, error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, MAX_RETRY_DELAY_S)


async def read_all_entries(log: Log, run_id: str) -> Sequence[Entry]:
    """All entries of a log; if it was truncated, the entries after the gap."""
    after: str | None = None
    while True:
        try:
            return await log.read(run_id, after)
        except errors.RunNotFound:
            return ()
        except errors.LogTruncated as gone:
            after = gone.resume
