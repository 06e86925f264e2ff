"""What a client sends → an ask."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from rightseat.core.ask import ANYONE, Answer, Ask, Context, Named, Parameters, Principal, ToolChoice, ToolOffer
from rightseat.core.errors import BadAsk
from rightseat.core.values import JSON_ERRORS, JsonValue
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
    """AG-UI's `RunAgentInput`, with what 0.0.59 demands and 1.0 lets out as optional."""

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
        raise BadAsk(
            f"The run input cannot be understood: {error}. It is a JSON object with `threadId`, `runId` and `messages`."
        ) from error


def read_ask(given: RunInput, agent: str, principal: Principal = ANYONE) -> Ask:
    """What the model is asked with is for the operator to say: of the forwarded properties only `toolChoice` is taken.

    A client that has no state sends an empty one with every run: that leaves the thread's state as it is.
    """
    properties = read_properties(given.forwardedProps)
    return Ask(
        messages=tuple(read_messages(given.messages)),
        agent=agent,
        thread_id=given.threadId,
        principal=principal,
        tools=tuple(read_tool(tool) for tool in given.tools or ()),
        parameters=Parameters(tool_choice=read_tool_choice(properties.get("toolChoice"))),
        context=tuple(given.context or ()),
        state=given.state or None,
        properties=properties,
        answers=tuple(Answer(one.interruptId, one.status, one.payload) for one in given.resume or ()),
        client_run_id=given.runId,
    )


def read_tool(tool: ToolInput) -> ToolOffer:
    if tool.parameters is not None and not isinstance(tool.parameters, dict):
        raise BadAsk(f"The parameters of the tool {tool.name!r} are no object; they are a JSON Schema.")
    return ToolOffer(tool.name, tool.description, tool.parameters or ANYTHING)


def read_properties(given: Any) -> Mapping[str, JsonValue]:
    if given is not None and not isinstance(given, dict):
        raise BadAsk("`forwardedProps` is no object; it holds what the application sends along, by name.")
    return given or {}


def read_tool_choice(given: Any) -> ToolChoice | None:
    match given:
        case None | "auto" | "none" | "required":
            return given
        case {"type": "function", "function": {"name": str(name)}}:
            return Named(name)
    raise BadAsk(
        "`forwardedProps.toolChoice` is one of 'auto', 'none', 'required', or {type: 'function', function: {name}}."
    )
