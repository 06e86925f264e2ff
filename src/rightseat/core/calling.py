"""The calls of a model's answer: run, put before a person, or left to the client.

What can be run at once runs side by side. A tool that is a run of its own (`Tool.stream`) follows, one after another,
and is heard while it runs.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from pydantic import JsonValue

from rightseat.core.approvals import APPROVAL, is_approved
from rightseat.core.ask import Answer, Ask
from rightseat.core.cancelling import is_cancelled, to_the_end
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import RightseatError, StaleWriter
from rightseat.core.events import CallReturned, Event, Interrupt, RunFinished
from rightseat.core.failing import mark
from rightseat.core.ids import new_id
from rightseat.core.json_schema import find_faults
from rightseat.core.messages import Call, Message
from rightseat.core.observing import begin, observed
from rightseat.core.tools import Approval, Invocation, Run, Tool
from rightseat.core.values import replace_surrogates

logger = logging.getLogger(__name__)

REFUSED = "The person refused: the call was not run."
SKIPPED = "The call was cut off, and nobody knows whether it had an effect. It was not made again."
DOUBT = "outcome_unknown"
UNKNOWN: JsonValue = {"type": "string", "enum": ["repeat", "skip", "stop"]}
NO_OBJECT = "The arguments are not a JSON object."
NO_RESULT = "The tool ended without a result."


def calls_in(messages: Iterable[Message]) -> list[Call]:
    return [part for message in messages for part in message.parts if isinstance(part, Call)]


class PlainCall(NamedTuple):
    """A call of a tool with `run`. `approval` is what the person answered, where the tool needed an approval."""

    call: Call
    tool: Tool | None
    approval: JsonValue = None


class StreamingCall(NamedTuple):
    """A call of a tool with `stream`. `answers` are those to the questions that it asked when it was called before."""

    call: Call
    tool: Tool
    answers: tuple[Answer, ...] = ()


def run_calls(calls: Sequence[Call], tools: Mapping[str, Tool], ask: Ask, steps: Steps) -> AsyncIterator[Event]:
    """What the server can run by itself; what the calls give comes in their order.

    Last comes `RunFinished` where something is left, for the client to run or for a person to answer, or where one of
    them has said all there is to say.
    """
    mine = [call for call in calls if not is_for_another(call, tools)]
    plain = [PlainCall(call, tools.get(call.name)) for call in mine if streaming(call, tools) is None]
    streams = [StreamingCall(call, tool) for call in mine if (tool := streaming(call, tools))]
    interrupts = tuple(questions(calls, tools))
    return execute(plain, streams, ask, steps, interrupts=interrupts, is_waiting=len(mine) < len(calls))


def go_on(ask: Ask, tools: Mapping[str, Tool], steps: Steps) -> AsyncIterator[Event]:
    """The calls that waited for a person: run if the person approved them, else given back as refused.

    A call that was cut off is made again if the answer is `repeat`. A question that a tool with a `stream` asked itself
    is the tool's to read. Last comes `RunFinished` where there is more to ask, or nothing more to say.
    """
    returned: list[Event] = []
    agreed: list[PlainCall] = []
    streams: dict[str, StreamingCall] = {}
    for answer in ask.answers:
        call = answer.call
        if call is None:
            continue  # the question of an agent, not of a tool
        if (tool := streaming(call, tools)) and (is_own_question(answer) or is_approved(answer)):
            before = streams.get(call.id, StreamingCall(call, tool))
            streams[call.id] = before._replace(call=call, tool=tool, answers=(*before.answers, answer))
        elif answer.reason == DOUBT and answer.status == "resolved" and answer.payload != "repeat":
            returned.append(CallReturned(call.id, call.name, SKIPPED, DOUBT))
        elif is_approved(answer) or (answer.reason == DOUBT and answer.status == "resolved"):
            agreed.append(PlainCall(call, tools.get(call.name), answer.payload))
        else:
            returned.append(CallReturned(call.id, call.name, REFUSED, "refused"))
    return execute(agreed, list(streams.values()), ask, steps, returned=returned)


async def execute(
    plain: Sequence[PlainCall],
    streams: Sequence[StreamingCall],
    ask: Ask,
    steps: Steps,
    *,
    returned: Sequence[Event] = (),
    interrupts: Sequence[Interrupt] = (),
    is_waiting: bool = False,
) -> AsyncIterator[Event]:
    """Run calls, the plain ones first. `returned` are results of other calls, which come before theirs.

    It ends with `RunFinished("waiting")` if `is_waiting`, if there are `interrupts`, or if a call has more of them.
    """
    results = [*returned, *await side_by_side(plain, ask, steps)]
    for event in results:
        yield event
    asked = [*interrupts, *doubts([one.call for one in plain], results)]
    is_over = False
    async with closing(one_by_one(streams, ask, steps)) as events:
        async for event in events:
            if type(event) is RunFinished:
                asked += event.interrupts
                is_over |= event.outcome == "done"
            else:
                yield event
    if asked or is_waiting:
        yield RunFinished("waiting", tuple(asked))
    elif is_over:
        yield RunFinished("done")


def is_own_question(answer: Answer) -> bool:
    """Did the tool itself ask it? An answer without a reason counts as one to an approval."""
    return answer.memo is not None or (answer.status == "resolved" and answer.reason not in ("", APPROVAL))


def was_stopped(ask: Ask, tools: Mapping[str, Tool]) -> bool:
    """Did the person say that nothing more shall be done, of a call whose outcome is not known?"""
    return any(
        answer.reason == DOUBT
        and answer.payload == "stop"
        and (answer.call is None or streaming(answer.call, tools) is None)
        for answer in ask.answers
    )


def streaming(call: Call, tools: Mapping[str, Tool]) -> Tool | None:
    """The tool of the call, if it is a run of its own."""
    tool = tools.get(call.name)
    return tool if tool is not None and tool.stream is not None else None


async def one_by_one(calls: Sequence[StreamingCall], ask: Ask, steps: Steps) -> AsyncIterator[Event]:
    """What tools that are runs of their own say. Whatever goes wrong becomes a result that says so."""
    for call, tool, answers in calls:
        returned = False
        async with closing(hear(call, tool, answers, ask, steps)) as events:
            async for event in events:
                yield event
                if type(event) is RunFinished:
                    returned = True
                    break
                returned |= is_result(event, call)
        if not returned:
            yield CallReturned(call.id, call.name, NO_RESULT, "tool_failed")


async def hear(call: Call, tool: Tool, answers: tuple[Answer, ...], ask: Ask, steps: Steps) -> AsyncIterator[Event]:
    arguments = read_arguments(call.arguments)
    if refused := refusal(call, tool):
        yield refused
        return
    if tool.stream is None or arguments is None:
        yield CallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")
        return
    approval = answers[-1].payload if answers else None
    invocation = Invocation(call.id, arguments, ask, f"{ask.run_id}:{call.id}", approval, answers=answers)
    span = begin("tool", call.name, call=call.id)
    has_returned = False
    try:
        async with closing(tool.stream(invocation, steps)) as events:
            async for event in events:
                if type(event) is RunFinished:
                    mine = (msgspec.structs.replace(one, call_id=call.id) for one in event.interrupts)
                    event = RunFinished(event.outcome, tuple(mine))
                has_returned |= is_result(event, call)
                yield event
    except StaleWriter:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if steps.is_leaving or has_returned:
            mark(error, "call_tool", call.name)
            raise
        returned = failed(call, error, ask)
        span.note(error=returned.error or "")
        yield returned
    finally:
        span.end()


def is_result(event: Event, call: Call) -> bool:
    """Is it the result of this call, and not of one that the tool made itself?"""
    return type(event) is CallReturned and event.call_id == call.id


async def side_by_side(calls: Sequence[PlainCall], ask: Ask, steps: Steps) -> list[Event]:
    if not calls:
        return []
    running = [asyncio.create_task(run_call(*one, ask, steps)) for one in calls]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        if unfinished := [task for task in running if not task.done()]:
            for task in unfinished:
                task.cancel()
            await to_the_end(asyncio.wait(unfinished))
    for task in running:
        if not task.cancelled() and (failure := task.exception()):
            raise failure  # as it is: in a group it would be hidden that another process has the run now
    return [event for task in running for event in task.result()]


def questions(calls: Sequence[Call], tools: Mapping[str, Tool]) -> Iterator[Interrupt]:
    for call in calls:
        tool = tools.get(call.name)
        if tool is not None and isinstance(asked := tool.approval, Approval):
            yield Interrupt(new_id("interrupt"), APPROVAL, asked.message, call.id, asked.schema, asked.expires_at())


def doubts(calls: Sequence[Call], said: Iterable[Event]) -> Iterator[Interrupt]:
    """Of calls that were made and have no result: they were cut off, and may have had an effect or not."""
    returned = {event.call_id for event in said if isinstance(event, CallReturned)}
    for call in calls:
        if call.id not in returned:
            asked = f"{call.name} was cut off: whether it had an effect is not known. Repeat it, skip it, or stop?"
            yield Interrupt(new_id("interrupt"), DOUBT, asked, call.id, UNKNOWN)


def is_for_another(call: Call, tools: Mapping[str, Tool]) -> bool:
    """Does the client have to run it, or a person to agree first?"""
    tool = tools.get(call.name)
    if tool is None or (tool.is_ours and not isinstance(tool.approval, Approval)):
        return False
    return refusal(call, tool) is None


def refusal(call: Call, tool: Tool) -> CallReturned | None:
    """The result that tells the model why its call was not run: the tool could not use these arguments.

    A tool that runs here gets only arguments that fit its schema. What the client runs, the client checks, unless the
    tool has a `check`.
    """
    if tool.check is None and not tool.is_ours:
        return None
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return CallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")
    is_checked_here = tool.is_ours and not tool.checks_arguments
    if is_checked_here and (faults := find_faults(tool.name, tool.parameters, arguments)):
        text = f"The arguments do not fit the schema of {tool.name}: {'; '.join(faults)}. The call was not run."
        return CallReturned(call.id, call.name, text, "invalid_arguments")
    if tool.check is not None:
        try:
            tool.check(arguments)
        except RightseatError as error:
            return CallReturned(call.id, call.name, error.message, error.code)
    return None


async def run_call(call: Call, tool: Tool | None, approval: JsonValue, ask: Ask, steps: Steps) -> list[Event]:
    """What the tool said and gave. Whatever goes wrong becomes a result that says so: the model can often repair it."""
    if tool is not None and (refused := refusal(call, tool)):
        return [refused]
    if tool is None or tool.run is None:
        return [CallReturned(call.id, call.name, f"There is no tool named {call.name!r}.", "unknown_tool")]
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return [CallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")]
    make: Callable[[], Awaitable[list[Event]]] = partial(make_call, call, tool.run, arguments, approval, ask)
    if ask.durable and not tool.is_repeatable and await was_tried(call, steps):
        make = nothing_known  # unless what became of it was kept
    return await steps.do(f"tool:{call.id}", list[Event], make)


async def was_tried(call: Call, steps: Steps) -> bool:
    """Did an earlier execution of this run begin the call?"""
    mine = new_id("attempt")

    async def note() -> str:
        return mine

    return await steps.do(f"try:{call.id}", str, note) != mine


async def nothing_known() -> list[Event]:
    return []


async def make_call(
    call: Call, run: Run, arguments: Mapping[str, JsonValue], approval: JsonValue, ask: Ask
) -> list[Event]:
    said: list[Event] = []
    invocation = Invocation(call.id, arguments, ask, f"{ask.run_id}:{call.id}", approval, said.append)
    with observed("tool", call.name, call=call.id) as span:
        try:
            content = await run(invocation)
        except (Exception, asyncio.CancelledError) as error:
            returned = failed(call, error, ask)
            span.note(error=returned.error or "")
            return [*said, returned]
    return [*said, CallReturned(call.id, call.name, replace_surrogates(content))]


def failed(call: Call, error: BaseException, ask: Ask) -> CallReturned:
    """What the model is told of a tool that raised. What ends the whole run is raised again."""
    if isinstance(error, RightseatError):
        return CallReturned(call.id, call.name, error.message, error.code)
    if isinstance(error, asyncio.CancelledError) and is_cancelled():
        raise error
    logger.error("run %s: the tool %s failed", ask.run_id, call.name, exc_info=error)
    return CallReturned(call.id, call.name, f"The tool {call.name!r} failed.", "tool_failed")


def read_arguments(text: str) -> dict[str, JsonValue] | None:
    """The JSON object that a model wrote; none at all counts as an empty one."""
    try:
        value = json.loads(text) if text.strip() else {}
        if "\\ud" in text.lower():
            value = json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
