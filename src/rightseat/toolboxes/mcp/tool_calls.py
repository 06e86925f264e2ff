"""Calls a tool of an MCP server, with progress events and questions to the user."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import mcp_types as types
import msgspec
from mcp import MCPError
from pydantic import JsonValue, TypeAdapter, ValidationError

from rightseat.concurrency import is_cancelled, run_to_completion
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event, Interrupt, RunFinished, ToolCallReturned
from rightseat.core.ids import new_id
from rightseat.core.loop.tool_calls import SKIPPED, UNKNOWN_OUTCOME_SCHEMA, was_attempted
from rightseat.core.messages import Call
from rightseat.core.tools import Invocation, StreamTool
from rightseat.egress.service import select_headers
from rightseat.toolboxes.mcp.apps import app_event
from rightseat.toolboxes.mcp.connection import Connection
from rightseat.toolboxes.mcp.elicitation import (
    CURRENT_ELICITATION,
    ELICITATIONS_BY_SESSION,
    CallElicitation,
    ElicitationQuestion,
    ElicitationReply,
    make_interrupts,
    read_answers,
    read_question,
)
from rightseat.toolboxes.mcp.progress import ProgressStream
from rightseat.toolboxes.mcp.results import resource_of, text_of
from rightseat.toolboxes.mcp.server import McpServer, SessionLost

logger = logging.getLogger(__name__)

RESULT: TypeAdapter[Any] = TypeAdapter(types.InputRequiredResult | types.CallToolResult)
OUTCOME_UNKNOWN = "outcome_unknown"


class CallOutcome(msgspec.Struct, frozen=True):
    """The outcome of a call. `unknown_outcome`: the process died during the call, which may have taken effect."""

    content: str = ""
    error: str | None = None
    result: Any = None
    questions: tuple[ElicitationQuestion, ...] = ()
    state: str | None = None
    unknown_outcome: bool = False


def call_stream(
    server: McpServer, name: str, tool: types.Tool, headers: Mapping[str, str], *, may_repeat: bool
) -> StreamTool:
    """`headers` are those of the ask for which the tool was listed."""

    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        id = invocation.call_id
        decision = next((one.payload for one in invocation.answers if one.memo == OUTCOME_UNKNOWN), None)
        if decision is not None and decision != "repeat":
            yield ToolCallReturned(id, name, SKIPPED, OUTCOME_UNKNOWN)
            if decision == "stop":
                yield RunFinished("done")
            return
        replies, state = read_answers(invocation.answers)
        progress = ProgressStream(server.options.name, name, id)

        async def work() -> CallOutcome:
            return await call_tool(server, tool, headers, invocation.arguments, replies, state, progress, may_repeat)

        if invocation.ask.durable and not may_repeat and await was_attempted(Call(id, name, ""), steps):
            work = unknown_outcome  # unless its outcome was stored
        task = asyncio.create_task(steps.do(f"{id}:mcp", CallOutcome, work))
        task.add_done_callback(lambda _: progress.end())
        try:
            async for event in progress:
                yield event
            outcome = await task
        finally:
            if not task.done():
                task.cancel()
                await run_to_completion(asyncio.wait((task,)))
        for event in outcome_events(outcome, server, name, tool, invocation, replies):
            yield event

    return stream


async def unknown_outcome() -> CallOutcome:
    return CallOutcome(unknown_outcome=True)


def outcome_events(
    outcome: CallOutcome,
    server: McpServer,
    name: str,
    tool: types.Tool,
    invocation: Invocation,
    replies: tuple[ElicitationReply, ...],
) -> list[Event]:
    id = invocation.call_id
    if outcome.unknown_outcome:
        questions = f"{name} was interrupted, and it is unknown whether it took effect. Repeat it, skip it, or stop?"
        return [
            RunFinished(
                "waiting",
                (
                    Interrupt(
                        new_id("interrupt"),
                        OUTCOME_UNKNOWN,
                        questions,
                        id,
                        UNKNOWN_OUTCOME_SCHEMA,
                        memo=OUTCOME_UNKNOWN,
                    ),
                ),
            )
        ]
    if outcome.questions:
        earlier = tuple(reply for reply in replies if reply.question.key is None)
        return [RunFinished("waiting", make_interrupts(outcome.questions, outcome.state, earlier))]
    events: list[Event] = [ToolCallReturned(id, name, outcome.content, outcome.error)]
    if outcome.result is not None:
        events.append(app_event(server.options, tool, id, outcome.result, invocation.arguments))
    return events


async def call_tool(
    server: McpServer,
    tool: types.Tool,
    headers: Mapping[str, str],
    arguments: Mapping[str, JsonValue],
    replies: tuple[ElicitationReply, ...],
    state: str | None,
    progress: ProgressStream,
    may_repeat: bool,
) -> CallOutcome:
    elicitation = CallElicitation(may_repeat, tuple(reply for reply in replies if reply.question.key is None))
    replies_by_key = {reply.question.key: reply.result() for reply in replies if reply.question.key is not None}
    request = types.CallToolRequest(
        params=types.CallToolRequestParams(
            name=tool.name, arguments=dict(arguments), input_responses=replies_by_key or None, request_state=state
        )
    )

    async def ask(connection: Connection) -> Any:
        return await send_call(connection, request, elicitation, progress, server.options.timeout)

    try:
        result = await server.request(headers, ask, may_repeat=may_repeat)
    except SessionLost:
        return CallOutcome(
            f"The connection to the MCP server {server.options.name!r} was lost during the call, and it is unknown "
            "whether it took effect. The call was not repeated.",
            OUTCOME_UNKNOWN,
        )
    except MCPError as error:
        return describe_failure(server, error)
    except (ValidationError, RuntimeError) as error:
        logger.warning("The MCP server %r returned an invalid result for %s: %s", server.options.name, tool.name, error)
        return CallOutcome(f"The MCP server {server.options.name!r} returned an invalid result.", "bad_result")
    if result is None:
        return CallOutcome(questions=tuple(elicitation.questions))
    if isinstance(result, types.InputRequiredResult):
        return read_input_request(server, result)
    return read_result(result, server, tool, elicitation)


def read_result(
    result: types.CallToolResult, server: McpServer, tool: types.Tool, elicitation: CallElicitation
) -> CallOutcome:
    notes = [
        f"[The server asked the user: {one!r}. The call cannot be repeated, so the question was declined.]"
        for one in elicitation.declined
    ]
    content = "\n".join([server.redactor.redact_text(text_of(result)), *notes])
    error = "tool_failed" if result.is_error else None
    shows = server.options.apps and resource_of(tool) is not None and not result.is_error
    return CallOutcome(content, error, as_json(result) if shows else None)


def read_input_request(server: McpServer, result: types.InputRequiredResult) -> CallOutcome:
    requests = result.input_requests or {}
    if unsupported := [one.method for one in requests.values() if not isinstance(one, types.ElicitRequest)]:
        return CallOutcome(
            f"The MCP server {server.options.name!r} requests {', '.join(sorted(set(unsupported)))} from its client, "
            "which is not supported.",
            "tool_failed",
        )
    questions = tuple(
        read_question(one.params, key) for key, one in requests.items() if isinstance(one, types.ElicitRequest)
    )
    if not questions:
        return CallOutcome(f"The MCP server {server.options.name!r} requires input, but requests none.", "tool_failed")
    return CallOutcome(questions=questions, state=result.request_state)


def describe_failure(server: McpServer, error: MCPError) -> CallOutcome:
    name = server.options.name
    if error.code == types.REQUEST_TIMEOUT:
        return CallOutcome(f"The MCP server {name!r} did not respond within {server.options.timeout:g} s.", "timeout")
    message = server.redactor.redact_text(error.message)
    return CallOutcome(f"The MCP server {name!r} returned an error: {message}", "tool_failed")


async def send_call(
    connection: Connection,
    request: types.CallToolRequest,
    elicitation: CallElicitation,
    progress: ProgressStream,
    timeout_s: float,
) -> Any:
    """The result; None if the server asked a question that only the user can answer."""
    session = connection.session
    token = CURRENT_ELICITATION.set(elicitation)
    try:
        elicitation.request = asyncio.create_task(
            session.send_request(
                request, RESULT, request_read_timeout_seconds=timeout_s, progress_callback=progress.report
            )
        )
    finally:
        CURRENT_ELICITATION.reset(token)
    elicitations = ELICITATIONS_BY_SESSION.setdefault(id(session), [])
    elicitations.append(elicitation)
    try:
        return await elicitation.request
    except asyncio.CancelledError:
        if is_cancelled() or not elicitation.questions:
            raise
        return None
    finally:
        if not elicitation.request.done():
            elicitation.request.cancel()
            await run_to_completion(asyncio.wait((elicitation.request,)))
        elicitations.remove(elicitation)
        if not elicitations:
            ELICITATIONS_BY_SESSION.pop(id(session), None)


def as_json(result: types.Result) -> dict[str, Any]:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def headers_of(server: McpServer, ask: Ask) -> dict[str, str]:
    """Headers of the ask that are forwarded to the server."""
    return select_headers(ask.headers, server.options.forward)
