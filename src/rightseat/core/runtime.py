"""Start, follow, cancel: the only thing that faces talk to."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from rightseat.core.agent import Agent, Roster
from rightseat.core.artifacts import Artifacts, Stored
from rightseat.core.ask import Ask, Principal
from rightseat.core.calling import calls_in
from rightseat.core.cancelling import is_cancelled, to_the_end
from rightseat.core.cancelling import whole as undone
from rightseat.core.closing import closing
from rightseat.core.engine import Engine, Resumed, Steps
from rightseat.core.errors import (
    AgentNotFound,
    BadAsk,
    ConfigError,
    InternalError,
    Leaving,
    RightseatError,
    RunExists,
    RunNotFound,
    StaleWriter,
    StoreUnreachable,
    ThreadBusy,
)
from rightseat.core.events import RunFailed, RunFinished, RunStarted
from rightseat.core.failing import Last, read_failure
from rightseat.core.folding import Fold
from rightseat.core.guard import Guard
from rightseat.core.guarding import guarded
from rightseat.core.history import is_returning, recalled
from rightseat.core.hooks import Hooks
from rightseat.core.lasting import Lasting, begin_again, whole
from rightseat.core.log import Entry, Log, Tap, Writer
from rightseat.core.loop import Loop
from rightseat.core.messages import Message
from rightseat.core.model import Model
from rightseat.core.observing import ABOUT, NOBODY, Observer, observed
from rightseat.core.threads import Beginning, Pending, Thread, Threads

logger = logging.getLogger(__name__)

HOUR = 3600.0
ENDING = 2.0  # seconds in which the store hears of a durable run that has ended
SOON = 0.02  # seconds
CUT_OFF = "The server was stopped in the middle of this answer. Ask again to get it whole."
GIVEN_UP = "The server broke off again and again in the middle of this answer, and has given it up."


class Runtime:
    """Gives asks to agents, and what the agents say to the log.

    A model can be asked by its name too, where no agent has that name: it answers without instructions and tools.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        *,
        log: Log,
        threads: Threads,
        engine: Engine,
        hooks: Hooks | None = None,
        models: Mapping[str, Model] | None = None,
        artifacts: Artifacts | None = None,
        guards: Sequence[Guard] = (),
        observer: Observer = NOBODY,
    ) -> None:
        self.agents = dict(agents)
        self.models = dict(models or {})
        self.hooks = hooks or Hooks()
        self.judges_topics = any(guard.judges_topics for guard in guards)
        """Is a question held to the `topics` of its ask?"""
        self._guarded = guarded(guards)
        self._observer = observer
        self._log = log
        self._threads = threads
        self._engine = engine
        self._artifacts = artifacts
        if not engine.is_lasting and (lasting := [name for name, agent in self.agents.items() if is_durable(agent)]):
            raise ConfigError(
                f"Runs of {', '.join(lasting)} are `durable`. That takes an engine that can go on with them: `dbos`."
            )
        self.is_leaving = False
        """The server is being stopped: nothing new is begun."""
        self._begun: dict[str, Beginning] = {}  # runs that are claimed and wait for the engine
        self._housekeeping: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Go on with what an earlier process left when it died, or close it: nobody waits for it. Then keep house."""
        await self._engine.open(self._perform)
        going_on = await self._adopt_orphans()
        for run_id, epoch in await self._log.cut_off():
            if run_id not in going_on:
                await self._close_log(run_id, epoch + 1)
        await self._expire()
        self._housekeeping = [asyncio.create_task(self._every(HOUR, self._expire))]
        if seconds := self._threads.reap_every:
            self._housekeeping.append(asyncio.create_task(self._every(seconds, self._adopt_orphans)))

    async def start(self, ask: Ask) -> Ask:
        """Begin the run; it goes on whether or not anyone follows. Returns the ask as the hooks left it.

        Raises before anything is begun: `AgentNotFound`, `ThreadBusy`, `ThreadNotFound`, `BadAsk` for an answer to a
        question that is not open, or whatever a `before_request` hook raises.
        """
        if self.is_leaving:
            raise Leaving
        ask = await self.hooks.before(ask)
        if self.find(ask.agent) is None and ask.agent not in self.models:
            raise AgentNotFound(ask.agent, self.agents)
        if is_durable(self.find(ask.agent)) and not ask.transient:
            ask = msgspec.structs.replace(ask, durable=True)
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
                self._threads.leave(ask.run_id, beginning.epoch)
        except BaseException as error:
            await to_the_end(self._abandon(ask, beginning, error))
            if isinstance(error, RightseatError) or not isinstance(error, Exception):
                raise
            logger.exception("run %s could not be begun", ask.run_id)
            raise InternalError(ask.run_id) from error
        return ask

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

    async def _claim(self, ask: Ask) -> Beginning:
        ended: str | None = None
        clock = asyncio.get_running_loop().time
        until = clock() + ENDING
        while True:
            try:
                return await undone(self._threads.begin(ask), partial(self._let_go, ask))
            except ThreadBusy as busy:
                if clock() < until and await self._is_ending(busy.run_id):
                    await asyncio.sleep(SOON)
                    continue
                if ask.when_busy == "refuse" or busy.run_id == ended:  # ended, and the store was not told
                    raise
                if ask.when_busy == "supersede" and not await self.cancel(busy.run_id):
                    raise
                if ask.when_busy == "queue":
                    await self._end_of(busy.run_id)
                ended = busy.run_id

    async def _is_ending(self, run_id: str) -> bool:
        """Is it a durable run that has said its last, and is about to tell the store?"""
        entries = await whole(self._log, run_id) if self._engine.is_lasting else ()
        return bool(entries) and isinstance(entries[-1].event, Last)

    async def _end_of(self, run_id: str) -> None:
        with suppress(RunNotFound):
            async with closing(self.follow(run_id)) as batches:
                async for _ in batches:
                    pass

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """What the run said after the entry `after`, and what it says from now on, in batches."""
        return self._log.follow(run_id, after, tap)

    async def cancel(self, run_id: str) -> bool:
        return await self._engine.cancel(run_id)

    async def stop(self, thread_id: str, principal: Principal, run_id: str | None = None) -> bool:
        """Cancel the thread's run, if it has one, and that one if it is named: by the client's name for it, or ours."""
        thread = await self._threads.load(thread_id, principal)
        live = [run for run in thread.runs if run.outcome is None] if thread else []
        wanted = [run for run in live if run_id in (None, run.client_run_id, run.id)]
        return bool(wanted) and await self.cancel(wanted[-1].id)

    @property
    def threads(self) -> Threads:
        return self._threads

    async def delete(self, thread_id: str, principal: Principal) -> None:
        """Forget a thread and all that was said in it; a run that it has is stopped first."""
        await self.stop(thread_id, principal)
        await self._log.forget(await self._threads.delete(thread_id, principal))

    async def artifact(self, id: str, principal: Principal) -> Stored | None:
        """A file or a chart that a run of the principal's has made, by an agent that the principal may use."""
        found = await self._artifacts.get(id, principal) if self._artifacts else None
        return found if found is not None and principal.may_use(found.agent) else None

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        """What the run has said by now, after the entry `after`."""
        return await self._log.read(run_id, after)

    async def thread(self, thread_id: str, principal: Principal) -> Thread | None:
        return await self._threads.load(thread_id, principal)

    async def settled(self, thread_id: str, principal: Principal) -> Thread | None:
        """The thread, with all that was said in a run that has said its last."""
        clock = asyncio.get_running_loop().time
        until = clock() + ENDING
        while True:
            thread = await self._threads.load(thread_id, principal)
            live = [run.id for run in thread.runs if run.outcome is None] if thread else []
            if not live or clock() > until or not await self._is_ending(live[-1]):
                return thread
            await asyncio.sleep(SOON)

    async def close(self) -> None:
        """Runs are cancelled; durable ones go on elsewhere, and who follows them here comes to an end."""
        self.is_leaving = True
        for task in self._housekeeping:
            task.cancel()
        await asyncio.gather(*self._housekeeping, return_exceptions=True)
        await self._engine.close()
        self._log.release()

    async def _every(self, seconds: float, do: Callable[[], Awaitable[object]]) -> None:
        while not is_cancelled():  # what must be done to its end does not let a cancel through
            await asyncio.sleep(seconds)
            try:
                await do()
            except Exception:
                logger.exception("housekeeping failed, and is tried again in %g s", seconds)

    async def _expire(self) -> None:
        if run_ids := await self._threads.expire():
            await self._log.forget(run_ids)

    def _perform(self, ask: Ask, steps: Steps) -> Coroutine[Any, Any, object]:
        """Called in the run's own task."""
        return self._carry_out(ask, steps) if self._observer is NOBODY else self._observed(ask, steps)

    async def _observed(self, ask: Ask, steps: Steps) -> None:
        with observed("run", ask.agent, self._observer, run=ask.run_id, thread=ask.thread_id) as span:
            last = await self._carry_out(ask, steps)
            if isinstance(last, RunFailed):
                span.note(outcome="failed", error=last.code)
            elif last is not None:
                span.note(outcome=last.outcome)

    async def _carry_out(self, ask: Ask, steps: Steps) -> Last | None:
        """A cancel ends the answer and nothing else: whatever happens, what began is ended, and who follows is told."""
        ABOUT.set(ABOUT.get()._replace(run=ask.run_id, thread=ask.thread_id))  # the task is the run's own
        fold = Fold(ask.state)
        begun = self._begun.pop(ask.run_id, None)
        is_new = begun is not None
        if begun is None and ask.durable:
            begun = await begin_again(self._threads, ask)
            if begun is None:
                return None  # it is over
        try:
            beginning = begun or await self._threads.begin(ask)
        except (Exception, asyncio.CancelledError) as error:
            last = read_failure(ask, error)
            await to_the_end(self._give_up(ask, last))
        else:
            if ask.state is None:
                ask = msgspec.structs.replace(ask, state=beginning.state)
            fold.state = ask.state
            if ask.durable:
                lasting = Lasting(self._log, self._threads, ask, beginning, fold)
                last = await lasting.perform(self._agent(ask.agent), steps, is_new=is_new)
            else:
                last = await self._answer_and_end(ask, steps, fold, beginning)
        if self.hooks.after_request or self.hooks.on_error:
            await to_the_end(self._tell_hooks(ask, fold, last))
        return last

    async def _answer_and_end(self, ask: Ask, steps: Steps, fold: Fold, beginning: Beginning) -> Last:
        try:
            async with self._log.open(ask.run_id, beginning.epoch) as writer:
                answered = await self._answer(ask, steps, writer, fold, beginning)
                return await to_the_end(self._end(ask, writer, fold, answered))
        finally:
            self._threads.leave(ask.run_id, beginning.epoch)

    async def _answer(self, ask: Ask, steps: Steps, writer: Writer, fold: Fold, beginning: Beginning) -> Last:
        """Have the agent answer into the log, and say how it ended."""
        append, add = writer.append, fold.add
        try:
            if is_cancelled():
                raise asyncio.CancelledError  # while the log was being opened
            await append(RunStarted(ask.run_id, ask.thread_id, ask.agent, ask.client_run_id, beginning.said))
            async with closing(self._agent(ask.agent).run(ask, steps)) as events:
                async for event in events:
                    if type(event) is RunFinished or type(event) is RunFailed:  # `isinstance` takes six times as long
                        return event
                    add(event)
                    await append(event)
        except StaleWriter:
            raise  # another process goes on with this run: nothing of it is ours to write any more
        except (Exception, asyncio.CancelledError) as error:
            return read_failure(ask, error)
        return RunFinished("done")

    def find(self, name: str) -> Agent | None:
        """The agent of that name, or the member of a part that stands for several: `part/member`."""
        part, _, member = name.partition("/")
        if member and isinstance(roster := self.agents.get(part), Roster):
            return roster.member(member)
        return self.agents.get(name)

    def guarded(self, agent: Agent) -> Agent:
        """An agent that is none of ours, between the guards of ours."""
        return self._guarded(agent)

    def _agent(self, name: str) -> Agent:
        return self._guarded(self.find(name) or Loop(self.models[name]))

    async def _end(self, ask: Ask, writer: Writer, fold: Fold, last: Last) -> Last:
        for ending in fold.endings():
            await writer.append(ending)
        try:
            await self._threads.finish(ask, fold.messages(), fold.state, last)
        except StaleWriter:
            raise
        except Exception as error:
            failure = read_failure(ask, error)
            last = failure if isinstance(last, RunFinished) and last.outcome != "cancelled" else last
        await writer.append(last)
        return last

    async def _give_up(self, ask: Ask, last: Last) -> None:
        """A run that could not be claimed says so, under the lowest epoch of all: it shuts out nobody."""
        async with self._log.open(ask.run_id, epoch=1) as writer:
            await writer.append(RunStarted(ask.run_id, ask.thread_id, ask.agent))
            await writer.append(last)

    async def _adopt_orphans(self) -> set[str]:
        """Runs whose process died go on, if they are durable; the others are closed. Returns the ids of the former."""
        orphans = await self._threads.orphans()
        lasting = [ask for ask in orphans if ask.durable]
        resumed = Resumed()
        if lasting:
            await self._log.expect([ask.run_id for ask in lasting])
            resumed = await self._engine.resume(lasting)
        if going_on := set(resumed.going_on):
            logger.warning("go on with runs whose process died: %s", ", ".join(sorted(going_on)))
        for ask in orphans:
            if ask.run_id in going_on:
                continue
            failed = RunFailed("given_up", GIVEN_UP) if ask.durable else RunFailed("cut_off", CUT_OFF)
            try:
                await self._close_orphan(ask, RunFinished("cancelled") if ask.run_id in resumed.cancelled else failed)
            except Exception:
                logger.exception("run %s was cut off, and cannot be closed", ask.run_id)
        return going_on

    async def _close_orphan(self, ask: Ask, last: Last) -> None:
        """A run whose process died is ended where it stood. What was said of it stays, marked as not whole."""
        beginning = await self._threads.begin(ask)
        try:
            await self._end_orphan(ask, beginning, last)
        finally:
            self._threads.leave(ask.run_id, beginning.epoch)

    async def _end_orphan(self, ask: Ask, beginning: Beginning, last: Last) -> None:
        with suppress(RunExists):
            await self._log.create(ask.run_id)
        fold = Fold(beginning.state if ask.state is None else ask.state)
        said = [entry.event for entry in await whole(self._log, ask.run_id)]
        for event in said:
            fold.add(event)
        if said and isinstance(said[-1], Last):  # only the store was not told
            await self._threads.finish(ask, fold.messages(), fold.state, said[-1])
            return
        async with self._log.open(ask.run_id, beginning.epoch) as writer:
            if not said:
                await writer.append(RunStarted(ask.run_id, ask.thread_id, ask.agent, ask.client_run_id, beginning.said))
            await self._end(ask, writer, fold, last)
        logger.warning("run %s was cut off when the server stopped; it has been closed: %s", ask.run_id, reason(last))

    async def _close_log(self, run_id: str, epoch: int) -> None:
        """Of a run that nobody knows as begun: all that is missing is its end."""
        fold = Fold()
        said = [entry.event for entry in await self._log.read(run_id)]
        for event in said:
            fold.add(event)
        async with self._log.open(run_id, epoch) as writer:
            if said and not isinstance(said[-1], Last):
                for event in (*fold.endings(), RunFailed("cut_off", CUT_OFF)):
                    await writer.append(event)
        if not said:
            await self._log.forget((run_id,))  # it never began

    async def _tell_hooks(self, ask: Ask, fold: Fold, last: Last) -> None:
        if isinstance(last, RunFailed):
            await self.hooks.error(ask, last)
        elif last.outcome != "cancelled":
            await self.hooks.after(ask, fold.messages())


def is_durable(agent: Agent | None) -> bool:
    return getattr(agent, "durable", False)


def reason(last: Last) -> str:
    return last.code if isinstance(last, RunFailed) else last.outcome


def with_calls(ask: Ask, pending: Sequence[Pending]) -> Ask:
    """The answers of the ask, each with the call that waits for it, and what the asker wanted back."""
    if not ask.answers:
        return ask
    known = {one.interrupt.id: one for one in pending}
    for answer in ask.answers:
        if answer.interrupt_id not in known:
            raise BadAsk(f"There is no open question {answer.interrupt_id!r}: it was answered, or it expired.")
    if len({answer.interrupt_id for answer in ask.answers}) < len(ask.answers):
        raise BadAsk("A question is answered twice; send one answer to each.")
    answers = (
        msgspec.structs.replace(one, call=asked.call, memo=asked.interrupt.memo)
        for one, asked in ((answer, known[answer.interrupt_id]) for answer in ask.answers)
    )
    return msgspec.structs.replace(ask, answers=tuple(answers))
