"""OpenAI's chat completions, from any server that speaks them: OpenAI, vLLM, Ollama, Groq, OpenRouter, llama.cpp.

The connection and the reading are our own (docs/decisions/0003): the official SDK costs more per request than all the
rest together. The tests hold this file against that SDK.
"""

import logging
import re
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, SecretStr
from pydantic_core import PydanticCustomError

from rightseat.core.ask import Parameters
from rightseat.core.errors import (
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    PromptTooLong,
)
from rightseat.core.model import Chunk, Model, Prompt, Vectors
from rightseat.egress.http import Answer, Pool, Unreachable, read_address, write_headers
from rightseat.wire import sse
from rightseat.wire.openai_chat import (
    Reader,
    StreamError,
    read_error,
    write_format,
    write_message,
    write_tool,
    write_tool_choice,
)

logger = logging.getLogger(__name__)

SECRET = 6  # characters; what is shorter is no secret, and taking it out of texts would garble them
TOO_LONG = re.compile(r"context[ _](length|window|size)|too many tokens|prompt is too long", re.IGNORECASE)
SAID = 500  # characters of a server's own words that are passed on

OPENAI = "https://api.openai.com/v1"
OPENAI_HOSTS = (".api.openai.com", ".openai.azure.com")


def _check_address(url: str) -> str:
    try:
        read_address(url)
    except ValueError as error:
        raise PydanticCustomError("address", "{text}", {"text": str(error)}) from None
    return url


def _check_value(value: SecretStr) -> SecretStr:
    try:
        write_headers({"value": value.get_secret_value()})
    except ValueError:
        raise PydanticCustomError("header", "should be one line of plain characters") from None
    return value


def _check_name(name: str) -> str:
    try:
        write_headers({name: ""})
    except ValueError as error:
        raise PydanticCustomError("header", "{text}", {"text": str(error)}) from None
    return name


Sendable = Annotated[SecretStr, AfterValidator(_check_value)]
HeaderName = Annotated[str, AfterValidator(_check_name)]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    model: str
    """The name that the server knows the model by."""
    api_key: Sendable | None = None
    base_url: Annotated[str, AfterValidator(_check_address)] = OPENAI
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
    usage: bool = True
    """Ask for token counts. Switch it off for a server that refuses `stream_options`."""
    patience: float = Field(default=300.0, gt=0)
    """The longest silence, in seconds, before an answer is given up."""


def build(options: Options) -> Model:
    return OpenAI(options)


