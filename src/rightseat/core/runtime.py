"""Starts, follows and cancels runs: the only interface of the core that faces use.

start (`run.start`) → engine → execution (`run.executor`, `run.durable`) → log → followers
runs of dead processes → resumed or closed (`run.recovery`)
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress

import msgspec

from rightseat.concurrency import is_cancelled, run_to_completion
from rightseat.core.admission import Admission, OpenAdmission
from rightseat.core.agent import Agent, AgentGroup, AgentThread, StoresThreads, is_durable
from rightseat.core.approvals import record_closed
from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE, Artifacts, HeldArtifacts, StoredArtifact
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.engine import Engine
from rightseat.core.errors import AgentNotFound, ConfigError, ShuttingDown, StorageFull, StoreUnreachable, ThreadBusy
from rightseat.core.events import RunFinished
from rightseat.core.faces import ServedFace
from rightseat.core.guard import Guard
from rightseat.core.guards.pipeline import make_guard_wrapper
from rightseat.core.guards.texts import TextGuard
from rightseat.core.guards.verdicts import make_denied_lookup
from rightseat.core.hooks import Hooks
from rightseat.core.log import Entry, ImmediateSink, KeepsJudgedRuns, Log
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Message
from rightseat.core.model import Model
from rightseat.core.run.executor import RunExecutor
from rightseat.core.run.observers import RunObservers
from rightseat.core.run.recovery import Recovery
from rightseat.core.run.start import RunStarter
from rightseat.core.thread_parts import ThreadOutline, read_messages, read_outline
from rightseat.core.threads import Pending, Summary, Thread, Threads, UserThreads, check_thread_id
from rightseat.reads import hold_read, leave_reads
from rightseat.shared_timers import SharedTimers
from rightseat.turns import take_turn

logger = logging.getLogger(__name__)

HOUR = 3600.0
REVOKED = "The answer was stopped, because the API key that asked for it was revoked."
EXPIRY_INTERVAL_S = 1.0
"""Between two searches for interrupts that expired without an answer."""
FORGET_AGAIN_S = 5.0
LEFT_LOGS_INTERVAL_S = 10.0
"""Between two searches for logs whose runs have ended without their end."""
STOPPING_S = 2.0
"""How long to wait for another process to stop a run that was cancelled here."""
STOPPING_INTERVAL_S = 0.05


class Runtime:
    """Passes asks to agents, and the agents' events to the log.

    If no agent has the given name, a model with that name responds, without instructions and without server tools.
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
        admission: Admission | None = None,
        observers: RunObservers | None = None,
    ) -> None:
        self.agents = dict(agents)
        self.models = dict(models or {})
        self.hooks = hooks or Hooks()
        self.checks_topics = any(guard.checks_topics for guard in guards)
        """Whether questions are checked against the `topics` of their asks."""
        self.text_guard = TextGuard(guards)
        """Checks texts outside of runs."""
        self._wrap = make_guard_wrapper(guards, recall=make_denied_lookup(threads))
        self._log = log
        self._threads = threads
        self._engine = engine
        self.artifacts = HeldArtifacts(artifacts) if artifacts is not None else None
        """Reading one counts as a read of what is stored, see `reads`."""
        if not engine.supports_durable and (
            lasting := [name for name, agent in self.agents.items() if is_durable(agent)]
        ):
            raise ConfigError(
                f"Runs of {', '.join(lasting)} are `durable`, which this engine does not support. "
                "Set `engine: {type: dbos}`."
            )
        self.is_shutting_down = False
        """The server is shutting down: no new run starts."""
        self.admission = admission or OpenAdmission()
        """`start` admits runs; a face admits requests that it handles without a run."""
        observers = observers or RunObservers()
        self.activity = observers.listener
        self.faces: Sequence[ServedFace] = ()
        """The configured faces, in the order of the file. The application sets them."""
        self._executor = RunExecutor(log, threads, self.hooks, self._agent, self.admission, observers)
        self.timers = SharedTimers()
        """For the streams of faces."""
        self._starter = RunStarter(log, threads, engine, self._executor, artifacts)
        self._recovery = Recovery(log, threads, engine, self.admission, observers.count_takeover)
        self._housekeeping: list[asyncio.Task[None]] = []
        self._unforgotten: set[str] = set()  # runs of deleted threads whose data is not deleted yet

    async def open(self) -> None:
        """Resume or close the runs of processes that died, then start the periodic housekeeping.

        It may be opened again after it was closed.
        """
        self.is_shutting_down = False
        self.admission.open()
        await self._engine.open(self._executor.perform)
        await self._recovery.recover_all()
        self._housekeeping = [
            asyncio.create_task(self._every(HOUR, self._expire, first_after=0)),
            asyncio.create_task(self._every(EXPIRY_INTERVAL_S, self._expire_questions)),
            asyncio.create_task(self._every(FORGET_AGAIN_S, self._forget)),
        ]
        if seconds := self._threads.reap_every:
            self._housekeeping += [
                asyncio.create_task(self._every(seconds, self._recovery.recover_orphans)),
                asyncio.create_task(self._every(LEFT_LOGS_INTERVAL_S, self._recovery.close_left_logs)),
            ]

    async def start(self, ask: Ask, write_artifact: Callable[[Ask], StoredArtifact] | None = None) -> Ask:
        """Start the run, which continues with or without followers. Returns the ask that the run received.

        The artifact of the admitted ask is stored before the run starts, and only if it starts.

        Raises before the run starts: `AgentNotFound`, `LimitExceeded`, `ThreadBusy`, `ThreadNotFound`, `BadRequest`
        for an id of a thread that no URL can hold or an answer to an interrupt that is not pending, or any error of a
        `before_request` hook.
        """
        if self.is_shutting_down:
            raise ShuttingDown
        check_thread_id(ask.thread_id)
        await take_turn()
        leave_reads()  # only now: large requests that wait for their turn count among those of their user
        ask = await self.hooks.before(ask)
        agent = self.find(ask.agent)
        if agent is None and ask.agent not in self.models:
            raise AgentNotFound(ask.agent, self.agents)
        if not ask.transient and self._engine.supports_durable and is_durable(agent):
            ask = msgspec.structs.replace(ask, durable=True)
        ask = self.admission.identify(ask)
        ask = await self._executor.admit(ask, self._model_of(agent, ask.agent), await self._find_continued(ask))
        try:
            return await self._starter.start(ask, write_artifact(ask) if write_artifact else None)
        except BaseException:
            self._executor.give_back(ask.run_id)
            raise

    async def _find_continued(self, ask: Ask) -> str:
        """The run whose questions the ask answers, if all of them are open; empty if nothing depends on it.

        Clients choose what they send as answers, so only the store can tell whether a run waits for one.
        """
        if not ask.answers or not self.admission.has_queues:
            return ""
        waiting = await self._threads.pending(ask.principal, ask.thread_id)
        asked = {one.interrupt.id: one.run_id for one in waiting if one.agent == ask.agent}
        runs = {asked.get(answer.interrupt_id, "") for answer in ask.answers}
        return runs.pop() if len(runs) == 1 else ""

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Return the run's entries after the entry `after`, and new entries as they are written, in batches."""
        return self._log.follow(run_id, after, tap)

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        """The run's entries so far, after the entry `after`."""
        await hold_read()
        return await self._log.read(run_id, after)

    async def keep_judged(self, run_id: str) -> None:
        """Keep the log of a stored run for longer, because its user has judged it."""
        if isinstance(self._log, KeepsJudgedRuns):
            await self._log.keep_judged(run_id)

    async def is_running(self, run_id: str) -> bool:
        """Whether a stored run is in progress, in this process or in another one."""
        return run_id not in await self._threads.ended((run_id,))

    @property
    def hands_over_runs(self) -> bool:
        """The server is shutting down, and another process may continue its runs: their streams end without an end."""
        return self.is_shutting_down and self._engine.supports_durable

    async def cancel(self, run_id: str) -> bool:
        """End a run early, in this process or another one. False if it is not running."""
        return await self._engine.cancel(run_id)

    async def cancel_runs_of_keys(self, names: Collection[str]) -> None:
        """Cancel the runs of this process that were started with these API keys, which are revoked."""
        tasks: list[asyncio.Task[bool]] = []
        for run_id, name in self._executor.runs_of_keys(names):
            logger.warning("run %s is cancelled: its API key %r was revoked", run_id, name)
            self._executor.explain_end(run_id, REVOKED)
            tasks.append(asyncio.create_task(self.cancel(run_id)))
        if tasks:  # a run whose tool does not end must not hold up the others, nor the caller
            await asyncio.wait(tasks, timeout=STOPPING_S)

    async def stop(self, thread_id: str, principal: Principal, run_id: str | None = None) -> bool:
        """Cancel the thread's current run, or only the run with this id, which may be the client's id for it."""
        outline = await read_outline(self._threads, thread_id, principal)
        live = [run for run in outline.runs if run.outcome is None] if outline else []
        wanted = [run for run in live if run_id in (None, run.client_run_id, run.id)]
        return bool(wanted) and await self.cancel(wanted[-1].id)

    @property
    def threads(self) -> UserThreads:
        return self._threads

    async def thread(self, thread_id: str, principal: Principal) -> Thread | None:
        await hold_read()
        return await self._threads.load(thread_id, principal)

    async def agent_thread(self, ask: Ask) -> AgentThread | None:
        """The thread of the ask as its agent stores it; None without one, and behind guards, which filter runs only."""
        agent = self._agent(ask.agent)
        return await agent.load_thread(ask) if isinstance(agent, StoresThreads) else None

    async def outline(self, thread_id: str, principal: Principal, *, is_settled: bool = False) -> ThreadOutline | None:
        """The thread without its messages. `is_settled` includes every run that has written its last event."""
        await hold_read()
        outline = await read_outline(self._threads, thread_id, principal)
        if outline is None or not is_settled or not self._engine.supports_durable:
            return outline
        if all(run.outcome is not None for run in outline.runs):
            return outline
        await self._starter.settle(principal, thread_id)
        return await read_outline(self._threads, thread_id, principal)

    async def messages(self, thread_id: str, principal: Principal, start: int, stop: int) -> Sequence[Message]:
        """The thread's messages from number `start` to before `stop`."""
        await hold_read()
        return await read_messages(self._threads, thread_id, principal, start, stop)

    async def settle(self, principal: Principal) -> None:
        """Wait until every run of the principal that has written its last event is saved."""
        await self._starter.settle(principal)

    async def settled(self, thread_id: str, principal: Principal) -> Thread | None:
        """The thread, including every run that has written its last event."""
        await hold_read()
        thread = await self._threads.load(thread_id, principal)
        if thread is None or not self._engine.supports_durable or all(run.outcome is not None for run in thread.runs):
            return thread
        await self._starter.settle(principal, thread_id)
        return await self._threads.load(thread_id, principal)

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        """Pending interrupts, including those of every run that has written its last event."""
        await self._starter.settle(principal, thread_id)
        return await self._threads.pending(principal, thread_id)

    async def close_questions(self, thread_id: str, principal: Principal, agent: str) -> bool:
        """Cancel the pending interrupts of a thread without a run. False if there are none, or a run has the thread."""
        pending = await self.pending(principal, thread_id)
        if not pending:
            return False
        answers = tuple(Answer(waiting.interrupt.id, "cancelled") for waiting in pending)
        closing = Ask(messages=(), agent=agent, thread_id=thread_id, principal=principal, answers=answers)
        return await run_to_completion(self._close_questions(closing))

    async def _close_questions(self, closing: Ask) -> bool:
        try:
            claim = await self._threads.claim(closing)
        except ThreadBusy:
            return False
        try:
            await self._threads.finish(closing, (), claim.state, RunFinished("cancelled"))
        finally:
            self._threads.release(closing.run_id, claim.epoch)
        open_ids = {answer.interrupt_id for answer in closing.answers}
        for waiting in claim.pending:
            if waiting.interrupt.id in open_ids:
                record_closed(closing.principal.id, waiting.agent, waiting.interrupt, waiting.call, "cancelled")
        return len(claim.pending) > 0

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        """Rename, archive or unarchive a thread. Raises `ThreadNotFound`."""
        summary = await self._threads.change(thread_id, principal, name=name, archived=archived)
        self.activity.change_thread(thread_id, principal.id, summary.agent)
        return summary

    async def delete(self, thread_id: str, principal: Principal) -> None:
        """Delete a thread and all stored data of its runs; a run in progress is stopped first.

        If the log or the engine cannot be reached, the thread is deleted, and the rest once they are reachable again.
        """
        outline = await read_outline(self._threads, thread_id, principal)
        if await self.stop(thread_id, principal):
            await self._until_stopped(thread_id, principal)
        run_ids = await self._threads.delete(thread_id, principal)
        agent = outline.summary.agent if outline and outline.summary else ""
        self.activity.change_thread(thread_id, principal.id, agent, is_deleted=True)
        await self._forget(run_ids)

    async def _until_stopped(self, thread_id: str, principal: Principal) -> None:
        """Wait until another process has stopped its cancelled run. A run that does not stop can no longer write."""
        clock = asyncio.get_running_loop().time
        until = clock() + STOPPING_S
        while clock() < until and (outline := await read_outline(self._threads, thread_id, principal)):
            if all(run.outcome is not None for run in outline.runs):
                return
            await asyncio.sleep(STOPPING_INTERVAL_S)

    async def _forget(self, run_ids: Sequence[str] = ()) -> None:
        self._unforgotten.update(run_ids)
        if ids := list(self._unforgotten):
            await self._log.delete(ids)
            await self._engine.delete_runs(ids)
            self._unforgotten.difference_update(ids)

    async def artifact(self, id: str, principal: Principal) -> StoredArtifact | None:
        """A file or a chart from a run of this principal, by an agent that the principal may use."""
        found = await self.artifacts.get(id, principal) if self.artifacts else None
        is_theirs = found is not None and found.media_type != PRIVATE_MEDIA_TYPE and principal.may_use(found.agent)
        return found if is_theirs else None

    def find(self, name: str) -> Agent | None:
        """The agent with that name, or a member of an agent group: `part/member`."""
        part, _, member = name.partition("/")
        if member and isinstance(roster := self.agents.get(part), AgentGroup):
            return roster.member(member)
        return self.agents.get(name)

    def _model_of(self, agent: Agent | None, name: str) -> Model | None:
        """The model of an agent, or the model with that name; None for an agent that calls models elsewhere."""
        if agent is None:
            return self.models.get(name)
        return loop.model if isinstance(loop := getattr(agent, "loop", agent), Loop) else None

    def guard_agent(self, agent: Agent) -> Agent:
        """Wrap an agent that is not in `agents` in the runtime's guards."""
        return self._wrap(agent)

    def _agent(self, name: str) -> Agent:
        return self._wrap(self.find(name) or Loop(self.models[name]))

    def begin_shutdown(self) -> None:
        """No new run starts from now on, and streams that have no end of their own end."""
        self.is_shutting_down = True
        self.admission.close()
        self.activity.close()

    async def close(self) -> None:
        """Cancel all runs. Durable runs are resumed by other processes; their followers here end."""
        self.begin_shutdown()
        for task in self._housekeeping:
            task.cancel()
        await asyncio.gather(*self._housekeeping, return_exceptions=True)
        await self._engine.close()
        self._log.stop_followers()

    async def _every(
        self, seconds: float, do: Callable[[], Awaitable[object]], *, first_after: float | None = None
    ) -> None:
        delay = seconds if first_after is None else first_after
        while not is_cancelled():  # `run_to_completion` suppresses the CancelledError
            await asyncio.sleep(delay)
            delay = seconds
            try:
                await do()
            except (StoreUnreachable, StorageFull):
                pass  # logged where it was found, once for all
            except Exception:
                logger.exception("housekeeping failed, retrying in %g s", seconds)

    async def _expire(self) -> None:
        """Delete threads whose retention has expired, and data in the engine from processes that died."""
        async for run_ids in self._threads.expire():
            await self._forget(run_ids)
        if left := await self._engine.unsettled():
            await self._engine.delete_runs(await self._threads.ended(left))

    async def _expire_questions(self) -> None:
        with suppress(StoreUnreachable):  # the store has logged it
            for owner, one in await self._threads.expire_questions():
                record_closed(owner, one.agent, one.interrupt, one.call, "expired")
