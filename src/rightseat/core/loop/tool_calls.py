"""Handles the tool calls of a model response: runs them, asks a person for approval, or leaves them to the client.

Plain calls run concurrently. Calls to streaming tools (`Tool.stream`) follow one after another; their events are
emitted while they run.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from pydantic import JsonValue

from rightseat.concurrency import aclosing, is_cancelled, run_to_completion
from rightseat.core.approvals import APPROVAL, fill_message, is_approved, read_reason
from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import RightseatError, StaleWriter
from rightseat.core.events import ApprovalText, Event, Interrupt, RunFinished, ToolCallReturned
from rightseat.core.ids import new_id
from rightseat.core.loop.nested_questions import enclosing_call
from rightseat.core.messages import Call, Message
from rightseat.core.run.outcome import mark_origin
from rightseat.core.tools import Approval, Invocation, RunTool, Tool
from rightseat.core.tracing import SpanScope, start_span, trace_span
from rightseat.core.types import replace_surrogates
from rightseat.json_schema import find_faults

logger = logging.getLogger(__name__)

REFUSED = "The user denied the call. It was not run."
SKIPPED = "The call was interrupted, and it is unknown whether it took effect. It was not repeated."
OUTCOME_UNKNOWN = "outcome_unknown"
UNKNOWN_OUTCOME_SCHEMA: JsonValue = {"type": "string", "enum": ["repeat", "skip", "stop"]}
NO_OBJECT = "The arguments are not a JSON object."
CUT_OFF = "The call was cut off in its arguments. It was not run."
NO_RESULT = "The tool ended without a result."


def calls_in(messages: Iterable[Message]) -> list[Call]:
    return [part for message in messages for part in message.parts if isinstance(part, Call)]


class PlainCall(NamedTuple):
    """A call of a tool with `run`. `approval` is the person's answer, if the tool needed an approval."""

    call: Call
    tool: Tool | None
    approval: JsonValue = None


class StreamingCall(NamedTuple):
    """A call of a tool with `stream`. `answers` are the answers to the tool's questions from its previous call."""

    call: Call
    tool: Tool
    answers: tuple[Answer, ...] = ()


def run_calls(
    calls: Sequence[Call], tools: Mapping[str, Tool], ask: Ask, steps: Steps, cut: Collection[str] = ()
) -> AsyncIterator[Event]:
    """Run the calls that need neither the client nor a person; their events come in the order of the calls.

    `cut` are the ids of calls that were cut off with their response: an error is their result, for clients too.
    Ends with `RunFinished` if the client has to run a call or a person has to answer, or if a tool ended the run.
    """
    returned = [ToolCallReturned(call.id, call.name, CUT_OFF, "cut_off") for call in calls if call.id in cut]
    calls = [call for call in calls if call.id not in cut]
    waiting = [call for call in calls if needs_client_or_person(call, tools, ask)]
    mine = [call for call in calls if call not in waiting]
    plain = [PlainCall(call, tools.get(call.name)) for call in mine if find_streaming_tool(call, tools) is None]
    streams = [StreamingCall(call, tool) for call in mine if (tool := find_streaming_tool(call, tools))]
    interrupts = tuple(approval_interrupts(waiting, tools))
    return execute(plain, streams, ask, steps, returned=returned, interrupts=interrupts, is_waiting=bool(waiting))


def resume_calls(ask: Ask, tools: Mapping[str, Tool], steps: Steps) -> AsyncIterator[Event]:
    """Run the calls that waited for a person if the person approved them; otherwise return a refusal as the result.

    A call that was interrupted is repeated if the answer is `repeat`. The answer to a streaming tool's own question is
    passed to the tool. Ends with `RunFinished` if there are more questions, or if a tool ended the run.
    """
    returned: list[Event] = []
    agreed: list[PlainCall] = []
    streams: dict[str, StreamingCall] = {}
    for answer in ask.answers:
        call = enclosing_call(answer.memo) or answer.call
        if call is None:
            continue  # an agent asked the question, not a tool
        if (tool := find_streaming_tool(call, tools)) and (is_own_question(answer) or is_approved(answer)):
            before = streams.get(call.id, StreamingCall(call, tool))
            streams[call.id] = before._replace(call=call, tool=tool, answers=(*before.answers, answer))
        elif answer.reason == OUTCOME_UNKNOWN and answer.status == "resolved" and answer.payload != "repeat":
            returned.append(ToolCallReturned(call.id, call.name, SKIPPED, OUTCOME_UNKNOWN))
        elif is_approved(answer) or (answer.reason == OUTCOME_UNKNOWN and answer.status == "resolved"):
            agreed.append(PlainCall(call, tools.get(call.name), answer.payload))
        else:
            reason = read_reason(answer)
            text = f"{REFUSED} The user's reason: {reason}" if reason else REFUSED
            returned.append(ToolCallReturned(call.id, call.name, text, "refused"))
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
    """Run calls, the plain ones first. `returned` are results of other calls; they are emitted first.

    It ends with `RunFinished("waiting")` if `is_waiting`, if there are `interrupts`, or if a call raises more of them.
    """
    results = [*returned, *await run_calls_concurrently(plain, ask, steps)]
    for event in results:
        yield event
    pending = [*interrupts, *unknown_outcome_interrupts([one.call for one in plain], results)]
    is_over = False
    async with aclosing(run_streaming_calls(streams, ask, steps)) as events:
        async for event in events:
            if type(event) is RunFinished:
                pending += event.interrupts
                is_over |= event.outcome == "done"
            else:
                yield event
    if pending or is_waiting:
        yield RunFinished("waiting", tuple(pending))
    elif is_over:
        yield RunFinished("done")


