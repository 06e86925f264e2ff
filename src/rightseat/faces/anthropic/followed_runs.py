"""Follows a run that asks a person: the response stays open while the run waits, and goes on with the run that an
operator's decision starts.

The protocol has no form for a question to a person. Without a decision in time a client that knows server-side calls
receives the pending call (`paused_calls`). For all other clients the question is closed, so that nothing runs later
behind their backs.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import Event, RunFinished, ToolCallDelta, ToolCallEnded, ToolCallStarted
from rightseat.core.log import Entry, ImmediateSink
from rightseat.core.messages import Call
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending
from rightseat.faces.anthropic.paused_calls import PausedCalls
from rightseat.faces.anthropic.reply_reader import ReplyReader
from rightseat.shared_timers import SharedTimers

FIRST_POLL_S = 0.1
MAX_POLL_S = 1.0
"""The decision may come at another server of the same store, so the store is asked, ever less often."""


@dataclass(slots=True)
class FollowedRuns:
    """Takes the place of the runtime for the response to one client: what it follows are the run, and those that go on
    after a person's decision. The end of a run that waits is held back until a decision has come, or its time is over.

    `asked` are the questions of an earlier response, for a client that waits for them again. `pauses`: the client knows
    calls that wait; the others' question is closed, and its thread deleted with `is_temporary`.
    """

    runtime: Runtime
    ask: Ask
    calls: PausedCalls
    reader: ReplyReader
    seconds: float
    run_id: str = ""
    asked: Sequence[Pending] = ()
    pauses: bool = False
    is_temporary: bool = False
    _is_left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def timers(self) -> SharedTimers:
        return self.runtime.timers

    @property
    def hands_over_runs(self) -> bool:
        return self.runtime.hands_over_runs

    async def is_running(self, run_id: str) -> bool:
        return await self.runtime.is_running(self.run_id)

    async def cancel(self, run_id: str) -> bool:
        """The client has left."""
        self._is_left.set()
        return await self.runtime.cancel(self.run_id)

    async def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        end: Entry | None = None
        if self.asked:
            yield [Entry(0, 0, event) for event in show_calls(self.asked)]
            end = Entry(0, 0, RunFinished("waiting", tuple(one.interrupt for one in self.asked)))
            self.run_id, self.asked = self.asked[0].run_id, ()
        while True:
            if end is None:
                async with aclosing(self.runtime.follow(self.run_id, after, tap)) as batches:
                    async for batch in batches:
                        if asks_person(batch[-1].event):
                            end = batch[-1]
                            batch = batch[:-1]
                        if batch:
                            yield batch
                        if end is not None:
                            break
                    else:
                        return
            following = await self._wait(end)
            if following is None:
                yield [end]
                return
            self.run_id, after, end = following, None, None

    async def _wait(self, end: Entry) -> str | None:
        """The next run of the thread; None if no decision came in time: the question was kept or closed then."""
        principal, thread_id = self.ask.principal, self.ask.thread_id
        clock = asyncio.get_running_loop().time
        until = clock() + (0 if self.reader.has_client_calls else self.seconds)
        pause = FIRST_POLL_S
        while clock() < until and not self._is_left.is_set() and not self.runtime.is_shutting_down:
            if following := await find_next_run(self.runtime, thread_id, self.run_id, principal):
                return following
            if not await self.runtime.pending(principal, thread_id):
                break  # it expired
            try:
                await asyncio.wait_for(self._is_left.wait(), min(pause, max(0.0, until - clock())))
            except TimeoutError:
                pause = min(2 * pause, MAX_POLL_S)
        return await self._stop_waiting(end)

    async def _stop_waiting(self, end: Entry) -> str | None:
        principal, thread_id = self.ask.principal, self.ask.thread_id
        if following := await find_next_run(self.runtime, thread_id, self.run_id, principal):
            return following
        if self.pauses and not self.reader.has_client_calls and not self._is_left.is_set():
            interrupts = end.event.interrupts if isinstance(end.event, RunFinished) else ()
            waiting = {one.call_id for one in interrupts if one.call_id}
            shown = {call: one for call, one in self.reader.shown_calls().items() if call in waiting}
            if shown and await self.calls.keep(self.ask, self.run_id, shown):
                self.reader.pauses = True
                return None
        if not await self.runtime.close_questions(thread_id, principal, self.ask.agent):
            return await find_next_run(self.runtime, thread_id, self.run_id, principal)  # decided just now
        if self.is_temporary:
            await self.runtime.delete(thread_id, principal)
        return None


def asks_person(event: Event) -> bool:
    return type(event) is RunFinished and bool(event.interrupts)


def show_calls(pending: Sequence[Pending]) -> list[Event]:
    """The calls that wait, for a client that receives them again."""
    events: list[Event] = []
    for one in pending:
        if isinstance(call := one.call, Call):
            events += (ToolCallStarted(call.id, call.name), ToolCallDelta(call.id, call.arguments))
            events.append(ToolCallEnded(call.id))
    return events


async def find_next_run(runtime: Runtime, thread_id: str, run_id: str, principal: Principal) -> str | None:
    """The run that follows another one in its thread."""
    outline = await runtime.outline(thread_id, principal)
    runs = [run.id for run in outline.runs if run.id == run_id or run.outcome != "cancelled"] if outline else []
    return next(iter(runs[runs.index(run_id) + 1 :]), None) if run_id in runs else None
