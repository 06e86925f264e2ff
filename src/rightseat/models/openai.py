"""OpenAI's chat completions, from any server that speaks them: OpenAI, vLLM, Ollama, Groq, OpenRouter, llama.cpp.

The connection and the reading are our own (docs/decisions/0003): the official SDK costs more per request than all the
rest together. The tests hold this file against that SDK.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import msgspec
from pydantic import ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.ask import Parameters
from rightseat.core.deadlines import ANSWER_SECONDS, SILENCE_SECONDS, Timeouts
from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import Chunk, Model, Prompt, Vectors
from rightseat.core.tools import Tool
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.credentials import entra
from rightseat.egress.credentials.entra import EntraOptions
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import secrets_in
from rightseat.models.upstream import (
    MAX_BODY_BYTES,
    Address,
    HeaderName,
    Sendable,
    Upstream,
    choose_model,
    warn_of_no_key,
)
from rightseat.wire.openai_chat import Reader, write_format, write_message, write_tool, write_tool_choice
from rightseat.wire.openai_strict import allows_strict

OPENAI = "https://api.openai.com/v1"
MAX_VECTOR_BYTES = 2**18  # of one vector, as JSON: 8,192 numbers of 32 characters
OPENAI_HOSTS = (".api.openai.com", ".openai.azure.com")


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The name that the server knows the model by."""
    api_key: Sendable | None = None
    entra: EntraOptions | None = None
    """Tokens of Microsoft Entra ID for Azure OpenAI, instead of an `api_key`. `{}` finds credentials as Azure's tools
    do."""
    base_url: Address = OPENAI
    """Where `/chat/completions` is found, for example `http://localhost:11434/v1` for Ollama."""
    client_models: tuple[str, ...] = ()
    """Models that a client may ask for by name instead of `model`; `*` lets it ask for any."""
    temperature: float | None = None
    max_tokens: int | None = None
    token_field: Literal["max_completion_tokens", "max_tokens"] | None = None
    """How the server calls the limit of an answer. OpenAI wants the first; most others know only the second."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request, beside `authorization`."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields added to every request as they are, for what only this server knows."""
    strict: bool = True
    """Send `strict: true` with tools whose schema follows OpenAI's rules for it, so that the server holds the arguments
    to it. A client's own `strict` comes first. Switch it off for a server that refuses the field."""
    usage: bool = True
    """Ask for token counts. Switch it off for a server that refuses `stream_options`."""
    patience: float = Field(default=SILENCE_SECONDS, gt=0)
    """The longest silence of the model's server, in seconds, before an answer is ended with an error. Comments and
    chunks without content are silence."""
    answer_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """The longest that one answer may take, in seconds, before it is ended with an error."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if self.entra is not None and self.api_key is not None:
            raise PydanticCustomError("keys", "there are `api_key` and `entra`; one of them is meant")
        if self.entra is not None and self.base_url == OPENAI:
            raise PydanticCustomError("keys", "`entra` is for Azure: it needs its address as `base_url`")
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
        ours = {"authorization": f"Bearer {key}"} if key else {}
        options = self.options
        tokens = entra.credentials(options.entra) if options.entra else None
        timeouts = Timeouts(options.patience, options.answer_timeout)
        secrets = (key, *headers.values(), *secrets_in(options.extra))
        self._upstream = Upstream(
            options.base_url, ours | headers, secrets, timeouts, tokens, model=options.model, network=options
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._upstream.aclose()

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        return self._upstream.stream("/chat/completions", write_request(self.options, prompt), Reader())

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        body: dict[str, object] = {"model": self.options.model, "input": texts, "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        most = min(MAX_BODY_BYTES, MAX_VECTOR_BYTES * (1 + len(texts)))
        return read_vectors(await self._upstream.post("/embeddings", _encode(body), most), len(texts))


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int = 0


class _Embedded(msgspec.Struct):
    data: list[_Embedding]
    usage: _Usage = _Usage()


def read_vectors(body: bytes, count: int) -> Vectors:
    try:
        embedded = msgspec.json.decode(body, type=_Embedded)
    except JSON_ERRORS as error:
        raise ModelUnreachable(f"The model's server answered with something else than vectors: {error}") from error
    found = {one.index: one.embedding for one in embedded.data}
    if sorted(found) != list(range(count)):
        raise ModelUnreachable(f"The model's server answered with {len(found)} vectors for {count} texts.")
    return Vectors([found[index] for index in range(count)], embedded.usage.prompt_tokens)


_encode = msgspec.json.Encoder().encode


def write_request(options: Options, prompt: Prompt) -> bytes:
    parameters = prompt.parameters
    body: dict[str, object] = {
        "model": choose_model(options.model, options.client_models, parameters.model),
        "messages": [written for message in prompt.messages for written in write_message(message)],
        "stream": True,
    }
    if options.usage:
        body["stream_options"] = {"include_usage": True}
    if prompt.tools:
        body["tools"] = [write_tool(tool, is_strict(options, tool)) for tool in prompt.tools]
        if parameters.tool_choice is not None:
            body["tool_choice"] = write_tool_choice(parameters.tool_choice)
        if parameters.parallel_calls is not None:
            body["parallel_tool_calls"] = parameters.parallel_calls
    body |= write_parameters(options, parameters)
    return _encode(body | options.extra)


def is_strict(options: Options, tool: Tool) -> bool | None:
    """None leaves the field out."""
    return True if options.strict and allows_strict(tool.parameters) else None


@cache
def limit_at(base_url: str) -> str:
    """How the server there calls the limit of an answer, as far as its address tells. There are few addresses."""
    host = f".{urlsplit(base_url).hostname}"
    return "max_completion_tokens" if host.endswith(OPENAI_HOSTS) else "max_tokens"


def write_parameters(options: Options, parameters: Parameters) -> dict[str, object]:
    """Only what is set; 0 is set."""
    limit = options.token_field or limit_at(options.base_url)
    wanted: dict[str, object] = {
        "temperature": options.temperature if parameters.temperature is None else parameters.temperature,
        limit: options.max_tokens if parameters.max_tokens is None else parameters.max_tokens,
        "stop": parameters.stop or None,
        "top_p": parameters.top_p,
        "seed": parameters.seed,
        "presence_penalty": parameters.presence_penalty,
        "frequency_penalty": parameters.frequency_penalty,
    }
    if parameters.response_schema is not None:
        wanted["response_format"] = write_format(parameters.response_schema, parameters.response_strict)
    if parameters.logprobs is not None:
        wanted |= {"logprobs": True, "top_logprobs": parameters.logprobs or None}
    return {name: value for name, value in wanted.items() if value is not None}
