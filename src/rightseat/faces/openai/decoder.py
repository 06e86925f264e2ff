"""Decodes and validates a chat completion request into an `Ask`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rightseat.core.ask import Ask, NamedTool, Parameters, Principal, ToolChoice, ToolOffer
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces._shared.responses import describe_decode_error, repair_surrogates
from rightseat.faces.openai import fields
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.messages import RequestMessage, read_messages

NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
NOTHING: Mapping[str, JsonValue] = {"type": "object", "properties": {}}
"""The parameters of a function without any."""


class RequestFunction(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class RequestTool(msgspec.Struct):
    type: str = "function"
    function: RequestFunction | None = None


class FunctionName(msgspec.Struct):
    name: str


class RequestToolChoice(msgspec.Struct):
    type: str
    function: FunctionName | None = None


class ResponseSchema(msgspec.Struct):
    name: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class ResponseFormat(msgspec.Struct):
    type: str
    json_schema: ResponseSchema | None = None


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


Unit = Annotated[float, Meta(ge=0, le=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Count = Annotated[int, Meta(ge=1)]
CacheKey = Annotated[str, Meta(max_length=512)]


class ChatBody(msgspec.Struct):
    messages: list[RequestMessage]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[RequestTool] | None = None
    tool_choice: str | RequestToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Unit | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    n: int | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    prompt_cache_key: CacheKey | None = None


KNOWN = frozenset(msgspec.structs.asdict(ChatBody([])))
_decode = msgspec.json.Decoder(ChatBody).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(slots=True)
class ChatRequest:
    """The body, and what the face itself needs. `warnings` name ignored fields.

    `model` is the agent or model that runs, which need not be the one of the body; `fingerprint` is that of its
    configuration. `shows_reasoning`: reasoning is part of the content.
    """

    body: ChatBody
    warnings: list[str] = field(default_factory=list)
    model: str = ""
    fingerprint: str = ""
    shows_reasoning: bool = False

    @property
    def wants_usage(self) -> bool:
        options = self.body.stream_options
        return options is not None and bool(options.include_usage)


def decode(body: bytes) -> ChatRequest:
    """Raises `InvalidRequest`."""
    body = repair_surrogates(body)
    try:
        given = _decode_fields(body)
        warnings = list(fields.check(given, KNOWN))
        request = ChatRequest(_decode(body), warnings)
    except JSON_ERRORS as error:
        raise explain_decode_error(error) from error
    fields.check_count(request.body.n)
    return request


def explain_decode_error(error: Exception) -> InvalidRequest:
    return InvalidRequest(*describe_decode_error(error))


def read_ask(request: ChatRequest, principal: Principal, headers: Mapping[str, str], *, is_model: bool) -> Ask:
    """A model without an agent responds once: only the client can run its tools."""
    body = request.body
    tools = read_tools(body.tools or ())
    sent: dict[str, JsonValue] = {"user": body.user, "metadata": body.metadata}
    return Ask(
        messages=read_messages(body.messages, request.warnings),
        agent=request.model,
        principal=principal,
        tools=tools,
        parameters=read_parameters(body, tools),
        properties={name: value for name, value in sent.items() if value is not None},
        headers=headers,
        face="openai",
        max_turns=1 if is_model else None,
        transient=True,
    )


def read_tools(given: Sequence[RequestTool]) -> tuple[ToolOffer, ...]:
    tools: dict[str, ToolOffer] = {}
    for number, tool in enumerate(given):
        where = f"tools[{number}]"
        if tool.type != "function" or tool.function is None:
            text = f"{where}: tools of type {tool.type[:100]!r} are not supported; send a `function`."
            raise InvalidRequest(text, where)
        function = tool.function
        if not NAME.fullmatch(function.name):
            text = (
                f"{where}.function.name is {function.name[:140]!r}; it must be 1 to 128 letters, digits or any of _.:-"
            )
            raise InvalidRequest(text, f"{where}.function.name")
        if function.name in tools:
            raise InvalidRequest(f"Two tools are named {function.name!r}. Tool names must be unique.", where)
        parameters = NOTHING if function.parameters is None else function.parameters
        tools[function.name] = ToolOffer(function.name, function.description or "", parameters, function.strict)
    return tuple(tools.values())


def read_parameters(body: ChatBody, tools: Sequence[ToolOffer]) -> Parameters:
    schema, strict = read_format(body.response_format)
    if body.stop is not None and "" in (body.stop if isinstance(body.stop, list) else [body.stop]):
        raise InvalidRequest("`stop` contains an empty string, which would stop every response at once.", "stop")
    if body.top_logprobs is not None and not body.logprobs:
        raise InvalidRequest("`top_logprobs` needs `logprobs: true`.", "top_logprobs")
    return Parameters(
        cache_key=body.prompt_cache_key or None,
        temperature=body.temperature,
        max_tokens=body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens,
        stop=(body.stop,) if isinstance(body.stop, str) else tuple(body.stop) if body.stop else None,
        tool_choice=read_choice(body.tool_choice, [tool.name for tool in tools]),
        parallel_calls=body.parallel_tool_calls,
        response_schema=schema,
        response_strict=strict,
        top_p=body.top_p,
        seed=body.seed,
        presence_penalty=body.presence_penalty,
        frequency_penalty=body.frequency_penalty,
        logprobs=(body.top_logprobs or 0) if body.logprobs else None,
    )


def read_choice(choice: str | RequestToolChoice | None, names: Sequence[str]) -> ToolChoice | None:
    match choice:
        case None | "auto" | "none":
            return choice
        case "required":
            if not names:
                raise InvalidRequest("`tool_choice` is 'required', and there are no `tools`.", "tool_choice")
            return "required"
        case RequestToolChoice(type="function", function=FunctionName(name=name)):
            if name not in names:
                listed = ", ".join(names) or "none"
                text = f"`tool_choice` names {name[:140]!r}, which is not in `tools`. There: {listed}."
                raise InvalidRequest(text, "tool_choice")
            return NamedTool(name)
    known = "'auto', 'required', 'none' or {'type': 'function', 'function': {'name': …}}"
    chosen = choice if isinstance(choice, str) else choice.type
    raise InvalidRequest(f"`tool_choice` is {chosen[:100]!r}; it must be {known}.", "tool_choice")


def read_format(given: ResponseFormat | None) -> tuple[Mapping[str, JsonValue] | None, bool | None]:
    """The schema of the response, and whether it is strict."""
    match given:
        case None | ResponseFormat(type="text"):
            return None, None
        case ResponseFormat(type="json_object"):
            return {"type": "object"}, None
        case ResponseFormat(type="json_schema", json_schema=ResponseSchema(schema=schema, strict=strict)) if (
            schema is not None
        ):
            return schema, strict
        case ResponseFormat(type="json_schema"):
            raise InvalidRequest("`response_format.json_schema.schema` is missing.", "response_format")
    raise InvalidRequest(
        f"`response_format.type` is {given.type[:100]!r}; it must be 'text', 'json_object' or 'json_schema'.",
        "response_format",
    )
