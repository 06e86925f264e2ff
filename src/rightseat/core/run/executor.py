"""Executes a claimed run: writes the agent's events to the log, and the resulting messages to the thread."""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from functools import partial
from typing import Any

import msgspec

from rightseat.concurrency import aclosing, raise_if_cancelled, run_to_completion
from rightseat.core.admission import FREE_SLOT, Admission, RunSlot
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.caller import CALLER
from rightseat.core.engine import Steps
from rightseat.core.errors import RunExists, StaleWriter
from rightseat.core.events import RunFailed, RunFinished, RunStarted
from rightseat.core.guards.verdicts import mark_denied_question
from rightseat.core.hooks import Hooks
from rightseat.core.log import Log, Writer
from rightseat.core.model import Model
from rightseat.core.run.durable import DurableRun, build_run_started, reclaim_run, retry_store
from rightseat.core.run.observers import RemembersRuns, RunObservers
from rightseat.core.run.outcome import FailureRecorder, LastEvent, Outcome, set_usage
from rightseat.core.run.report import log_run
from rightseat.core.run.spans import SpanRecorder
from rightseat.core.stream.reducer import Reducer
from rightseat.core.threads import RunClaim, Threads
from rightseat.core.tracing import LOG_CONTEXT, NO_OBSERVER, Observer, current_span, trace_span
from rightseat.core.usage import current_usage, start_count

END_RETRY_TIMEOUT_S = 30.0  # how long the end of a run waits for an unreachable store: as long as for its log


