"""Approvals: how long a request waits for a decision in the console, and how a client decides by itself.

The protocol has no form for a question to a person. The request stays open while the run waits, and goes on with the
run that an operator's decision starts. Without a decision a client that knows server-side calls receives `pause_turn`
with the pending call: sent back as it is, the message waits again; a `tool_result` for the call is the decision. For
all other clients the question is closed, so that nothing runs later behind their backs.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from rightseat.core.approvals import APPROVAL
from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.events import Event, RunFinished, ToolCallDelta, ToolCallEnded, ToolCallStarted
from rightseat.core.log import Entry, ImmediateSink
from rightseat.core.messages import Call
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending
from rightseat.core.types import JsonValue
from rightseat.faces.anthropic.content_blocks import SERVER_CALL, CallDecision
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest
from rightseat.faces.anthropic.reply_reader import ReplyReader
from rightseat.shared_timers import SharedTimers

FIRST_POLL_S = 0.1
MAX_POLL_S = 1.0
"""The decision may come at another server of the same store, so the store is asked, ever less often."""
NO_QUESTION = "There is no open question about the call {id!r}: it was answered, it expired, or it never was."
OTHER_MODEL = "The call {id!r} waits in an answer of {agent!r}. Send that as the `model`."


class PausedCall(msgspec.Struct, frozen=True):
    """A call that a client received as waiting. It is an artifact of the thread, under the id that the client has."""

    thread_id: str
    run_id: str
    call_id: str
    name: str
    agent: str


class PausedCalls:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def keep(self, ask: Ask, run_id: str, calls: Mapping[str, tuple[str, str]]) -> bool:
        """Store the calls: the name and the client's id, by our id. False if the store keeps no files."""
        artifacts = self._runtime.artifacts
        if artifacts is None:
            return False
        owner = msgspec.structs.replace(ask, transient=False)
        for call_id, (name, shown_id) in calls.items():
            record = PausedCall(ask.thread_id, run_id, call_id, name, ask.agent)
            await artifacts.put(owner, shown_id, PRIVATE_MEDIA_TYPE, msgspec.json.encode(record), shown_id)
        return True

    async def find(self, id: str, principal: Principal, agent: str) -> PausedCall:
        """Raises `InvalidMessagesRequest`, in the same words for the calls of other users."""
        artifacts = self._runtime.artifacts
        found = (
            await artifacts.get(id, principal) if artifacts and id.startswith(SERVER_CALL) and "\0" not in id else None
        )
        if found is None or found.media_type != PRIVATE_MEDIA_TYPE or not principal.may_use(found.agent):
            raise unknown_question(id)
        paused = _decode(found.content)
        if paused.agent != agent:
            raise InvalidMessagesRequest(OTHER_MODEL.format(id=id[:100], agent=paused.agent))
        return paused

    async def pending(self, paused: PausedCall, principal: Principal) -> Sequence[Pending]:
        """The questions of the run that asked about the call; none once they were answered."""
        found = await self._runtime.pending(principal, paused.thread_id)
        mine = [one for one in found if one.run_id == paused.run_id]
        return mine if any(one.call and one.call.id == paused.call_id for one in mine) else ()

    async def find_following(self, thread_id: str, run_id: str, principal: Principal) -> str | None:
        """The run that went on after a decision."""
        return await find_next_run(self._runtime, thread_id, run_id, principal)

    async def abandon(self, id: str, principal: Principal, agent: str) -> None:
        """The client goes on without a decision: the question is closed."""
        try:
            paused = await self.find(id, principal, agent)
        except InvalidMessagesRequest:
            return
        if await self.pending(paused, principal):
            await self._runtime.close_questions(paused.thread_id, principal, agent)


_decode = msgspec.json.Decoder(PausedCall).decode


def unknown_question(id: str) -> InvalidMessagesRequest:
    return InvalidMessagesRequest(NO_QUESTION.format(id=id[:100]))


def build_answers(pending: Sequence[Pending], decisions: Mapping[str, CallDecision]) -> tuple[Answer, ...]:
    """`decisions` by the ids of our calls. A question without one is cancelled."""
    return tuple(build_answer(one, decisions.get(one.call.id) if one.call else None) for one in pending)


def build_answer(one: Pending, decision: CallDecision | None) -> Answer:
    """Only `approve` approves a call. The answer to any other question is the text itself."""
    if decision is None or (decision.is_error and one.interrupt.reason != APPROVAL):
        return Answer(one.interrupt.id, "cancelled")
    if one.interrupt.reason != APPROVAL:
        return Answer(one.interrupt.id, "resolved", decision.text)
    is_approved = decision.text.strip().lower() == "approve" and not decision.is_error
    payload: dict[str, JsonValue] = {"approved": is_approved}
    return Answer(one.interrupt.id, "resolved", payload)


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


@dataclass(slots=True)
class FollowedRuns:
    """Takes the place of the runtime for the response to one client: what it follows are the run, and those that go on
    after a person's decision. The end of a run that waits is held back until nobody has decided in time.

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
        """The next run of the thread; None if nobody has decided, after which the question is kept or closed."""
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
