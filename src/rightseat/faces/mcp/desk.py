"""What an MCP client asks for: which tools there are, and what one of them gives."""

import json
import logging
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rightseat.access.door import Door
from rightseat.core.agent import Agent, Equipped
from rightseat.core.approvals import record_decisions
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.closing import closing
from rightseat.core.errors import InternalError, LimitExceeded, RightseatError
from rightseat.core.events import CallReturned, Custom, Event, Interrupt, RunFinished, StepStarted
from rightseat.core.ids import new_id
from rightseat.core.messages import Call
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Tool
from rightseat.faces.mcp.calling import OneCall, once
from rightseat.faces.mcp.waiting import Pending, Waiting, answers, requests

logger = logging.getLogger(__name__)

PRINCIPAL = "rightseat.principal"
Context = ServerRequestContext[Any, Any]


class Desk:
    def __init__(
        self,
        runtime: Runtime,
        agents: tuple[str, ...] | None,
        tools: tuple[str, ...] | None,
        headers: tuple[str, ...],
        door: Door,
    ) -> None:
        self._runtime = runtime
        self._agents = agents
        self._names = tools
        self._headers = headers
        self._door = door
        self._waiting = Waiting(runtime.artifacts)

    def server(self) -> Server:
        return Server(
            "rightseat",
            version=version("rightseat"),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            get_tool_input_schema=lambda name: {},  # no argument is wanted in a header
        )

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """What is missing because a server that it comes from is away is told in `_meta`."""
        found, missing = await self._tools(context)
        listed = [write_tool(tool) for _, tool in found.values()]
        result = types.ListToolsResult(tools=listed, ttl_ms=0, cache_scope="private")
        return result.model_copy(update={"meta": {"rightseat/missing": missing}}) if missing else result

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        found, _ = await self._tools(context)
        if params.name not in found:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool named {params.name!r}.")
        agent, tool = found[params.name]
        pending = await self._resumed(context, params)
        call = pending.call if pending else Call(new_id("call"), tool.name, json.dumps(params.arguments or {}))
        replies = answers(pending, params.input_responses or {}) if pending else ()
        try:
            returned, asked = await self._make(context, agent, tool, call, replies)
        except LimitExceeded as error:
            meta = {"rightseat/code": error.code, "rightseat/retry_after": error.retry_after}
            return write_result(error.message, is_error=True).model_copy(update={"meta": meta})
        except RightseatError as error:
            return write_result(error.message, is_error=True)
        except Exception:
            id = new_id("request")
            logger.exception("%s: the tool %s failed", id, tool.name)
            return write_result(InternalError(id).message, is_error=True)
        if not asked:
            content = returned.content if returned else "The tool ended without a result."
            return write_result(content, is_error=returned is None or returned.error is not None)
        if not can_ask(context):
            return write_result(refusal(tool, asked), is_error=True)
        state = await self._waiting.keep(self._ask(context, agent), call, asked)
        return types.InputRequiredResult(input_requests=requests(asked), request_state=state)

    async def _make(
        self, context: Context, agent: str, tool: Tool, call: Call, replies: tuple[Answer, ...]
    ) -> tuple[CallReturned | None, list[Interrupt]]:
        """Its result, and what a person has to answer first."""
        ask = self._ask(context, agent, replies)
        slot = await self._runtime.admission.admit(ask)  # the call is no run, so nothing else does
        try:
            return await self._make_admitted(context, ask, tool, call)
        finally:
            slot.release()

    async def _make_admitted(
        self, context: Context, ask: Ask, tool: Tool, call: Call
    ) -> tuple[CallReturned | None, list[Interrupt]]:
        record_decisions(ask)  # the call is no run, so nothing else does
        maker: Agent = self._runtime.guarded(OneCall(call, tool))
        returned: CallReturned | None = None
        asked: list[Interrupt] = []
        said = 0
        async with closing(maker.run(ask, once)) as events:
            async for event in events:
                if type(event) is CallReturned and event.call_id == call.id:
                    returned = event
                elif type(event) is RunFinished:
                    asked += event.interrupts
                elif (told := progress(event, said)) is not None:
                    said += 1
                    await context.session.report_progress(*told)
        return returned, asked

    async def _tools(self, context: Context) -> tuple[dict[str, tuple[str, Tool]], list[str]]:
        """By name, with the agent whose they are: of two with one name the first is offered."""
        principal, known = self._principal(context), self._runtime.agents
        found: dict[str, tuple[str, Tool]] = {}
        missing: list[str] = []
        for name in known if self._agents is None else self._agents:
            agent = known.get(name)
            if not isinstance(agent, Equipped) or not self._door.may(principal, name):
                continue
            tools, problems = await agent.tools(self._ask(context, name))
            missing += [problem for problem in problems if problem not in missing]
            for tool in tools.values():
                if tool.is_ours and (self._names is None or tool.name in self._names):
                    found.setdefault(tool.name, (name, tool))
        return found, missing

    async def _resumed(self, context: Context, params: types.CallToolRequestParams) -> Pending | None:
        if params.request_state is None:
            return None
        pending = await self._waiting.take(params.request_state, self._principal(context))
        is_same = pending is not None and (
            pending.principal,
            pending.call.name,
            json.loads(pending.call.arguments),
        ) == (
            self._principal(context).id,
            params.name,
            params.arguments or {},
        )
        if not is_same:
            raise MCPError(types.INVALID_PARAMS, "The state of this call is not known here. Call again without it.")
        return pending

    def _ask(self, context: Context, agent: str, replies: tuple[Answer, ...] = ()) -> Ask:
        given: Mapping[str, str] = {} if context.request is None else context.request.headers
        headers = {name: value for name in self._headers if (value := given.get(name)) is not None}
        return Ask(
            messages=(),
            agent=agent,
            principal=self._principal(context),
            headers=headers,
            answers=replies,
            transient=True,
            attended=can_ask(context),
        )

    def _principal(self, context: Context) -> Principal:
        request: Any = context.request  # a starlette request: only over pipes there is none
        principal: Principal = request.scope[PRINCIPAL]
        return principal


def can_ask(context: Context) -> bool:
    """Can the client ask its person, in the way that needs no session?"""
    offered = context.session.client_capabilities
    return (
        context.protocol_version in MODERN_PROTOCOL_VERSIONS and offered is not None and offered.elicitation is not None
    )


def refusal(tool: Tool, asked: list[Interrupt]) -> str:
    questions = " ".join(one.message for one in asked)
    return (
        f"{tool.name} was not run: a person has to answer first ({questions}), and this client does not offer "
        "elicitation of MCP 2026-07-28, by which they could be asked."
    )


def progress(event: Event, said: int) -> tuple[float, float | None, str | None] | None:
    match event:
        case Custom(name="mcp.progress", value=dict(value)):
            made, total, message = (value.get(name) for name in ("progress", "total", "message"))
            return (
                float(made) if isinstance(made, int | float) else float(said),
                float(total) if isinstance(total, int | float) else None,
                message if isinstance(message, str) else None,
            )
        case StepStarted(name=name):
            return float(said), None, name
    return None


def write_tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema={"type": "object", **tool.parameters},
        annotations=types.ToolAnnotations(read_only_hint=not tool.writes, idempotent_hint=tool.is_repeatable),
    )


def write_result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