class RunExecutor:
    """`begun` holds the runs that this process has claimed and the engine has not performed yet."""

    def __init__(
        self,
        log: Log,
        threads: Threads,
        hooks: Hooks,
        agent: Callable[[str], Agent],
        admission: Admission,
        observers: RunObservers,
    ) -> None:
        self.begun: dict[str, RunClaim] = {}
        self._admission = admission
        self._observers = observers
        self._keys: dict[str, str] = {}  # the run that is executed here → the name of the API key that started it
        self._reasons: dict[str, str] = {}  # the run that is being cancelled here → why
        self._slots: dict[str, RunSlot] = {}  # of runs that were admitted and the engine has not performed yet
        self._log = log
        self._threads = threads
        self._hooks = hooks
        self._agent = agent

    async def admit(self, ask: Ask, model: Model | None = None, continues: str = "") -> Ask:
        """Returns the ask as it is admitted, which a limit may have downgraded from `model`. Raises a `LimitExceeded`.

        The caller either performs or releases an admitted run.
        """
        if ask.run_id in self._slots:
            raise RunExists(ask.run_id)
        self._slots[ask.run_id] = FREE_SLOT  # a second ask with this id is refused while the first waits
        try:
            slot = self._slots[ask.run_id] = await self._admission.admit(ask, model, continues)
        except BaseException:
            del self._slots[ask.run_id]
            raise
        return slot.mark(ask)

    def runs_of_keys(self, names: Collection[str]) -> list[tuple[str, str]]:
        """The runs that are executed here and were started with these API keys, each with its key.

        Without those that are being cancelled already, see `explain_end`.
        """
        return [(id, key) for id, key in self._keys.items() if key in names and id not in self._reasons]

    def explain_end(self, run_id: str, reason: str) -> None:
        """Why a run that is executed here is about to be cancelled, for its user."""
        self._reasons[run_id] = reason

    def needs_slot(self, ask: Ask) -> bool:
        """Whether the claim of an admitted run must look for its slot in the store."""
        slot = self._slots.get(ask.run_id)
        return slot is not None and slot.needs_check(ask)

    def release(self, run_id: str) -> None:
        """Free the slot of a run that was admitted and is not performed here."""
        if slot := self._slots.pop(run_id, None):
            slot.release()

    def give_back(self, run_id: str) -> None:
        """Free the slot of a run that was admitted and did not start: the ask is not counted."""
        if slot := self._slots.pop(run_id, None):
            slot.give_back()

    def perform(self, ask: Ask, steps: Steps) -> Coroutine[Any, Any, object]:
        """The engine awaits this in the run's own task."""
        if not ask.transient:
            recorder = SpanRecorder(self._observers.spans, keeps_events=ask.durable)
            return self._announced(ask, self._observed(ask, steps, recorder, recorder))
        if self._observers.transient_runs is not None:
            return self._remembered(ask, steps, self._observers.transient_runs)
        is_observed = self._observers.spans is not NO_OBSERVER
        return self._observed(ask, steps, self._observers.spans) if is_observed else self._carry_out(ask, steps)

    async def _announced(self, ask: Ask, run: Coroutine[Any, Any, LastEvent | None]) -> LastEvent | None:
        self._observers.listener.start(ask)
        last: LastEvent | None = None
        try:
            last = await run
        finally:
            self._observers.listener.end(ask, last)
        return last

    async def _remembered(self, ask: Ask, steps: Steps, runs: RemembersRuns) -> LastEvent | None:
        run = runs.start(ask, self._observers.spans)
        last: LastEvent | None = None
        try:
            last = await self._observed(ask, steps, run.recorder)
        finally:
            runs.end(ask.run_id, last)
        if is_stored_late(ask, last):
            self._observers.listener.start(ask)
            self._observers.listener.end(ask, last)
        return last

    async def _observed(
        self, ask: Ask, steps: Steps, observer: Observer, recorder: SpanRecorder | None = None
    ) -> LastEvent | None:
        about = {"run": ask.run_id, "thread": ask.thread_id, "face": ask.face}
        with trace_span("run", ask.agent, observer, **about) as span:
            last = await self._carry_out(ask, steps, recorder)
            if isinstance(last, RunFailed):
                span.note(outcome="failed", error=last.code)
            elif last is not None:
                span.note(outcome=last.outcome)
        return last

    async def _carry_out(self, ask: Ask, steps: Steps, recorder: SpanRecorder | None = None) -> LastEvent | None:
        """A cancellation ends only the agent: open events are always ended, and followers receive the last event."""
        LOG_CONTEXT.set(LOG_CONTEXT.get()._replace(run=ask.run_id, thread=ask.thread_id))  # the task is the run's own
        start_count()
        started = time.monotonic()
        slot = self._slots.pop(ask.run_id, None) or await self._admission.take(ask)
        slot.activate()
        if task := asyncio.current_task():
            task.add_done_callback(lambda _: slot.release())  # in every case, even if the task fails
            task.add_done_callback(lambda _: self._reasons.pop(ask.run_id, None))
            if key := ask.caller.key or CALLER.get().key:
                self._keys[ask.run_id] = key
                task.add_done_callback(lambda _: self._keys.pop(ask.run_id, None))
        span = current_span()  # of the run, if it is observed
        reducer = Reducer(ask.state, span.mark_first_chunk if span else None)
        failures = FailureRecorder(ask, reducer, lambda: self._reasons.get(ask.run_id, ""))
        begun = self.begun.pop(ask.run_id, None)
        is_new = begun is not None
        if begun is None and ask.durable:
            begun = await reclaim_run(self._threads, ask)
            if begun is None:
                return None  # it has ended
        try:
            claim = begun or await self._threads.claim(ask)
        except (Exception, asyncio.CancelledError) as error:
            last = failures.read(error, "begin_run")
            await run_to_completion(self._give_up(ask, last))
        else:
            if ask.state is None:
                ask = msgspec.structs.replace(ask, state=claim.state)
            reducer.state = ask.state
            if ask.durable and recorder is not None:
                durable_run = DurableRun(self._log, self._threads, ask, claim, reducer, slot, failures, recorder)
                last = await durable_run.perform(self._agent(ask.agent), steps, is_new=is_new)
            else:
                last = await self._answer_and_end(ask, steps, reducer, claim, slot, failures, recorder)
        log_run(ask, last, started)
        if self._hooks.after_request or self._hooks.on_error:
            await run_to_completion(self._call_hooks(ask, reducer, last, failures))
        return last

    async def _give_up(self, ask: Ask, last: LastEvent) -> None:
        """Write the failure of a run that could not be claimed, under the lowest epoch, which fences no writer."""
        async with self._log.open(ask.run_id, epoch=1) as writer:
            await writer.append(RunStarted(ask.run_id, ask.thread_id, ask.agent))
            await writer.append(last)

    async def _answer_and_end(
        self,
        ask: Ask,
        steps: Steps,
        reducer: Reducer,
        claim: RunClaim,
        slot: RunSlot,
        failures: FailureRecorder,
        recorder: SpanRecorder | None,
    ) -> LastEvent:
        try:
            async with self._log.open(ask.run_id, claim.epoch) as writer:
                if ask.transient and self._observers.record is not None:
                    writer = self._observers.record(ask, writer)
                answered = await self._answer(ask, steps, writer, reducer, claim, failures, recorder)
                await slot.close()  # before the end is written: a client that receives it may ask again at once
                ending = end_run(self._threads, ask, writer, reducer, answered, failures, recorder)
                # A transient run stores nothing, so a cancellation cannot leave it half saved.
                is_unsaved = ask.transient and not ask.stores_questions
                return await (ending if is_unsaved else run_to_completion(ending))
        finally:
            if recorder is not None:
                recorder.detach()
            self._threads.release(ask.run_id, claim.epoch)

    async def _answer(
        self,
        ask: Ask,
        steps: Steps,
        writer: Writer,
        reducer: Reducer,
        claim: RunClaim,
        failures: FailureRecorder,
        recorder: SpanRecorder | None,
    ) -> LastEvent:
        """Write the agent's events to the log, and return the last event."""
        append, add = writer.append, reducer.add
        with Outcome(failures, steps, claim.epoch) as outcome:
            raise_if_cancelled()  # it may have been cancelled while the log was being opened
            await append(build_run_started(ask, claim, recorder))
            if recorder is not None:
                recorder.attach(writer)
            async with aclosing(self._agent(ask.agent).run(ask, steps)) as events:
                async for event in events:
                    if type(event) is RunFinished or type(event) is RunFailed:  # `isinstance` takes six times as long
                        outcome.read(event)
                        break
                    add(event)
                    await append(event)
        return outcome.last

    async def _call_hooks(self, ask: Ask, reducer: Reducer, last: LastEvent, failures: FailureRecorder) -> None:
        if isinstance(last, RunFailed):
            await self._hooks.error(ask, failures.of(last))
        elif last.outcome != "cancelled":
            await self._hooks.after(ask, reducer.messages())


