"""A durable run: it comes to its end whatever becomes of its process, of its log or of its store.

1. Another process may have begun it: what that one said is not said again (`core.resuming`).
2. Its log may be lost while it is written. It is begun anew, with what the thread looks like; not in the middle of a
   call, whose arguments could not be continued behind that.
3. Its last event is in the log before the store hears of it. Who takes over in between finds it there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

from rightseat.core.admission import Slot
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.cancelling import raise_if_cancelled, to_the_end
from rightseat.core.closing import closing
from rightseat.core.continuing import ResumedSteps
from rightseat.core.engine import Steps
from rightseat.core.errors import (
    EntriesGone,
    LogLost,
    RightseatError,
    RunExists,
    RunNotFound,
    StaleWriter,
    StoreUnreachable,
    ThreadBusy,
    ThreadNotFound,
)
from rightseat.core.events import Event, MessagesReplaced, RunFailed, RunFinished, RunStarted, TextEnded
from rightseat.core.failing import Failures, Last, Outcome
from rightseat.core.folding import Fold
from rightseat.core.judging import marked
from rightseat.core.log import Entry, Log
from rightseat.core.messages import Message
from rightseat.core.resuming import Resumption
from rightseat.core.threads import Beginning, Threads

logger = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = 60.0  # seconds in which the store may come back, to hear that a run is over
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds between two attempts


class Lasting:
    def __init__(
        self, log: Log, threads: Threads, ask: Ask, beginning: Beginning, fold: Fold, slot: Slot, failures: Failures
    ) -> None:
        self._log = log
        self._threads = threads
        self._ask = ask
        self._epoch = beginning.epoch
        self._slot = slot
        self._fold = fold
        self._failures = failures
        self._started = first_event(ask, beginning)
        self._ended: list[tuple[int, TextEnded]] = []  # texts that ended, with the numbers of their entries
        self._lost: LogLost | None = None
        self._stack = AsyncExitStack()

    async def perform(self, agent: Agent, steps: Steps, *, is_new: bool) -> Last:
        try:
            return await self._perform(agent, steps, is_new=is_new)
        finally:
            self._threads.leave(self._ask.run_id, self._epoch)

    async def _perform(self, agent: Agent, steps: Steps, *, is_new: bool) -> Last:
        async with self._stack:
            await self._open_or_create()
            resumption = None if is_new else await self._resume(steps)
            if resumption and resumption.last:  # only the store was not told
                last = resumption.last
            else:
                last = await self._answer(agent, steps, resumption)
                self._slot.release()  # a client that sees the end may ask again at once
                await to_the_end(self._end(last))
        await to_the_end(self._finish(last))
        return last

    async def _open_or_create(self) -> None:
        try:
            await self._open()
        except RunNotFound:  # it was lost
            await self._open(base=0)  # made and fenced at once: between the two, an old writer could take it

    async def _open(self, base: int | None = None) -> None:
        opened = self._log.open(self._ask.run_id, self._epoch, base=base)
        self._writer = await self._stack.enter_async_context(opened)

    async def _resume(self, steps: Steps) -> Resumption:
        """Raises `StaleWriter` where this process has to leave the run to another: its followers wait for that one."""
        try:
            said = [entry.event for entry in await whole(self._log, self._ask.run_id)]
            return Resumption(said, self._fold, await self._earlier())
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, StaleWriter) or not (steps.is_leaving or isinstance(error, StoreUnreachable)):
                raise
            logger.warning("run %s cannot be resumed here: %r", self._ask.run_id, error)
            raise StaleWriter(self._ask.run_id, self._epoch, self._epoch) from error

    async def _earlier(self) -> tuple[Message, ...]:
        """What was said in the thread before this run."""
        thread = await insist(self._ask, lambda: self._threads.load(self._ask.thread_id, self._ask.principal))
        return (*(thread.messages if thread else ()), *self._started.said)

    async def _answer(self, agent: Agent, steps: Steps, resumption: Resumption | None) -> Last:
        with Outcome(self._failures, steps, self._epoch) as outcome:
            raise_if_cancelled()  # while the log was being opened
            if resumption is None or resumption.is_first:
                await self._say(self._started)
            if resumption and resumption.is_first:  # the log may have been lost, and then more was seen than it has
                await self._say(MessagesReplaced(await self._earlier(), ()))
            recalled = ResumedSteps(steps, resumption) if resumption else steps
            async with closing(agent.run(self._ask, recalled)) as events:
                async for event in events:
                    if type(event) is RunFinished or type(event) is RunFailed:  # `isinstance` takes six times as long
                        outcome.read(event)
                        break
                    for unwritten in (event,) if resumption is None else resumption.feed(event):
                        await self._say(unwritten)
        return outcome.last

    async def _say(self, event: Event) -> None:
        self._fold.add(event)
        failure = self._writer.failure
        if failure is not None and isinstance(failure, LogLost):
            self._lost = failure  # ends would be told, of what nobody saw begin
        if self._lost is not None:
            self._note_end(event, self._lost.seq + 1)
            return await self._begin_anew(self._lost)
        try:
            entry = await self._writer.append(event)
            self._note_end(event, entry.seq)
        except LogLost as lost:
            self._note_end(event, lost.seq + 1)
            await self._begin_anew(lost)

    def _note_end(self, event: Event, seq: int) -> None:
        if type(event) is TextEnded:
            self._ended.append((seq, event))

    async def _begin_anew(self, lost: LogLost) -> None:
        """Whoever saw a text begin, and not its end, is told the end as well."""
        self._lost = lost
        if self._fold.is_calling:
            return
        logger.warning("run %s: its log was lost, and is begun anew", self._ask.run_id)
        self._epoch = await insist(self._ask, lambda: self._threads.advance(self._ask, self._epoch))
        await self._open(base=lost.seq)
        self._lost = None
        unseen = [event for seq, event in self._ended if seq > lost.seq]
        self._ended.clear()
        replaced = MessagesReplaced(await self._earlier(), self._fold.messages())
        again: list[Event] = [self._started, replaced, *unseen]
        for event in again:
            await self._say_again(event)

    async def _say_again(self, event: Event) -> None:
        try:
            entry = await self._writer.append(event)
            self._note_end(event, entry.seq)
        except LogLost as lost:  # once more
            await self._begin_anew(lost)

    async def _end(self, last: Last) -> None:
        for ending in tuple(self._fold.endings()):
            await self._say(ending)
        while True:
            try:
                await self._writer.flush()
                await self._writer.append(last)
                return await self._writer.flush()
            except LogLost as lost:
                await self._begin_anew(lost)

    async def _finish(self, last: Last) -> None:
        ask, said, state = marked(self._ask, self._fold), self._fold.messages(), self._fold.state
        await insist(ask, lambda: self._threads.finish(ask, said, state, last))


def first_event(ask: Ask, beginning: Beginning) -> RunStarted:
    return RunStarted(ask.run_id, ask.thread_id, ask.agent, ask.client_run_id, beginning.said)


async def begin_again(threads: Threads, ask: Ask) -> Beginning | None:
    """Claim a run that another process began; None if it is over."""
    try:
        return await insist(ask, lambda: threads.begin(ask, again=True))
    except (RunExists, ThreadBusy, ThreadNotFound):
        return None


async def insist(ask: Ask, tell: Callable[[], Awaitable[T]]) -> T:
    """Tell the store, which may be away for a while."""
    pause, clock = FIRST_PAUSE, asyncio.get_running_loop().time
    until = clock() + PATIENCE
    while True:
        try:
            return await tell()
        except Exception as error:
            if clock() > until or (isinstance(error, RightseatError) and not isinstance(error, StoreUnreachable)):
                raise
            logger.warning("run %s: the store cannot be reached yet: %s", ask.run_id, error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


async def whole(log: Log, run_id: str) -> Sequence[Entry]:
    """All that a log has; of one that was lost, what came after that."""
    after: str | None = None
    while True:
        try:
            return await log.read(run_id, after)
        except RunNotFound:
            return ()
        except EntriesGone as gone:
            after = gone.resume
