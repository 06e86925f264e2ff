"""Decodes the run input of an AG-UI client into an ask."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from rightseat.core.ask import ANYONE, Answer, Ask, Context, NamedTool, Parameters, Principal, ToolChoice, ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.wire.agui.messages import read_messages
from rightseat.wire.agui.versions import Version, read_version

Id = Annotated[str, msgspec.Meta(min_length=1)]
ANYTHING: Mapping[str, JsonValue] = {"type": "object", "properties": {}}


class ToolInput(msgspec.Struct):
    name: Id
    description: str = ""
    parameters: Any = None


class ResumeEntry(msgspec.Struct):
    interruptId: Id
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunInput(msgspec.Struct):
    """AG-UI's `RunAgentInput`. Fields that 0.0.59 requires and 1.0 omits are optional."""

    threadId: Id
    runId: Id
    messages: list[Any]
    tools: list[ToolInput] | None = None
    context: list[Context] | None = None
    state: Any = None
    forwardedProps: Any = None
    resume: list[ResumeEntry] | None = None
    protocolVersion: str | None = None

    @property
    def version(self) -> Version:
        return read_version(self.protocolVersion)


def read_input(body: bytes | Mapping[str, Any]) -> RunInput:
    try:
        if isinstance(body, bytes):
            return msgspec.json.decode(body, type=RunInput)
        return msgspec.convert(body, RunInput)
    except JSON_ERRORS as error:
        raise BadRequest(
            f"The run input cannot be understood: {error}. It is a JSON object with `threadId`, `runId` and `messages`."
        ) from error


def read_ask(run_input: RunInput, agent: str, principal: Principal = ANYONE) -> Ask:
    """The operator sets the model's parameters; of the forwarded properties only `toolChoice` is used.

    A client without state sends an empty one with every run, which leaves the thread's state unchanged.
    """
    properties = read_properties(run_input.forwardedProps)
    return Ask(
        messages=tuple(read_messages(run_input.messages)),
        agent=agent,
        thread_id=run_input.threadId,
        principal=principal,
        tools=tuple(read_tool(tool) for tool in run_input.tools or ()),
        parameters=Parameters(tool_choice=read_tool_choice(properties.get("toolChoice"))),
        context=tuple(run_input.context or ()),
        state=run_input.state or None,
        properties=properties,
        answers=tuple(Answer(one.interruptId, one.status, one.payload) for one in run_input.resume or ()),
        client_run_id=run_input.runId,
    )


def read_tool(tool: ToolInput) -> ToolOffer:
    if tool.parameters is not None and not isinstance(tool.parameters, dict):
        raise BadRequest(f"The parameters of the tool {tool.name!r} are no object; they are a JSON Schema.")
    return ToolOffer(tool.name, tool.description, tool.parameters or ANYTHING)


def read_properties(raw: Any) -> Mapping[str, JsonValue]:
    if raw is not None and not isinstance(raw, dict):
        raise BadRequest("`forwardedProps` is no object; it holds what the application sends along, by name.")
    return raw or {}


def read_tool_choice(raw: Any) -> ToolChoice | None:
    match raw:
        case None | "auto" | "none" | "required":
            return raw
        case {"type": "function", "function": {"name": str(name)}}:
            return NamedTool(name)
    raise BadRequest(
        "`forwardedProps.toolChoice` is one of 'auto', 'none', 'required', or {type: 'function', function: {name}}."
    )