def is_stored_late(ask: Ask, last: LastEvent | None) -> bool:
    """Whether the run is stored at its end, because it asks a person."""
    return ask.transient and ask.stores_questions and isinstance(last, RunFinished) and bool(last.interrupts)


async def end_run(
    threads: Threads,
    ask: Ask,
    writer: Writer,
    reducer: Reducer,
    last: LastEvent,
    failures: FailureRecorder,
    recorder: SpanRecorder | None = None,
) -> LastEvent:
    """End open events, save the thread, then write the last event: the run's outcome, or that the store failed.

    An outage of the store that is shorter than `END_RETRY_TIMEOUT_S` delays the last event.
    """
    for ending in reducer.endings():
        await writer.append(ending)
    totals = None
    if recorder is not None:
        recorder.close(last)
        totals = recorder.history.totals
    last = set_usage(last, totals.usage if totals else current_usage())
    is_late = is_stored_late(ask, last)
    if is_late:
        ask = msgspec.structs.replace(ask, transient=False)
    finishing = partial(
        threads.finish, mark_denied_question(ask, reducer), reducer.messages(), reducer.state, last, totals
    )
    try:
        if is_late:
            await retry_store(ask, partial(threads.claim, ask), END_RETRY_TIMEOUT_S, is_outage_only=True)
        await retry_store(ask, finishing, END_RETRY_TIMEOUT_S, is_outage_only=True)
    except StaleWriter:
        raise
    except Exception as error:
        failure = failures.read(error, "save_thread")
        last = failure if isinstance(last, RunFinished) and last.outcome != "cancelled" else last
    await writer.append(last)
    return last