def is_own_question(answer: Answer) -> bool:
    """Whether the tool itself asked the question. An answer without a reason counts as an answer to an approval."""
    return answer.memo is not None or (answer.status == "resolved" and answer.reason not in ("", APPROVAL))


def was_stopped(ask: Ask, tools: Mapping[str, Tool]) -> bool:
    """Whether the person chose `stop` for a call whose outcome is unknown."""
    return any(
        answer.reason == OUTCOME_UNKNOWN
        and answer.payload == "stop"
        and (answer.call is None or find_streaming_tool(answer.call, tools) is None)
        for answer in ask.answers
    )


def find_streaming_tool(call: Call, tools: Mapping[str, Tool]) -> Tool | None:
    """The call's tool, if it is a streaming tool."""
    tool = tools.get(call.name)
    return tool if tool is not None and tool.stream is not None else None


async def run_streaming_calls(calls: Sequence[StreamingCall], ask: Ask, steps: Steps) -> AsyncIterator[Event]:
    """Stream the events of streaming tools. A failure becomes the result of the call."""
    for call, tool, answers in calls:
        returned = False
        async with aclosing(run_streaming_call(call, tool, answers, ask, steps)) as events:
            async for event in events:
                yield event
                if type(event) is RunFinished:
                    returned = True
                    break
                returned |= is_result(event, call)
        if not returned:
            yield ToolCallReturned(call.id, call.name, NO_RESULT, "tool_failed")


async def run_streaming_call(
    call: Call, tool: Tool, answers: tuple[Answer, ...], ask: Ask, steps: Steps
) -> AsyncIterator[Event]:
    arguments = read_arguments(call.arguments)
    if refused := check_arguments(call, tool):
        yield refused
        return
    if tool.stream is None or arguments is None:
        yield ToolCallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")
        return
    approval = answers[-1].payload if answers else None
    invocation = Invocation(call.id, arguments, ask, f"{ask.run_id}:{call.id}", approval, answers=answers)
    span = start_span("tool", call.name, call=call.id)
    scope = SpanScope(span)
    has_returned = False
    try:
        async with aclosing(tool.stream(invocation, steps)) as events:
            async for event in events:
                if type(event) is RunFinished:
                    event = RunFinished(
                        event.outcome, tuple(set_call(interrupt, call) for interrupt in event.interrupts)
                    )
                has_returned |= is_result(event, call)
                yield event
    except StaleWriter:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if steps.is_shutting_down or has_returned:
            mark_origin(error, "call_tool", call.name)
            raise
        returned = build_failed_result(call, error, ask)
        span.note(error=returned.error or "")
        yield returned
    finally:
        scope.close()
        span.end()


def set_call(interrupt: Interrupt, call: Call) -> Interrupt:
    """Name the call that needs the answer. A question about a call of an agent that this call asked keeps that call."""
    return interrupt if enclosing_call(interrupt.memo) else msgspec.structs.replace(interrupt, call_id=call.id)


def is_result(event: Event, call: Call) -> bool:
    """Whether the event is the result of this call, and not of a call that the tool made itself."""
    return type(event) is ToolCallReturned and event.call_id == call.id


async def run_calls_concurrently(calls: Sequence[PlainCall], ask: Ask, steps: Steps) -> list[Event]:
    if not calls:
        return []
    running = [asyncio.create_task(run_call(*call, ask, steps)) for call in calls]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        if unfinished := [task for task in running if not task.done()]:
            for task in unfinished:
                task.cancel()
            await run_to_completion(asyncio.wait(unfinished))
    for task in running:
        if not task.cancelled() and (failure := task.exception()):
            raise failure  # not in an exception group, which would hide a StaleWriter
    return [event for task in running for event in task.result()]


def approval_interrupts(waiting: Sequence[Call], tools: Mapping[str, Tool]) -> Iterator[Interrupt]:
    """A person is asked only about calls that could run: the arguments of the `waiting` ones are valid."""
    for call in waiting:
        tool = tools.get(call.name)
        if tool is not None and isinstance(approval := tool.approval, Approval):
            values = read_arguments(call.arguments) or {}
            texts = approval.translations.items()
            yield Interrupt(
                new_id("interrupt"),
                APPROVAL,
                fill_message(approval.message, values),
                call.id,
                approval.schema,
                approval.expires_at(),
                title=approval.title,
                translations={tag: ApprovalText(fill_message(text.message, values), text.title) for tag, text in texts},
            )


