"""One call of an MCP server's tool, as a run of its own: its progress is heard, and it may ask the person."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import mcp_types as types
import msgspec
from mcp import MCPError
from pydantic import JsonValue, TypeAdapter, ValidationError

from rightseat.core.ask import Ask
from rightseat.core.calling import SKIPPED, UNKNOWN, was_tried
from rightseat.core.cancelling import is_cancelled, to_the_end
from rightseat.core.engine import Steps
from rightseat.core.events import CallReturned, Event, Interrupt, RunFinished
from rightseat.core.ids import new_id
from rightseat.core.messages import Call
from rightseat.core.tools import Invocation, Stream
from rightseat.egress.service import forwarded
from rightseat.toolboxes.mcp.apps import shown
from rightseat.toolboxes.mcp.connecting import Connection
from rightseat.toolboxes.mcp.eliciting import (
    CONVERSATION,
    OPEN,
    Conversation,
    Question,
    Reply,
    interrupts,
    read_answers,
    read_question,
)
from rightseat.toolboxes.mcp.progress import Progress
from rightseat.toolboxes.mcp.reading import resource_of, text_of
from rightseat.toolboxes.mcp.server import Lost, Server

logger = logging.getLogger(__name__)

RESULT: TypeAdapter[Any] = TypeAdapter(types.InputRequiredResult | types.CallToolResult)
DOUBT = "outcome_unknown"


class Outcome(msgspec.Struct, frozen=True):
    """What became of a call. `unknown`: it was begun by a process that died, and may have had an effect or not."""

    content: str = ""
    error: str | None = None
    result: Any = None
    questions: tuple[Question, ...] = ()
    state: str | None = None
    unknown: bool = False


def calling(server: Server, name: str, tool: types.Tool, headers: Mapping[str, str], *, may_repeat: bool) -> Stream:
    """`headers` are those of the ask that the tool was offered for."""

    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        id = invocation.call_id
        doubt = next((one.payload for one in invocation.answers if one.memo == DOUBT), None)
        if doubt is not None and doubt != "repeat":
            yield CallReturned(id, name, SKIPPED, DOUBT)
            if doubt == "stop":
                yield RunFinished("done")
            return
        replies, state = read_answers(invocation.answers)
        progress = Progress(server.settings.name, name, id)

        async def work() -> Outcome:
            return await make(server, tool, headers, invocation.arguments, replies, state, progress, may_repeat)

        if invocation.ask.durable and not may_repeat and await was_tried(Call(id, name, ""), steps):
            work = unknown  # unless what became of it was kept
        making = asyncio.create_task(steps.do(f"{id}:mcp", Outcome, work))
        making.add_done_callback(lambda _: progress.end())
        try:
            async for event in progress:
                yield event
            outcome = await making
        finally:
            if not making.done():
                making.cancel()
                await to_the_end(asyncio.wait((making,)))
        for event in told(outcome, server, name, tool, invocation, replies):
            yield event

    return stream


async def unknown() -> Outcome:
    return Outcome(unknown=True)


def told(
    outcome: Outcome, server: Server, name: str, tool: types.Tool, invocation: Invocation, replies: tuple[Reply, ...]
) -> list[Event]:
    id = invocation.call_id
    if outcome.unknown:
        asked = f"{name} was cut off: whether it had an effect is not known. Repeat it, skip it, or stop?"
        return [RunFinished("waiting", (Interrupt(new_id("interrupt"), DOUBT, asked, id, UNKNOWN, memo=DOUBT),))]
    if outcome.questions:
        earlier = tuple(reply for reply in replies if reply.question.key is None)
        return [RunFinished("waiting", interrupts(outcome.questions, outcome.state, earlier))]
    events: list[Event] = [CallReturned(id, name, outcome.content, outcome.error)]
    if outcome.result is not None:
        events.append(shown(server.settings, tool, id, outcome.result, invocation.arguments))
    return events


async def make(
    server: Server,
    tool: types.Tool,
    headers: Mapping[str, str],
    arguments: Mapping[str, JsonValue],
    replies: tuple[Reply, ...],
    state: str | None,
    progress: Progress,
    may_repeat: bool,
) -> Outcome:
    talk = Conversation(may_repeat, tuple(reply for reply in replies if reply.question.key is None))
    keyed = {reply.question.key: reply.result() for reply in replies if reply.question.key is not None}
    request = types.CallToolRequest(
        params=types.CallToolRequestParams(
            name=tool.name, arguments=dict(arguments), input_responses=keyed or None, request_state=state
        )
    )

    async def ask(connection: Connection) -> Any:
        return await talking(connection, request, talk, progress, server.settings.timeout)

    try:
        result = await server.ask(headers, ask, repeats=may_repeat)
    except Lost:
        return Outcome(
            f"The connection to the MCP server {server.settings.name!r} broke during the call: whether it had an "
            "effect is not known. It was not made again.",
            DOUBT,
        )
    except MCPError as error:
        return failed(server, error)
    except (ValidationError, RuntimeError) as error:
        logger.warning("The MCP server %r answered a call of %s badly: %s", server.settings.name, tool.name, error)
        return Outcome(
            f"The MCP server {server.settings.name!r} gave an answer that cannot be understood.", "bad_result"
        )
    if result is None:
        return Outcome(questions=tuple(talk.asked))
    if isinstance(result, types.InputRequiredResult):
        return asked_for(server, result)
    return returned(result, server, tool, talk)


def returned(result: types.CallToolResult, server: Server, tool: types.Tool, talk: Conversation) -> Outcome:
    notes = [
        f"[The server asked the person: {one!r}. The call cannot be made twice, so it was declined.]"
        for one in talk.declined
    ]
    content = "\n".join([server.redactor.text(text_of(result)), *notes])
    error = "tool_failed" if result.is_error else None
    shows = server.settings.apps and resource_of(tool) is not None and not result.is_error
    return Outcome(content, error, as_json(result) if shows else None)


def asked_for(server: Server, result: types.InputRequiredResult) -> Outcome:
    requests = result.input_requests or {}
    if unfit := [one.method for one in requests.values() if not isinstance(one, types.ElicitRequest)]:
        return Outcome(
            f"The MCP server {server.settings.name!r} wants {', '.join(sorted(set(unfit)))} of its client, which is "
            "not to be had here.",
            "tool_failed",
        )
    questions = tuple(
        read_question(one.params, key) for key, one in requests.items() if isinstance(one, types.ElicitRequest)
    )
    if not questions:
        return Outcome(
            f"The MCP server {server.settings.name!r} has not finished, and asks for nothing.", "tool_failed"
        )
    return Outcome(questions=questions, state=result.request_state)


def failed(server: Server, error: MCPError) -> Outcome:
    name = server.settings.name
    if error.code == types.REQUEST_TIMEOUT:
        return Outcome(f"The MCP server {name!r} did not answer within {server.settings.timeout:g} s.", "timeout")
    said = server.redactor.text(error.message)
    return Outcome(f"The MCP server {name!r} answered with an error: {said}", "tool_failed")


async def talking(
    connection: Connection, request: types.CallToolRequest, talk: Conversation, progress: Progress, within: float
) -> Any:
    """The result; None if the server asked something first that only the person can answer."""
    session = connection.session
    token = CONVERSATION.set(talk)
    try:
        talk.request = asyncio.create_task(
            session.send_request(request, RESULT, request_read_timeout_seconds=within, progress_callback=progress.note)
        )
    finally:
        CONVERSATION.reset(token)
    talks = OPEN.setdefault(id(session), [])
    talks.append(talk)
    try:
        return await talk.request
    except asyncio.CancelledError:
        if is_cancelled() or not talk.asked:
            raise
        return None
    finally:
        if not talk.request.done():
            talk.request.cancel()
            await to_the_end(asyncio.wait((talk.request,)))
        talks.remove(talk)
        if not talks:
            OPEN.pop(id(session), None)


def as_json(result: types.Result) -> dict[str, Any]:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def headers_of(server: Server, ask: Ask) -> dict[str, str]:
    """Those of the ask that go along to the server."""
    return forwarded(ask.headers, server.settings.forward)
