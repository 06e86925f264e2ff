"""Start, follow, cancel: the only thing that faces talk to.

start (`starting`) → the engine → the run is carried out (`performing`, `lasting`) → log → follow
what a dead process left → goes on or is closed (`orphans`)
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from rightseat.core.admission import Admission
from rightseat.core.admitting import Texts
from rightseat.core.agent import Agent, Roster, is_durable
from rightseat.core.approvals import record_closed
from rightseat.core.artifacts import PRIVATE, Artifacts, Stored
from rightseat.core.ask import Ask, Principal
from rightseat.core.cancelling import is_cancelled
from rightseat.core.engine import Engine
from rightseat.core.errors import AgentNotFound, ConfigError, Leaving, StoreUnreachable
from rightseat.core.guard import Guard
from rightseat.core.guarding import guarded
from rightseat.core.hooks import Hooks
from rightseat.core.judging import recalling
from rightseat.core.log import Entry, Log, Tap
from rightseat.core.loop import Loop
from rightseat.core.model import Model
from rightseat.core.observing import NOBODY, Observer
from rightseat.core.orphans import Orphanage
from rightseat.core.performing import Performer
from rightseat.core.starting import Starter
from rightseat.core.threads import Pending, Thread, Threads

logger = logging.getLogger(__name__)

HOUR = 3600.0
EXPIRY_INTERVAL_S = 1.0
"""Between two looks for questions that nobody answered in time."""
FORGET_AGAIN_S = 5.0
STOPPING_S = 2.0
"""For another process to stop a run that was cancelled here."""
STOPPING_INTERVAL_S = 0.05


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
        admission: Admission | None = None,
        fingerprint: str = "",
    ) -> None:
        self.agents = dict(agents)
        self.models = dict(models or {})
        self.fingerprint = fingerprint
        """A hash of the version and of the configuration of agents and models."""
        self.hooks = hooks or Hooks()
        self.judges_topics = any(guard.judges_topics for guard in guards)
        """Is a question held to the `topics` of its ask?"""
        self.texts = Texts(guards)
        """Guards what is said outside of runs."""
        self._guarded = guarded(guards, recall=recalling(threads))
        self._log = log
        self._threads = threads
        self._engine = engine
        self.artifacts = artifacts
        if not engine.is_lasting and (lasting := [name for name, agent in self.agents.items() if is_durable(agent)]):
            raise ConfigError(
                f"Runs of {', '.join(lasting)} are `durable`. That takes an engine that can go on with them: `dbos`."
            )
        self.is_leaving = False
        """The server is being stopped: nothing new is begun."""
        self.admission = admission or Admission()
        """Runs are admitted by `start`; what a face does without a run is admitted by the face."""
        self._performer = Performer(log, threads, self.hooks, observer, self._agent, self.admission)
        self._starter = Starter(log, threads, engine, self._performer)
        self._orphanage = Orphanage(log, threads, engine)
        self._housekeeping: list[asyncio.Task[None]] = []
        self._unforgotten: set[str] = set()  # runs of deleted threads, until nothing is kept of them

    async def open(self) -> None:
        """Go on with what an earlier process left when it died, or close it: nobody waits for it. Then keep house."""
        await self._engine.open(self._performer.perform)
        await self._orphanage.settle()
        await self._expire()
        self._housekeeping = [
            asyncio.create_task(self._every(HOUR, self._expire)),
            asyncio.create_task(self._every(EXPIRY_INTERVAL_S, self._expire_questions)),
            asyncio.create_task(self._every(FORGET_AGAIN_S, self._forget)),
        ]
        if seconds := self._threads.reap_every:
            self._housekeeping.append(asyncio.create_task(self._every(seconds, self._orphanage.adopt)))

    async def start(self, ask: Ask) -> Ask:
        """Begin the run; it goes on whether or not anyone follows. Returns the ask as the hooks left it.

        Raises before anything is begun: `AgentNotFound`, `LimitExceeded`, `ThreadBusy`, `ThreadNotFound`, `BadAsk` for
        an answer to a question that is not open, or whatever a `before_request` hook raises.
        """
        if self.is_leaving:
            raise Leaving
        ask = await self.hooks.before(ask)
        agent = self.find(ask.agent)
        if agent is None and ask.agent not in self.models:
            raise AgentNotFound(ask.agent, self.agents)
        if is_durable(agent) and not ask.transient:
            ask = msgspec.structs.replace(ask, durable=True)
        await self._performer.admit(ask)
        try:
            return await self._starter.start(ask)
        except BaseException:
            self._performer.release(ask.run_id)
            raise

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """What the run said after the entry `after`, and what it says from now on, in batches."""
        return self._log.follow(run_id, after, tap)

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        """What the run has said by now, after the entry `after`."""
        return await self._log.read(run_id, after)

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

    async def thread(self, thread_id: str, principal: Principal) -> Thread | None:
        return await self._threads.load(thread_id, principal)

    async def settled(self, thread_id: str, principal: Principal) -> Thread | None:
        """The thread, with all that was said in a run that has said its last."""
        await self._starter.settle(principal, thread_id)
        return await self._threads.load(thread_id, principal)

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        """Questions that wait for an answer, with those of a run that has said its last."""
        await self._starter.settle(principal, thread_id)
        return await self._threads.pending(principal, thread_id)

    async def delete(self, thread_id: str, principal: Principal) -> None:
        """Delete a thread and all that is kept of its runs; a run that it has is stopped first.

        Where the log or the engine cannot be reached, the thread is gone, and the rest is deleted when they are back.
        """
        if await self.stop(thread_id, principal):
            await self._until_stopped(thread_id, principal)
        await self._forget(await self._threads.delete(thread_id, principal))

    async def _until_stopped(self, thread_id: str, principal: Principal) -> None:
        """Another process notices within a moment that its run was cancelled. One that does not can write no more."""
        clock = asyncio.get_running_loop().time
        until = clock() + STOPPING_S
        while clock() < until and (thread := await self._threads.load(thread_id, principal)):
            if all(run.outcome is not None for run in thread.runs):
                return
            await asyncio.sleep(STOPPING_INTERVAL_S)

    async def _forget(self, run_ids: Sequence[str] = ()) -> None:
        self._unforgotten.update(run_ids)
        if ids := list(self._unforgotten):
            await self._log.forget(ids)
            await self._engine.forget(ids)
            self._unforgotten.difference_update(ids)

    async def artifact(self, id: str, principal: Principal) -> Stored | None:
        """A file or a chart that a run of the principal's has made, by an agent that the principal may use."""
        found = await self.artifacts.get(id, principal) if self.artifacts else None
        is_theirs = found is not None and found.media_type != PRIVATE and principal.may_use(found.agent)
        return found if is_theirs else None

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
        """Delete threads that were left alone for too long, and what processes that died have left in the engine."""
        await self._forget(await self._threads.expire())
        if left := await self._engine.unsettled():
            await self._engine.forget(await self._threads.ended(left))

    async def _expire_questions(self) -> None:
        with suppress(StoreUnreachable):  # the store has said so in the log
            for owner, one in await self._threads.expire_questions():
                record_closed(owner, one.agent, one.interrupt, one.call, "expired")
