"""Decodes and validates the body of `POST /responses`.

Fields that only concern OpenAI's own service are ignored. A field that would change the response is never ignored
without a warning.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from rightseat.core.ask import Effort, Parameters, ToolOffer
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces.openai.decoder import explain_decode_error
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.request_tools import RequestedTools, read_response_tools

SEALED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"

REFUSED = {
    "max_tool_calls": "`max_tool_calls` is not supported: set `max_turns` for the agent.",
    "prompt": "`prompt` is not supported: this server has no prompt templates. Send `instructions` and `input`.",
}

IGNORED = frozenset(
    {
        "access_programs",
        "client_metadata",
        "context_management",
        "moderation",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "stream_options",
        "user",
    }
)
"""The response is the same without these. `user` is passed to hooks and tools."""

EFFORTS: Mapping[str, Effort | None] = {
    "none": None,
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
}

Short = Annotated[str, Meta(max_length=512)]
Metadata = Annotated[dict[Annotated[str, Meta(max_length=64)], Short], Meta(max_length=16)]


class ResponseTextFormat(msgspec.Struct):
    type: str = "text"
    name: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None
    description: str | None = None


class TextOptions(msgspec.Struct):
    format: ResponseTextFormat | None = None
    verbosity: str | None = None


class ReasoningOptions(msgspec.Struct):
    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None


class ConversationId(msgspec.Struct):
    id: str


class ResponsesBody(msgspec.Struct):
    model: str | None = None
    input: str | list[msgspec.Raw] | None = None
    instructions: str | None = None
    stream: bool | None = None
    store: bool | None = None
    background: bool | None = None
    previous_response_id: str | None = None
    conversation: str | ConversationId | None = None
    tools: list[msgspec.Raw] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    include: list[str] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    metadata: Metadata | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None
    prompt_cache_key: Annotated[str, Meta(max_length=512)] | None = None


KNOWN = frozenset(ResponsesBody.__struct_fields__)
_decode = msgspec.json.Decoder(ResponsesBody).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(slots=True)
class ResponsesRequest:
    """A valid body with its tools. `warnings` name what was ignored; `model` is the agent or model that runs."""

    body: ResponsesBody
    tools: RequestedTools
    warnings: list[str] = field(default_factory=list)
    model: str = ""

    @property
    def is_stored(self) -> bool:
        return self.body.store is not False

    @property
    def conversation(self) -> str | None:
        given = self.body.conversation
        return given.id if isinstance(given, ConversationId) else given

    def includes(self, name: str) -> bool:
        return name in (self.body.include or ())

    @property
    def offers(self) -> tuple[ToolOffer, ...]:
        return self.tools.offers


def decode_request(body: bytes) -> ResponsesRequest:
    """Raises `InvalidRequest`."""
    try:
        warnings = check_fields(_decode_fields(body))
        decoded = _decode(body)
    except JSON_ERRORS as error:
        raise explain_decode_error(error) from error
    check_combinations(decoded)
    effort = decoded.reasoning.effort if decoded.reasoning else None
    if effort is not None and effort not in EFFORTS:
        warnings.append(f"`reasoning.effort` {effort[:100]!r} is not known and was ignored.")
    tools = read_response_tools(decoded.tools or (), decoded.tool_choice, warnings)
    return ResponsesRequest(decoded, tools, warnings)


def check_fields(given: Mapping[str, msgspec.Raw]) -> list[str]:
    warnings: list[str] = []
    for name, value in given.items():
        if bytes(value) == b"null" or name in KNOWN or name in IGNORED:
            continue
        if name in REFUSED:
            raise InvalidRequest(REFUSED[name], name, "unsupported_parameter")
        warnings.append(f"The field {name[:100]!r} is not supported and was ignored.")
    return warnings


def check_combinations(body: ResponsesBody) -> None:
    if body.truncation == "auto":
        text = "`truncation: auto` is not supported: send a shorter conversation, or leave the field out."
        raise InvalidRequest(text, "truncation", "unsupported_parameter")
    if body.conversation is not None and body.previous_response_id is not None:
        text = "`conversation` and `previous_response_id` exclude each other: send one of them."
        raise InvalidRequest(text, "conversation")
    if body.background and body.store is False:
        raise InvalidRequest("`background` needs a stored response: remove `store: false`.", "background")
    if body.conversation is not None and body.store is False:
        text = "The response cannot be added to a `conversation` with `store: false`: send one of them."
        raise InvalidRequest(text, "conversation")
    if body.input is None and body.previous_response_id is None and body.conversation is None:
        raise InvalidRequest("`input` is missing: send a text or a list of items.", "input")


def read_response_parameters(request: ResponsesRequest) -> Parameters:
    body = request.body
    schema, strict, name = read_text_format(body.text.format if body.text else None)
    return Parameters(
        cache_key=body.prompt_cache_key or None,
        temperature=body.temperature,
        max_tokens=body.max_output_tokens,
        tool_choice=request.tools.choice,
        parallel_calls=body.parallel_tool_calls,
        response_schema=schema,
        response_strict=strict,
        response_name=name,
        top_p=body.top_p,
        logprobs=(body.top_logprobs or 0) if request.includes(LOGPROBS) else None,
        effort=EFFORTS.get(body.reasoning.effort or "") if body.reasoning else None,
    )


def read_text_format(
    given: ResponseTextFormat | None,
) -> tuple[Mapping[str, JsonValue] | None, bool | None, str | None]:
    """The schema of the response, whether it is strict, and its name."""
    match given:
        case None | ResponseTextFormat(type="text"):
            return None, None, None
        case ResponseTextFormat(type="json_object"):
            return {"type": "object"}, None, None
        case ResponseTextFormat(type="json_schema", schema=schema) if schema is not None:
            return schema, given.strict, given.name
        case ResponseTextFormat(type="json_schema"):
            raise InvalidRequest("`text.format.schema` is missing.", "text.format.schema")
    known = "'text', 'json_object' or 'json_schema'"
    raise InvalidRequest(f"`text.format.type` is {given.type[:100]!r}; it must be {known}.", "text.format.type")
