"""Client of OpenAI's chat completions API, which OpenAI, vLLM, Ollama, Groq, OpenRouter and llama.cpp serve, and of its
Responses API.

It does not use the official SDK, which costs more per request than everything else together (docs/decisions/0003). The
tests compare it with that SDK.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache, partial
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import msgspec
from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.ask import Parameters
from rightseat.core.model import Chunk, Model, NoteChunk, Prompt, Vectors
from rightseat.core.tools import Tool
from rightseat.egress.credentials import entra
from rightseat.egress.credentials.entra import EntraOptions
from rightseat.egress.deadlines import ANSWER_SECONDS, SILENCE_SECONDS, Timeouts
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import find_secrets
from rightseat.models.upstream import (
    MAX_BODY_BYTES,
    BaseUrl,
    HeaderName,
    HeaderSecret,
    Upstream,
    choose_model,
    warn_of_no_key,
)
from rightseat.wire.openai_chat import ChatCompletionDecoder, write_format, write_message, write_tool, write_tool_choice
from rightseat.wire.openai_embeddings import read_vectors
from rightseat.wire.openai_responses import (
    ResponseEventDecoder,
    write_input,
    write_response_tool,
    write_response_tool_choice,
    write_text_format,
)
from rightseat.wire.openai_strict import allows_strict

OPENAI = "https://api.openai.com/v1"
MAX_VECTOR_BYTES = 2**18  # of one vector, as JSON: 8,192 numbers of 32 characters
REASONING_MODELS = re.compile(r"o\d|gpt-([5-9]|\d\d)")
OPENAI_HOSTS = (".api.openai.com", ".openai.azure.com")


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The model's name at the server."""
    api_key: HeaderSecret | None = None
    entra: EntraOptions | None = None
    """Microsoft Entra ID tokens for Azure OpenAI, instead of an `api_key`. `{}` finds credentials as Azure's own tools
    do."""
    base_url: BaseUrl = OPENAI
    """The URL before `/chat/completions`, for example `http://localhost:11434/v1` for Ollama."""
    api: Literal["chat", "responses"] = "chat"
    """The API to use: chat completions, which every server has, or OpenAI's Responses, for models that have only that.
    With `responses` the encrypted reasoning of a model is kept and sent back in the next turn; nothing is stored at the
    provider. `extra: {include: []}` is for models without reasoning, which reject the request for it."""
    client_models: tuple[str, ...] = ()
    """Models that clients may request by name instead of `model`; `*` allows any."""
    temperature: float | None = None
    max_tokens: int | None = None
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] | None = None
    """The request field that carries `max_tokens`. Unset: `max_completion_tokens` for OpenAI and Azure, `max_tokens`
    for all others."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Sent with every request, in addition to `authorization`."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields added to every request unchanged, for server-specific settings."""
    strict: bool = True
    """Send `strict: true` with tools whose schema follows OpenAI's rules for it, so that the server enforces it. A
    client's own `strict` takes precedence. Switch it off for a server that rejects the field."""
    client_effort: bool | None = None
    """Pass on the effort that a client asks for, as `reasoning_effort` or `reasoning.effort`. Unset: only to OpenAI's
    own reasoning models, by their names. Claude Code asks every model for one, and models without such a setting
    reject the field."""
    include_usage: bool = True
    """Request token counts (`stream_options.include_usage`). Switch it off for a server that rejects the field."""
    timeout: float = Field(default=SILENCE_SECONDS, gt=0)
    """Seconds without content from the provider before the response is ended with an error. Comments and chunks
    without content do not count as content."""
    total_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """Seconds that one response may take in total before it is ended with an error."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if self.entra is not None and self.api_key is not None:
            raise PydanticCustomError("keys", "`api_key` and `entra` exclude each other; remove one")
        if self.entra is not None and self.base_url == OPENAI:
            raise PydanticCustomError("keys", "`entra` is for Azure; set `base_url` to the Azure address")
        return self


def build(options: Options) -> Model:
    return OpenAI(options)


def warn(options: Options) -> Iterator[str]:
    if options.api_key is None and options.base_url == OPENAI:
        yield from warn_of_no_key("OpenAI", "authorization", {name.lower() for name in options.headers})


class OpenAI:
    """`OpenAI("gpt-4o-mini", api_key=…)` in Python; with `Options` from the configuration."""

    def __init__(self, options: Options | str, **more: Any) -> None:
        self.options = options if isinstance(options, Options) else Options(model=options, **more)
        key = self.options.api_key.get_secret_value() if self.options.api_key else ""
        headers = {name.lower(): value.get_secret_value() for name, value in self.options.headers.items()}
        auth = {"authorization": f"Bearer {key}"} if key else {}
        options = self.options
        tokens = entra.credentials(options.entra) if options.entra else None
        timeouts = Timeouts(options.timeout, options.total_timeout)
        secrets = (key, *headers.values(), *find_secrets(options.extra))
        self._upstream = Upstream(
            options.base_url, auth | headers, secrets, timeouts, tokens, model=options.model, network=options
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._upstream.aclose()

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        if self.options.api == "responses":
            model = choose_model(self.options.model, self.options.client_models, prompt.parameters.model)
            write_response_body = partial(write_response_request, self.options, prompt, model)
            unsent = [NoteChunk("warning", text) for text in list_unsent(prompt.parameters)]
            decoder = ResponseEventDecoder(model)
            return self._upstream.stream("/responses", write_response_body, decoder, first=unsent)
        write_body = partial(write_request, self.options, prompt)
        return self._upstream.stream("/chat/completions", write_body, ChatCompletionDecoder())

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        body: dict[str, object] = {"model": self.options.model, "input": texts, "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        max_bytes = min(MAX_BODY_BYTES, MAX_VECTOR_BYTES * (1 + len(texts)))
        return read_vectors(await self._upstream.post("/embeddings", _encode(body), max_bytes), len(texts))


_encode = msgspec.json.Encoder().encode


def write_request(options: Options, prompt: Prompt) -> bytes:
    parameters = prompt.parameters
    body: dict[str, object] = {
        "model": choose_model(options.model, options.client_models, parameters.model),
        "messages": [written for message in prompt.messages for written in write_message(message)],
        "stream": True,
    }
    if options.include_usage:
        body["stream_options"] = {"include_usage": True}
    if prompt.tools:
        body["tools"] = [write_tool(tool, is_strict(options, tool)) for tool in prompt.tools]
        if parameters.tool_choice is not None:
            body["tool_choice"] = write_tool_choice(parameters.tool_choice)
        if parameters.parallel_calls is not None:
            body["parallel_tool_calls"] = parameters.parallel_calls
    body |= write_parameters(options, parameters)
    return _encode(body | options.extra)


def write_response_request(options: Options, prompt: Prompt, model: str) -> bytes:
    parameters = prompt.parameters
    body: dict[str, object] = {
        "model": model,
        "input": [item for message in prompt.messages for item in write_input(message, model)],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if prompt.tools:
        body["tools"] = [write_response_tool(tool, is_strict(options, tool)) for tool in prompt.tools]
        if parameters.tool_choice is not None:
            body["tool_choice"] = write_response_tool_choice(parameters.tool_choice)
        if parameters.parallel_calls is not None:
            body["parallel_tool_calls"] = parameters.parallel_calls
    if parameters.response_schema is not None:
        form = write_text_format(parameters.response_schema, parameters.response_strict, parameters.response_name)
        body["text"] = {"format": form}
    wanted = {
        "temperature": options.temperature if parameters.temperature is None else parameters.temperature,
        "max_output_tokens": options.max_tokens if parameters.max_tokens is None else parameters.max_tokens,
        "top_p": parameters.top_p,
    }
    body |= {name: value for name, value in wanted.items() if value is not None}
    if effort := choose_effort(options, parameters):
        body["reasoning"] = {"effort": effort}
    return _encode(body | options.extra)


def list_unsent(parameters: Parameters) -> Iterator[str]:
    """A sentence for each parameter that the Responses API does not have."""
    given = {
        "stop": parameters.stop,
        "seed": parameters.seed,
        "presence_penalty": parameters.presence_penalty,
        "frequency_penalty": parameters.frequency_penalty,
        "logprobs": parameters.logprobs,
    }
    for name, value in given.items():
        if value is not None:
            yield f"`{name}` was not sent: the Responses API of this model does not have it."


def choose_effort(options: Options, parameters: Parameters) -> str | None:
    if parameters.effort is None or options.client_effort is False:
        return None
    if options.client_effort is None and not is_reasoning_model(options.base_url, options.model):
        return None
    return "xhigh" if parameters.effort == "max" else parameters.effort


@cache
def is_reasoning_model(base_url: str, model: str) -> bool:
    """Whether it is known to be a reasoning model of OpenAI."""
    host = f".{urlsplit(base_url).hostname}"
    return host.endswith(OPENAI_HOSTS) and REASONING_MODELS.match(model) is not None and "chat" not in model


def is_strict(options: Options, tool: Tool) -> bool | None:
    """Return None to leave the field out."""
    return True if options.strict and allows_strict(tool.parameters) else None


@cache
def max_tokens_field_at(base_url: str) -> str:
    """Return the request field for `max_tokens`, judged by the host. Cached: a process has few addresses."""
    host = f".{urlsplit(base_url).hostname}"
    return "max_completion_tokens" if host.endswith(OPENAI_HOSTS) else "max_tokens"


def write_parameters(options: Options, parameters: Parameters) -> dict[str, object]:
    """Return the parameters that are set; 0 counts as set."""
    limit = options.max_tokens_field or max_tokens_field_at(options.base_url)
    wanted: dict[str, object] = {
        "temperature": options.temperature if parameters.temperature is None else parameters.temperature,
        limit: options.max_tokens if parameters.max_tokens is None else parameters.max_tokens,
        "stop": parameters.stop or None,
        "top_p": parameters.top_p,
        "seed": parameters.seed,
        "presence_penalty": parameters.presence_penalty,
        "frequency_penalty": parameters.frequency_penalty,
        "reasoning_effort": choose_effort(options, parameters),
    }
    if parameters.response_schema is not None:
        wanted["response_format"] = write_format(
            parameters.response_schema, parameters.response_strict, parameters.response_name
        )
    if parameters.logprobs is not None:
        wanted |= {"logprobs": True, "top_logprobs": parameters.logprobs or None}
    return {name: value for name, value in wanted.items() if value is not None}