def unknown_outcome_interrupts(calls: Sequence[Call], events: Iterable[Event]) -> Iterator[Interrupt]:
    """Interrupts for calls without a result: they were interrupted, and may or may not have had an effect."""
    returned = {event.call_id for event in events if isinstance(event, ToolCallReturned)}
    for call in calls:
        if call.id not in returned:
            asked = f"{call.name} was interrupted and may have taken effect. Repeat it, skip it, or stop?"
            yield Interrupt(new_id("interrupt"), OUTCOME_UNKNOWN, asked, call.id, UNKNOWN_OUTCOME_SCHEMA)


def needs_client_or_person(call: Call, tools: Mapping[str, Tool], ask: Ask) -> bool:
    """Whether the client has to run the call, or a person has to approve it first. Not if its arguments are invalid."""
    if (tool := tools.get(call.name)) is None:
        return ask.has_unlisted_tools
    is_run_here = tool.runs_on_server and not isinstance(tool.approval, Approval)
    return not is_run_here and check_arguments(call, tool) is None


def check_arguments(call: Call, tool: Tool) -> ToolCallReturned | None:
    """Return the error result for a call with invalid arguments, or None if the arguments are valid.

    A tool that runs on the server only receives arguments that match its schema. The client checks the arguments of
    its own tools, unless the tool has a `check`.
    """
    if tool.check is None and not tool.runs_on_server:
        return None
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return ToolCallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")
    is_checked_here = tool.runs_on_server and not tool.checks_arguments
    if is_checked_here and (faults := find_faults(tool.name, tool.parameters, arguments)):
        text = f"The arguments do not match the schema of {tool.name}: {'; '.join(faults)}. The call was not run."
        return ToolCallReturned(call.id, call.name, text, "invalid_arguments")
    if tool.check is not None:
        try:
            tool.check(arguments)
        except RightseatError as error:
            return ToolCallReturned(call.id, call.name, error.message, error.code)
        except Exception:  # for example of a validator of pydantic that its author wrote
            logger.exception("the arguments of the tool %s could not be checked", call.name)
            return ToolCallReturned(call.id, call.name, f"The tool {call.name!r} failed.", "tool_failed")
    return None


async def run_call(call: Call, tool: Tool | None, approval: JsonValue, ask: Ask, steps: Steps) -> list[Event]:
    """Return the tool's events and its result. A failure becomes the result, because the model can often correct it."""
    if tool is not None and (refused := check_arguments(call, tool)):
        return [refused]
    if tool is None or tool.run is None:
        return [ToolCallReturned(call.id, call.name, f"There is no tool named {call.name!r}.", "unknown_tool")]
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return [ToolCallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")]
    make: Callable[[], Awaitable[list[Event]]] = partial(make_call, call, tool.run, arguments, approval, ask)
    if ask.durable and not tool.is_repeatable and await was_attempted(call, steps):
        make = return_no_events  # only used if the step has no saved result
    return await steps.do(f"tool:{call.id}", list[Event], make)


async def was_attempted(call: Call, steps: Steps) -> bool:
    """Whether an earlier execution of this run began the call."""
    mine = new_id("attempt")

    async def note() -> str:
        return mine

    return await steps.do(f"try:{call.id}", str, note) != mine


async def return_no_events() -> list[Event]:
    return []


async def make_call(
    call: Call, run: RunTool, arguments: Mapping[str, JsonValue], approval: JsonValue, ask: Ask
) -> list[Event]:
    events: list[Event] = []
    invocation = Invocation(call.id, arguments, ask, f"{ask.run_id}:{call.id}", approval, events.append)
    with trace_span("tool", call.name, call=call.id) as span:
        try:
            content = await run(invocation)
        except (Exception, asyncio.CancelledError) as error:
            returned = build_failed_result(call, error, ask)
            span.note(error=returned.error or "")
            return [*events, returned]
    return [*events, ToolCallReturned(call.id, call.name, replace_surrogates(content))]


def build_failed_result(call: Call, error: BaseException, ask: Ask) -> ToolCallReturned:
    """Return the error result that the model receives if a tool raises. A cancellation of the run is raised again."""
    if isinstance(error, RightseatError):
        return ToolCallReturned(call.id, call.name, error.message, error.code)
    if isinstance(error, asyncio.CancelledError) and is_cancelled():
        raise error
    logger.error("run %s: the tool %s failed", ask.run_id, call.name, exc_info=error)
    return ToolCallReturned(call.id, call.name, f"The tool {call.name!r} failed.", "tool_failed")


def read_arguments(text: str) -> dict[str, JsonValue] | None:
    """Parse the model's JSON object. Empty text counts as an empty object; None if the text is not a JSON object."""
    try:
        value = json.loads(text) if text.strip() else {}
        if "\\ud" in text.lower():
            value = json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
