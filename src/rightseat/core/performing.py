"""Carries out a run that was begun: its agent answers, its log has every word, its thread what was said."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from rightseat.core.admission import Admission, Slot
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.cancelling import raise_if_cancelled, to_the_end
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import RunExists, StaleWriter
from rightseat.core.events import RunFailed, RunFinished, RunStarted
from rightseat.core.failing import Failures, Last, Outcome
from rightseat.core.folding import Fold
from rightseat.core.hooks import Hooks
from rightseat.core.judging import marked
from rightseat.core.lasting import Lasting, begin_again, first_event
from rightseat.core.log import Log, Writer
from rightseat.core.observing import ABOUT, NOBODY, Observer, observed
from rightseat.core.threads import Beginning, Threads


class Performer:
    """`begun` are runs that this process has claimed and the engine has not called for yet."""

    def __init__(
        self,
        log: Log,
        threads: Threads,
        hooks: Hooks,
        observer: Observer,
        agent: Callable[[str], Agent],
        admission: Admission,
    ) -> None:
        self.begun: dict[str, Beginning] = {}
        self._admission = admission
        self._slots: dict[str, Slot] = {}  # of runs that were admitted and the engine has not called for yet
        self._log = log
        self._threads = threads
        self._hooks = hooks
        self._observer = observer
        self._agent = agent

    async def admit(self, ask: Ask) -> None:
        """Raises a `LimitExceeded`. What is admitted is performed, or released."""
        if ask.run_id in self._slots:
            raise RunExists(ask.run_id)
        self._slots[ask.run_id] = await self._admission.admit(ask)

    def release(self, run_id: str) -> None:
        """A run that was admitted, and is not performed here."""
        if slot := self._slots.pop(run_id, None):
            slot.release()

    def perform(self, ask: Ask, steps: Steps) -> Coroutine[Any, Any, object]:
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
        slot = self._slots.pop(ask.run_id, None) or self._admission.take(ask)
        if task := asyncio.current_task():
            task.add_done_callback(lambda _: slot.release())  # however it ends
        fold = Fold(ask.state)
        failures = Failures(ask, fold)
        begun = self.begun.pop(ask.run_id, None)
        is_new = begun is not None
        if begun is None and ask.durable:
            begun = await begin_again(self._threads, ask)
            if begun is None:
                return None  # it is over
        try:
            beginning = begun or await self._threads.begin(ask)
        except (Exception, asyncio.CancelledError) as error:
            last = failures.read(error, "begin_run")
            await to_the_end(self._give_up(ask, last))
        else:
            if ask.state is None:
                ask = msgspec.structs.replace(ask, state=beginning.state)
            fold.state = ask.state
            if ask.durable:
                lasting = Lasting(self._log, self._threads, ask, beginning, fold, slot, failures)
                last = await lasting.perform(self._agent(ask.agent), steps, is_new=is_new)
            else:
                last = await self._answer_and_end(ask, steps, fold, beginning, slot, failures)
        if self._hooks.after_request or self._hooks.on_error:
            await to_the_end(self._tell_hooks(ask, fold, last, failures))
        return last

    async def _give_up(self, ask: Ask, last: Last) -> None:
        """A run that could not be claimed says so, under the lowest epoch of all: it shuts out nobody."""
        async with self._log.open(ask.run_id, epoch=1) as writer:
            await writer.append(RunStarted(ask.run_id, ask.thread_id, ask.agent))
            await writer.append(last)

    async def _answer_and_end(
        self, ask: Ask, steps: Steps, fold: Fold, beginning: Beginning, slot: Slot, failures: Failures
    ) -> Last:
        try:
            async with self._log.open(ask.run_id, beginning.epoch) as writer:
                answered = await self._answer(ask, steps, writer, fold, beginning, failures)
                slot.release()  # a client that sees the end may ask again at once
                ending = end(self._threads, ask, writer, fold, answered, failures)
                # Of a transient run nothing is kept, so nothing waits there that a cancel could cut in two.
                return await (ending if ask.transient else to_the_end(ending))
        finally:
            self._threads.leave(ask.run_id, beginning.epoch)

    async def _answer(
        self, ask: Ask, steps: Steps, writer: Writer, fold: Fold, beginning: Beginning, failures: Failures
    ) -> Last:
        """Have the agent answer into the log, and say how it ended."""
        append, add = writer.append, fold.add
        with Outcome(failures, steps, beginning.epoch) as outcome:
            raise_if_cancelled()  # while the log was being opened
            await append(first_event(ask, beginning))
            async with closing(self._agent(ask.agent).run(ask, steps)) as events:
                async for event in events:
                    if type(event) is RunFinished or type(event) is RunFailed:  # `isinstance` takes six times as long
                        outcome.read(event)
                        break
                    add(event)
                    await append(event)
        return outcome.last

    async def _tell_hooks(self, ask: Ask, fold: Fold, last: Last, failures: Failures) -> None:
        if isinstance(last, RunFailed):
            await self._hooks.error(ask, failures.of(last))
        elif last.outcome != "cancelled":
            await self._hooks.after(ask, fold.messages())


async def end(threads: Threads, ask: Ask, writer: Writer, fold: Fold, last: Last, failures: Failures) -> Last:
    """End what is open, tell the store, then say the last word: how the run ended, or that the store did not hear."""
    for ending in fold.endings():
        await writer.append(ending)
    try:
        await threads.finish(marked(ask, fold), fold.messages(), fold.state, last)
    except StaleWriter:
        raise
    except Exception as error:
        failure = failures.read(error, "save_thread")
        last = failure if isinstance(last, RunFinished) and last.outcome != "cancelled" else last
    await writer.append(last)
    return last
