"""Begins a run: the thread is claimed for it, what it needs of the thread is added to its ask, the engine takes it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from rightseat.core.approvals import record_decisions
from rightseat.core.ask import Ask, Principal
from rightseat.core.calling import calls_in
from rightseat.core.cancelling import to_the_end
from rightseat.core.cancelling import whole as undone
from rightseat.core.closing import closing
from rightseat.core.engine import Engine
from rightseat.core.errors import (
    BadAsk,
    InternalError,
    RightseatError,
    RunExists,
    RunNotFound,
    StoreUnreachable,
    ThreadBusy,
)
from rightseat.core.events import RunFinished
from rightseat.core.failing import Last
from rightseat.core.history import is_returning, recalled
from rightseat.core.lasting import whole
from rightseat.core.log import Log
from rightseat.core.messages import Message
from rightseat.core.performing import Performer
from rightseat.core.threads import Beginning, Pending, Threads

logger = logging.getLogger(__name__)

ENDING = 2.0  # seconds in which the store hears of a durable run that has ended
SOON = 0.02  # seconds


class Starter:
    def __init__(self, log: Log, threads: Threads, engine: Engine, performer: Performer) -> None:
        self._log = log
        self._threads = threads
        self._engine = engine
        self._begun = performer.begun
        self._perform = performer.perform
        self._release = performer.release

    async def start(self, ask: Ask) -> Ask:
        """Returns the ask as its run has it. Whatever is raised, nothing is left begun."""
        if ask.durable:
            await self._refuse_again(ask)
            ask = await self._whole(ask)
        await self._log.create(ask.run_id, transient=ask.transient)
        beginning: Beginning | None = None
        try:
            beginning = await self._claim(ask)
            ask = await self._with_history(with_calls(ask, beginning.pending), beginning.said)
            self._begun[ask.run_id] = beginning
            if not await self._engine.start(ask, self._perform):
                del self._begun[ask.run_id]
                self._release(ask.run_id)
                self._threads.leave(ask.run_id, beginning.epoch)
            record_decisions(ask)
        except BaseException as error:
            await to_the_end(self._abandon(ask, beginning, error))
            if isinstance(error, RightseatError) or not isinstance(error, Exception):
                raise
            logger.exception("run %s could not be begun", ask.run_id)
            raise InternalError(ask.run_id) from error
        return ask

    async def settle(self, principal: Principal, thread_id: str | None = None) -> None:
        """Wait until the store has what runs left that have written their last event, of one thread or of all."""
        if not self._engine.is_lasting:
            return  # the store has it before the last event is written
        clock = asyncio.get_running_loop().time
        until = clock() + ENDING
        unfinished = await self._threads.unfinished(principal, thread_id)
        ending = {run_id for run_id in unfinished if await self.is_ending(run_id)}
        while ending and clock() < until:
            await asyncio.sleep(SOON)
            ending.intersection_update(await self._threads.unfinished(principal, thread_id))

    async def is_ending(self, run_id: str) -> bool:
        """Is it a durable run that has said its last, and is about to tell the store?"""
        entries = await whole(self._log, run_id) if self._engine.is_lasting else ()
        return bool(entries) and isinstance(entries[-1].event, Last)

    async def _refuse_again(self, ask: Ask) -> None:
        """A client that does not know whether its ask arrived asks again. Its run is there, and can be followed."""
        thread = await self._threads.load(ask.thread_id, ask.principal) if ask.client_run_id else None
        if thread is None or ask.answers:
            return
        known = {message.id for message in thread.messages}
        for run in thread.runs:
            is_it = (run.client_run_id, run.agent) == (ask.client_run_id, ask.agent) and run.outcome != "cancelled"
            if is_it and run.outcome is not None and known.issuperset(message.id for message in ask.messages):
                raise RunExists(run.id)

    async def _whole(self, ask: Ask) -> Ask:
        """An ask that answers questions, with all that its run needs. So it is kept when the run is claimed: whoever
        finds it without its process has nothing else. Questions that are not open any more are refused by the claim."""
        if not ask.answers:
            return ask
        await self.settle(ask.principal, ask.thread_id)
        pending = await self._threads.pending(ask.principal, ask.thread_id)
        if not {one.interrupt.id for one in pending}.issuperset(one.interrupt_id for one in ask.answers):
            return ask
        return await self._with_history(with_calls(ask, pending))

    async def _with_history(self, ask: Ask, said: Sequence[Message] | None = None) -> Ask:
        """A client that answers a question need not send what led to it: the thread has that.

        One that brings results sends back all but what only the model's provider understands: the thread has that, too.
        """
        waiting = {answer.call.id for answer in ask.answers if answer.call}
        is_told = waiting.issubset(call.id for call in calls_in(ask.messages))
        if is_told and (ask.transient or not is_returning(ask.messages)):
            return ask
        thread = await self._threads.load(ask.thread_id, ask.principal)
        earlier = thread.messages if thread else ()
        if is_told:
            return msgspec.structs.replace(ask, messages=recalled(ask.messages, earlier))
        if said is None:
            known = {message.id for message in earlier}
            said = [message for message in ask.messages if message.id not in known]
        return msgspec.structs.replace(ask, messages=(*earlier, *said))

    async def _claim(self, ask: Ask) -> Beginning:
        ended: str | None = None
        clock = asyncio.get_running_loop().time
        until = clock() + ENDING
        while True:
            try:
                return await undone(self._threads.begin(ask), partial(self._let_go, ask))
            except ThreadBusy as busy:
                if clock() < until and await self.is_ending(busy.run_id):
                    await asyncio.sleep(SOON)
                    continue
                if ask.when_busy == "refuse" or busy.run_id == ended:  # ended, and the store was not told
                    raise
                if ask.when_busy == "supersede" and not await self._engine.cancel(busy.run_id):
                    raise
                if ask.when_busy == "queue":
                    await self._end_of(busy.run_id)
                ended = busy.run_id

    async def _end_of(self, run_id: str) -> None:
        with suppress(RunNotFound):
            async with closing(self._log.follow(run_id)) as batches:
                async for _ in batches:
                    pass

    async def _abandon(self, ask: Ask, beginning: Beginning | None, error: BaseException) -> None:
        self._begun.pop(ask.run_id, None)
        if beginning:
            try:
                await self._let_go(ask, beginning)
            finally:
                self._threads.leave(ask.run_id, beginning.epoch)
        elif isinstance(error, StoreUnreachable):
            return  # it may have been begun, and is found as an orphan then
        await self._log.forget((ask.run_id,))

    async def _let_go(self, ask: Ask, beginning: Beginning) -> None:
        """The thread of a run that was claimed and does not begin: nothing was said or answered."""
        silent = msgspec.structs.replace(ask, messages=(), answers=())
        await self._threads.finish(silent, (), beginning.state, RunFinished("cancelled"))


def with_calls(ask: Ask, pending: Sequence[Pending]) -> Ask:
    """The answers of the ask, each with the call that waits for it, and what the asker wanted back.

    A face that keeps open questions itself brings them along.
    """
    if not ask.answers or (ask.transient and ask.attended):
        return ask
    known = {one.interrupt.id: one for one in pending}
    for answer in ask.answers:
        if answer.interrupt_id not in known:
            raise BadAsk(f"There is no open question {answer.interrupt_id!r}: it was answered, or it expired.")
    if len({answer.interrupt_id for answer in ask.answers}) < len(ask.answers):
        raise BadAsk("A question is answered twice; send one answer to each.")
    answers = (
        msgspec.structs.replace(
            one,
            call=asked.call,
            memo=asked.interrupt.memo,
            reason=asked.interrupt.reason,
            subject=asked.interrupt.subject,
        )
        for one, asked in ((answer, known[answer.interrupt_id]) for answer in ask.answers)
    )
    return msgspec.structs.replace(ask, answers=tuple(answers))
