"""Handles the MCP requests `tools/list` and `tools/call`."""

import json
import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rightseat.access.route_auth import RouteAuth
from rightseat.concurrency import aclosing
from rightseat.core.agent import Agent, ExposesTools
from rightseat.core.approvals import APPROVAL, explain_permission, record_decisions
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import InternalError, LimitExceeded, RightseatError
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, StepStarted, ToolCallReturned
from rightseat.core.ids import new_id
from rightseat.core.messages import Call
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Tool
from rightseat.faces.mcp.agent_tools import AgentAnswer, AgentTools, write_answer
from rightseat.faces.mcp.pending_calls import PendingCall, PendingCalls, read_answers, write_elicitations
from rightseat.faces.mcp.tool_calls import SingleCallAgent

logger = logging.getLogger(__name__)

PRINCIPAL = "rightseat.principal"
McpContext = ServerRequestContext[Any, Any]


class McpHandlers:
    def __init__(
        self,
        runtime: Runtime,
        agents: tuple[str, ...] | None,
        tools: tuple[str, ...] | None,
        headers: tuple[str, ...],
        auth: RouteAuth,
        agents_as_tools: Sequence[str] = (),
    ) -> None:
        self._runtime = runtime
        self._agent_tools = AgentTools(runtime, agents_as_tools, auth)
        self._agents = agents
        self._names = tools
        self._headers = headers
        self._auth = auth
        self._pending = PendingCalls(runtime.artifacts)

    def server(self) -> Server:
        return Server(
            "rightseat",
            version=version("rightseat"),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            get_tool_input_schema=lambda name: {},  # no argument is read from a header
        )

    async def list_tools(
        self, context: McpContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Tools of unreachable servers are listed as missing in `_meta`."""
        found, missing = await self._tools(context)
        listed = self._agent_tools.list_tools(self._principal(context))
        asked = {tool.name for tool in listed}  # an agent that the operator offers by name comes first
        listed += [write_tool(tool) for _, tool in found.values() if tool.name not in asked]
        result = types.ListToolsResult(tools=listed, ttl_ms=0, cache_scope="private")
        return result.model_copy(update={"meta": {"rightseat/missing": missing}}) if missing else result

    async def call_tool(
        self, context: McpContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            if agent := self._agent_tools.find(params.name, self._principal(context)):
                return await self._ask_agent(context, params, agent)
            return await self._call_tool(context, params)
        except LimitExceeded as error:
            meta = {"rightseat/code": error.code, "rightseat/retry_after": error.retry_after}
            return write_result(error.message, is_error=True).model_copy(update={"meta": meta})
        except RightseatError as error:
            return write_result(error.message, is_error=True)
        except MCPError:
            raise
        except Exception:
            id = new_id("request")
            logger.exception("%s: the tool %s failed", id, params.name)
            return write_result(InternalError(id).message, is_error=True)

    async def _call_tool(
        self, context: McpContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        found, _ = await self._tools(context)
        if params.name not in found:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool named {params.name!r}.")
        agent, tool = found[params.name]
        pending = await self._take_pending(context, params)
        call, replies = read_call(params, pending)
        returned, interrupts = await self._run_tool(context, agent, tool, call, replies)
        if not interrupts:
            content = returned.content if returned else "The tool returned no result."
            return write_result(content, is_error=returned is None or returned.error is not None)
        if not supports_elicitation(context):
            return write_result(refusal(tool.name, interrupts), is_error=True)
        state = await self._pending.add(self._ask(context, agent), call, interrupts)
        return types.InputRequiredResult(input_requests=write_elicitations(interrupts), request_state=state)

    async def _ask_agent(
        self, context: McpContext, params: types.CallToolRequestParams, agent: str
    ) -> types.CallToolResult | types.InputRequiredResult:
        pending = await self._take_pending(context, params)
        call, replies = read_call(params, pending)
        ask = self._ask(context, agent)
        answer = await self._agent_tools.answer(
            context, ask, params.arguments or {}, replies, pending.thread_id if pending else ""
        )
        if not answer.interrupts:
            return write_answer(answer)
        if not supports_elicitation(context):
            return write_result(explain_waiting(params.name, answer), is_error=True)
        state = await self._pending.add(ask, call, answer.interrupts, answer.thread_id)
        return types.InputRequiredResult(input_requests=write_elicitations(answer.interrupts), request_state=state)

    async def _run_tool(
        self, context: McpContext, agent: str, tool: Tool, call: Call, replies: tuple[Answer, ...]
    ) -> tuple[ToolCallReturned | None, list[Interrupt]]:
        """The result, and the interrupts that a person has to answer first."""
        ask = self._ask(context, agent, replies)
        continues = call.id if replies else ""  # the call waits for a person, and is taken once
        slot = await self._runtime.admission.admit(
            ask, continues=continues
        )  # the call is not a run, so no other code does it
        slot.activate()
        try:
            return await self._run_admitted(context, ask, tool, call)
        finally:
            await slot.close()

    async def _run_admitted(
        self, context: McpContext, ask: Ask, tool: Tool, call: Call
    ) -> tuple[ToolCallReturned | None, list[Interrupt]]:
        record_decisions(ask)  # the call is not a run, so no other code does it
        agent_run: Agent = self._runtime.guard_agent(SingleCallAgent(call, tool))
        returned: ToolCallReturned | None = None
        interrupts: list[Interrupt] = []
        reported = 0
        async with aclosing(agent_run.run(ask, DirectSteps())) as events:
            async for event in events:
                if type(event) is ToolCallReturned and event.call_id == call.id:
                    returned = event
                elif type(event) is RunFinished:
                    interrupts += event.interrupts
                elif (update := read_progress(event, reported)) is not None:
                    reported += 1
                    await context.session.report_progress(*update)
        return returned, interrupts

    async def _tools(self, context: McpContext) -> tuple[dict[str, tuple[str, Tool]], list[str]]:
        """Tools by name, each with its agent; the first of equal names wins."""
        principal, known = self._principal(context), self._runtime.agents
        found: dict[str, tuple[str, Tool]] = {}
        missing: list[str] = []
        for name in known if self._agents is None else self._agents:
            agent = known.get(name)
            if not isinstance(agent, ExposesTools) or not self._auth.may_use(principal, name):
                continue
            tools, problems = await agent.tools(self._ask(context, name))
            missing += [problem for problem in problems if problem not in missing]
            for tool in tools.values():
                if tool.runs_on_server and (self._names is None or tool.name in self._names):
                    found.setdefault(tool.name, (name, tool))
        return found, missing

    async def _take_pending(self, context: McpContext, params: types.CallToolRequestParams) -> PendingCall | None:
        if params.request_state is None:
            return None
        pending = await self._pending.take(params.request_state, self._principal(context))
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
            raise MCPError(types.INVALID_PARAMS, "The state of this call is unknown. Call the tool again without it.")
        return pending

    def _ask(self, context: McpContext, agent: str, replies: tuple[Answer, ...] = ()) -> Ask:
        given: Mapping[str, str] = {} if context.request is None else context.request.headers
        headers = {name: value for name in self._headers if (value := given.get(name)) is not None}
        return Ask(
            messages=(),
            agent=agent,
            principal=self._principal(context),
            headers=headers,
            answers=replies,
            transient=True,
            interactive=supports_elicitation(context),
        )

    def _principal(self, context: McpContext) -> Principal:
        request: Any = context.request  # a starlette request; only stdio has none
        principal: Principal = request.scope[PRINCIPAL]
        return principal


def supports_elicitation(context: McpContext) -> bool:
    """Whether the client supports elicitation without a session."""
    offered = context.session.client_capabilities
    return (
        context.protocol_version in MODERN_PROTOCOL_VERSIONS and offered is not None and offered.elicitation is not None
    )


def read_call(params: types.CallToolRequestParams, pending: PendingCall | None) -> tuple[Call, tuple[Answer, ...]]:
    """The call, and what people have answered if it has waited for them."""
    if pending is None:
        return Call(new_id("call"), params.name, json.dumps(params.arguments or {})), ()
    return pending.call, read_answers(pending, params.input_responses or {})


def explain_waiting(tool: str, answer: AgentAnswer) -> str:
    questions = " ".join(one.message for one in answer.interrupts)
    return (
        f"{tool} waits for a person to answer ({questions}), and this client does not support elicitation of MCP "
        f"2026-07-28. Answer in another client of this server, such as the console, in the thread "
        f"{answer.thread_id}; then call {tool} again with this thread_id."
    )


def refusal(tool: str, interrupts: Sequence[Interrupt]) -> str:
    questions = " ".join(one.message for one in interrupts)
    is_approval = all(one.reason == APPROVAL for one in interrupts)
    return (
        f"{tool} was not run: a person has to answer first ({questions}), and this client does not support "
        f"elicitation of MCP 2026-07-28.{f' {explain_permission([tool])}' if is_approval else ''}"
    )


def read_progress(event: Event, reported: int) -> tuple[float, float | None, str | None] | None:
    match event:
        case Custom(name="mcp.progress", value=dict(value)):
            made, total, message = (value.get(name) for name in ("progress", "total", "message"))
            return (
                float(made) if isinstance(made, int | float) else float(reported),
                float(total) if isinstance(total, int | float) else None,
                message if isinstance(message, str) else None,
            )
        case StepStarted(name=name):
            return float(reported), None, name
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