class OpenAI:
    """`OpenAI("gpt-4o-mini", api_key=…)` in Python; with `Options` from the configuration."""

    def __init__(self, options: Options | str, **more: Any) -> None:
        self.options = options if isinstance(options, Options) else Options(model=options, **more)
        key = self.options.api_key.get_secret_value() if self.options.api_key else ""
        headers = {name.lower(): value.get_secret_value() for name, value in self.options.headers.items()}
        ours = {"accept": "text/event-stream", "accept-encoding": "identity", "user-agent": "rightseat"}
        if key:
            ours["authorization"] = f"Bearer {key}"
        self._pool = Pool(self.options.base_url, ours | headers, patience=self.options.patience)
        self._where = self.options.base_url.partition("?")[0]
        self._secrets = [secret for secret in (key, *headers.values()) if len(secret) >= SECRET]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.aclose()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        decoder, reader = sse.Decoder(), Reader()
        feed, read = decoder.feed, reader.read
        try:
            async with self._pool.post("/chat/completions", write_request(self.options, prompt)) as answer:
                await self._check_begin(answer)
                async for piece in answer:
                    for data in feed(piece):
                        for chunk in read(data):
                            yield chunk
                    if reader.done:
                        await answer.finish()
                        return
                for data in decoder.rest():
                    for chunk in read(data):
                        yield chunk
                self._check_end(reader, answer)
        except Unreachable as error:
            logger.warning("%s: %s", self._where, error)
            if not reader.ended:
                raise ModelUnreachable(f"The model's server cannot be relied on: {error}") from error
        except StreamError as error:
            logger.warning("%s: an error inside the answer: %s", self._where, self._said(str(error)))
            # without its cause: that holds the server's words as they came
            raise ModelUnreachable("The model's server broke its answer off with an error.") from None

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        body: dict[str, object] = {"model": self.options.model, "input": texts, "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        try:
            async with self._pool.post("/embeddings", _encode(body)) as answer:
                if answer.status != 200:
                    raise self._refusal(answer.status, self._said(read_error(await answer.text())))
                said = b"".join([piece async for piece in answer])
        except Unreachable as error:
            logger.warning("%s: %s", self._where, error)
            raise ModelUnreachable(f"The model's server cannot be relied on: {error}") from error
        return read_vectors(said, len(texts))

    async def _check_begin(self, answer: Answer) -> None:
        if answer.status != 200:
            raise self._refusal(answer.status, self._said(read_error(await answer.text())))
        kind = answer.headers.get("content-type", "")
        if kind.startswith("application/json"):
            raise self._no_stream(kind, await answer.text())

    def _check_end(self, reader: Reader, answer: Answer) -> None:
        """A stream that stops without saying so is a broken one, however whole it looks."""
        if reader.ended:
            return
        kind = answer.headers.get("content-type", "")
        if not reader.read_any and not kind.startswith("text/event-stream"):
            raise self._no_stream(kind)
        raise ModelUnreachable("The model's server cannot be relied on: its answer broke off.")

    def _no_stream(self, kind: str, body: str = "") -> ModelError:
        kind = self._said(kind) or "no content type"
        logger.warning("%s answered with %s instead of a stream: %s", self._where, kind, self._said(body))
        return ModelUnreachable(f"The model's server answered with {kind} instead of a stream.")

    def _refusal(self, status: int, said: str) -> ModelError:
        """The server's own words go to our log; to the client only where they help it."""
        logger.warning("%s answered %d: %s", self._where, status, said)
        if status in (401, 403):
            return ModelRefusedKey(f"The model's server does not accept our key (HTTP {status}).")
        if status == 429:
            return ModelBusy("The model's server has too much to do for us right now (HTTP 429). Try again later.")
        if status < 500 and TOO_LONG.search(said):
            return PromptTooLong(f"The conversation is too long for the model (HTTP {status}): {said}", status)
        if status < 500:
            return ModelRefused(f"The model's server does not accept the request (HTTP {status}): {said}", status)
        return ModelUnreachable(f"The model's server failed (HTTP {status}).")

    def _said(self, text: str) -> str:
        """What a server said, in one line and without our secrets, which some repeat."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return " ".join(text.split())[:SAID]


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
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelUnreachable(f"The model's server answered with something else than vectors: {error}") from error
    found = {one.index: one.embedding for one in embedded.data}
    if sorted(found) != list(range(count)):
        raise ModelUnreachable(f"The model's server answered with {len(found)} vectors for {count} texts.")
    return Vectors([found[index] for index in range(count)], embedded.usage.prompt_tokens)


_encode = msgspec.json.Encoder().encode


def write_request(options: Options, prompt: Prompt) -> bytes:
    parameters = prompt.parameters
    body: dict[str, object] = {
        "model": choose_model(options, parameters.model),
        "messages": [written for message in prompt.messages for written in write_message(message)],
        "stream": True,
    }
    if options.usage:
        body["stream_options"] = {"include_usage": True}
    if prompt.tools:
        body["tools"] = [write_tool(tool) for tool in prompt.tools]
        if parameters.tool_choice is not None:
            body["tool_choice"] = write_tool_choice(parameters.tool_choice)
        if parameters.parallel_calls is not None:
            body["parallel_tool_calls"] = parameters.parallel_calls
    body |= write_parameters(options, parameters)
    return _encode(body | options.extra)


def choose_model(options: Options, asked: str | None) -> str:
    if asked is None or asked == options.model:
        return options.model
    if "*" in options.client_models or asked in options.client_models:
        return asked
    logger.warning("a client asked for the model %r, which is not in client_models; %r answers", asked, options.model)
    return options.model


def write_parameters(options: Options, parameters: Parameters) -> dict[str, object]:
    """Only what is set; 0 is set."""
    host = f".{urlsplit(options.base_url).hostname}"
    limit = options.token_field or ("max_completion_tokens" if host.endswith(OPENAI_HOSTS) else "max_tokens")
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
