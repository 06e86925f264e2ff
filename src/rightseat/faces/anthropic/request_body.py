"""Decodes and validates the body of `POST /v1/messages` and of `/v1/messages/count_tokens`.

A field that would change the answer is refused or warned about. Fields that only concern Anthropic's own service are
accepted without a word: clients send them to every server.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from rightseat.core.ask import Effort, NamedTool, Parameters, ToolChoice, ToolOffer
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces._shared.responses import describe_decode_error, repair_surrogates
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest
from rightseat.faces.anthropic.tool_definitions import PLACEHOLDER, read_tool_choice, read_tools

REFUSED = {
    "container": "`container` is not supported: this server runs no code for its clients.",
    "mcp_servers": "`mcp_servers` is not supported: the operator configures the MCP servers of an agent.",
}
HARMLESS = frozenset(
    {
        "betas",
        "cache_control",
        "context_management",
        "diagnostics",
        "inference_geo",
        "metadata",
        "service_tier",
        "speed",
        "user_profile_id",
        "workspace_id",
    }
)
"""The answer is the same without these. `metadata` is passed to hooks and tools."""
EMPTY: tuple[bytes, ...] = (b"null", b"{}", b"[]", b"false")
THINKING_TYPES = ("enabled", "adaptive", "between_tools", "disabled")
EFFORTS: Mapping[str, Effort] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
MAX_SEQUENCES = 32
MAX_SEQUENCE_CHARS = 200
"""Each piece of an answer is compared with the beginnings of all sequences."""
MCP_BETA = "mcp-client-"
"""Clients with a beta of this name know blocks about tools that run on the server."""

Unit = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=2**31)]
Shown = Literal["full", "omitted", "none"]


class MessageParam(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]]


class SystemBlock(msgspec.Struct):
    type: str
    text: str


class ThinkingConfig(msgspec.Struct):
    type: str
    budget_tokens: Count | None = None
    display: str | None = None


class OutputFormatParam(msgspec.Struct):
    type: str
    schema: dict[str, Any] | None = None


class OutputConfig(msgspec.Struct):
    effort: str | None = None
    format: OutputFormatParam | None = None


class ThreadParam(msgspec.Struct):
    type: Literal["create", "continue"]
    previous_message_id: str | None = None


class MessagesBody(msgspec.Struct):
    messages: list[MessageParam]
    max_tokens: Count | None = None
    model: str | None = None
    system: str | list[SystemBlock] | None = None
    stream: bool | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    stop_sequences: list[str] | None = None
    temperature: Unit | None = None
    top_p: Unit | None = None
    top_k: int | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormatParam | None = None
    metadata: dict[str, Any] | None = None
    thread: ThreadParam | None = None


KNOWN = frozenset(MessagesBody.__struct_fields__)
_decode = msgspec.json.Decoder(MessagesBody).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(slots=True)
class MessagesRequest:
    """A valid body with its tools. `warnings` name what was ignored; `model` is the agent or model that runs.

    `given_model` is the name that the client sent, which the answer repeats.
    """

    body: MessagesBody
    tools: tuple[ToolOffer, ...] = ()
    tool_choice: ToolChoice | NamedTool | None = None
    warnings: list[str] = field(default_factory=list)
    model: str = ""
    betas: Sequence[str] = ()

    @property
    def given_model(self) -> str:
        return self.body.model or self.model

    @property
    def shown_thinking(self) -> Shown:
        """Whether the answer has thinking blocks, and whether they have their text."""
        thinking = self.body.thinking
        if thinking is None or thinking.type == "disabled":
            return "none"
        return "omitted" if thinking.display == "omitted" else "full"

    @property
    def knows_server_tools(self) -> bool:
        return any(beta.startswith(MCP_BETA) for beta in self.betas)

    @property
    def has_unlisted_tools(self) -> bool:
        """Whether the client runs tools that the request does not list. One with an `mcp-client-…` beta lists all."""
        has_placeholder = any(tool.get("name") == PLACEHOLDER for tool in self.body.tools or ())
        return has_placeholder and not self.knows_server_tools

    @property
    def continues_thread(self) -> bool:
        return self.body.thread is not None and self.body.thread.type == "continue"

    @property
    def inherits_tools(self) -> bool:
        """Whether its tools are those of the thread that it continues."""
        return self.continues_thread and self.body.tools is None

    def choose_tool(self) -> None:
        """Raises `InvalidMessagesRequest` for a choice that is not among the tools."""
        self.tool_choice = read_tool_choice(self.body.tool_choice, [tool.name for tool in self.tools])

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def decode_messages(body: bytes, betas: Sequence[str] = (), *, needs_max_tokens: bool = True) -> MessagesRequest:
    """Raises `InvalidMessagesRequest`."""
    body = repair_surrogates(body)
    try:
        warnings = check_fields(_decode_fields(body))
        request = MessagesRequest(_decode(body), warnings=warnings, betas=betas)
    except JSON_ERRORS as error:
        raise InvalidMessagesRequest(describe_decode_error(error)[0]) from error
    if needs_max_tokens and request.body.max_tokens is None:
        raise InvalidMessagesRequest("max_tokens: the field is missing. It is the longest answer, in tokens.")
    check_values(request)
    request.tools = read_tools(request.body.tools or (), request.warn)
    if not request.inherits_tools:
        request.choose_tool()
    return request


def check_fields(given: Mapping[str, msgspec.Raw]) -> list[str]:
    warnings: list[str] = []
    for name, value in given.items():
        if name in KNOWN or name in HARMLESS or bytes(value) in EMPTY:
            continue
        if name in REFUSED:
            raise InvalidMessagesRequest(REFUSED[name])
        warnings.append(f"The field {name[:100]!r} is not supported and was ignored.")
    return warnings


def check_values(request: MessagesRequest) -> None:
    body = request.body
    if body.thinking is not None and body.thinking.type not in THINKING_TYPES:
        raise one_of("thinking.type", body.thinking.type, THINKING_TYPES)
    effort = body.output_config.effort if body.output_config else None
    if effort is not None and effort not in EFFORTS:
        raise one_of("output_config.effort", effort, tuple(EFFORTS))
    for number, text in enumerate(body.stop_sequences or ()):
        if not 0 < len(text) <= MAX_SEQUENCE_CHARS:
            text = f"it must have 1 to {MAX_SEQUENCE_CHARS} characters."
            raise InvalidMessagesRequest(f"stop_sequences[{number}]: {text}")
    if len(body.stop_sequences or ()) > MAX_SEQUENCES:
        raise InvalidMessagesRequest(f"stop_sequences: there may be {MAX_SEQUENCES} of them.")
    if body.top_k is not None:
        request.warn("`top_k` is not supported and was ignored.")


def one_of(where: str, given: str, known: Sequence[str]) -> InvalidMessagesRequest:
    return InvalidMessagesRequest(f"{where} is {given[:100]!r}; it must be one of {', '.join(known)}.")


def read_parameters(request: MessagesRequest) -> Parameters:
    """Stop sequences are not among them: the answer has to say which one ended it, which model servers do not tell."""
    body = request.body
    one_at_most = (body.tool_choice or {}).get("disable_parallel_tool_use") is True
    schema = read_schema(body)
    return Parameters(
        temperature=body.temperature,
        top_p=body.top_p,
        max_tokens=body.max_tokens,
        tool_choice=request.tool_choice,
        parallel_calls=False if one_at_most else None,
        response_schema=schema,
        response_strict=True if schema else None,
        effort=EFFORTS[effort] if (effort := body.output_config.effort if body.output_config else None) else None,
    )


def read_schema(body: MessagesBody) -> Mapping[str, JsonValue] | None:
    given = (body.output_config.format if body.output_config else None) or body.output_format
    if given is None:
        return None
    if given.type != "json_schema" or given.schema is None:
        raise InvalidMessagesRequest("output_config.format: it must be of type 'json_schema', with a `schema`.")
    return given.schema
