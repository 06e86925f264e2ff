"""OpenAI's chat completions, from any server that speaks them: OpenAI, vLLM, Ollama, Groq, OpenRouter, llama.cpp.

The connection and the reading are our own (docs/decisions/0003): the official SDK costs more per request than all the
rest together. The tests hold this file against that SDK.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, Self, assert_never
from urllib.parse import urlsplit

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr

from rightseat.core.ask import Named, Parameters, ToolChoice
from rightseat.core.errors import ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.core.messages import Call, Image, Message, Part, Result, Text
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk, ThoughtChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.egress.http import Answer, Pool, Unreachable
from rightseat.wire import sse

logger = logging.getLogger(__name__)

OPENAI = "https://api.openai.com/v1"


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str
    """The name that the server knows the model by."""
    api_key: SecretStr | None = None
    base_url: str = OPENAI
    """Where `/chat/completions` is found, for example `http://localhost:11434/v1` for Ollama."""
    client_models: tuple[str, ...] = ()
    """Models that a client may ask for by name instead of `model`; `*` lets it ask for any."""
    temperature: float | None = None
    max_tokens: int | None = None
    token_field: Literal["max_completion_tokens", "max_tokens"] | None = None
    """How the server calls the limit of an answer. OpenAI wants the first; most others know only the second."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
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
        key = self.options.api_key
        self._secrets = [secret.get_secret_value() for secret in (key, *self.options.headers.values()) if secret]
        headers = {name: value.get_secret_value() for name, value in self.options.headers.items()}
        if key:
            headers = {"authorization": f"Bearer {key.get_secret_value()}", **headers}
        accept = {"accept": "text/event-stream", "user-agent": "rightseat"}
        self._pool = Pool(self.options.base_url, {**accept, **headers}, patience=self.options.patience)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.aclose()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        body = write_request(self.options, prompt)
        try:
            async with self._pool.post("/chat/completions", body) as answer:
                if answer.status != 200:
                    raise self._refusal(answer.status, await answer.text())
                decoder, reader = sse.Decoder(), Reader()
                feed, read = decoder.feed, reader.read
                async for piece in answer:
                    for data in feed(piece):
                        for chunk in read(data):
                            yield chunk
                for data in decoder.rest():
                    for chunk in read(data):
                        yield chunk
                self._check_end(reader, answer)
        except Unreachable as error:
            logger.warning("%s: %s", self.options.base_url, error)
            raise ModelUnreachable(f"The model's server cannot be relied on: {error}") from error
        except StreamError as error:
            logger.warning("%s: an error inside the answer: %s", self.options.base_url, self._redacted(str(error)))
            raise ModelUnreachable("The model's server broke its answer off with an error.") from error

    def _check_end(self, reader: "Reader", answer: Answer) -> None:
        """A stream that stops without saying so is a broken one, however whole it looks."""
        if reader.ended:
            return
        kind = answer.headers.get("content-type", "no content type")
        if not reader.read_any and not kind.startswith("text/event-stream"):
            raise ModelUnreachable(f"The model's server answered with {kind} instead of a stream.")
        raise ModelUnreachable("The model's server cannot be relied on: its answer broke off.")

    def _refusal(self, status: int, body: str) -> ModelError:
        """The server's own words go to our log; to the client only where they help it and hold no secret."""
        said = self._redacted(read_error(body))
        logger.warning("%s answered %d: %s", self.options.base_url, status, said)
        if status in (401, 403):
            return ModelRefusedKey(f"The model's server does not accept our key (HTTP {status}).")
        if status == 429:
            return ModelRefused(
                "The model's server has too much to do for us right now (HTTP 429). Try again later.", 429
            )
        if status < 500:
            return ModelRefused(f"The model's server does not accept the request (HTTP {status}): {said}", status)
        return ModelUnreachable(f"The model's server failed (HTTP {status}).")

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text


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
    known_as_openai = urlsplit(options.base_url).hostname in (None, urlsplit(OPENAI).hostname)
    limit = options.token_field or ("max_completion_tokens" if known_as_openai else "max_tokens")
    wanted: dict[str, object] = {
        "temperature": options.temperature if parameters.temperature is None else parameters.temperature,
        limit: options.max_tokens if parameters.max_tokens is None else parameters.max_tokens,
        "stop": parameters.stop,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def write_tool(tool: Tool) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def write_tool_choice(choice: ToolChoice) -> object:
    return {"type": "function", "function": {"name": choice.name}} if isinstance(choice, Named) else choice


def write_message(message: Message) -> Iterable[dict[str, object]]:
    """One of ours is one of theirs, but for results: there each is a message of its own."""
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, Result):
                yield {"role": "tool", "tool_call_id": part.call_id, "content": part.content}
        return
    calls = [part for part in message.parts if isinstance(part, Call)]
    written: dict[str, object] = {"role": message.role, "content": write_content(message.parts)}
    if calls:
        written["tool_calls"] = [write_call(call) for call in calls]
    yield written


def write_content(parts: Sequence[Part]) -> object:
    """Plain text where that is all there is: the smallest servers know nothing else."""
    if not any(isinstance(part, Image) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text)) or None
    return [content for part in parts for content in write_part(part)]


def write_part(part: Part) -> Iterable[dict[str, object]]:
    match part:
        case Text(text=text):
            yield {"type": "text", "text": text}
        case Image(media_type=kind, data=data):
            yield {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        case Call() | Result():
            pass  # written beside the content
        case _:
            assert_never(part)


def write_call(call: Call) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.id, "type": "function", "function": function}


class StreamError(Exception):
    """The server put an error into the middle of its answer."""


class Reader:
    """Reads the events of one answer. `ended` once the server has said that it is whole."""

    __slots__ = ("ended", "read_any")

    def __init__(self) -> None:
        self.ended = False
        self.read_any = False

    def read(self, data: bytes) -> Sequence[Chunk]:
        if data == b"[DONE]":
            self.ended = True
            return ()
        try:
            event = _decode(data)
        except msgspec.DecodeError as error:
            raise StreamError(f"{error} in {data[:200]!r}") from error
        self.read_any = True
        if event.error is not None:
            raise StreamError(str(event.error))
        if len(event.choices) == 1 and event.usage is None:
            choice = event.choices[0]
            if choice.finish_reason is None and choice.delta.tool_calls is None and choice.delta.content:
                return (TextChunk(choice.delta.content),)  # nearly every event is this one
        return list(self._chunks(event))

    def _chunks(self, event: "_Event") -> Iterable[Chunk]:
        for choice in event.choices[:1]:
            delta = choice.delta
            if thought := delta.reasoning_content or delta.reasoning:
                yield ThoughtChunk(thought)
            if text := delta.content or delta.refusal:
                yield TextChunk(text)
            for call in delta.tool_calls or ():
                function = call.function
                yield CallChunk(call.index or 0, function.arguments or "", call.id or "", function.name or "")
            if choice.finish_reason:
                self.ended = True
                yield StopChunk(_reasons.get(choice.finish_reason, "stop"))
        if event.usage is not None:
            yield UsageChunk(event.usage.prompt_tokens, event.usage.completion_tokens)


_reasons: dict[str, StopReason] = {
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "filtered",
}


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function = msgspec.field(default_factory=_Function)


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: object = None


_decode = msgspec.json.Decoder(_Event).decode
_encode = msgspec.json.Encoder().encode


def read_error(body: str) -> str:
    """What the server says is wrong: `error.message` where it keeps to the form, else its text."""
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.strip()[:500]
    match value:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"detail": str(message)}:
            return message[:500]
        case {"error": str(message)}:
            return message[:500]
    return body.strip()[:500]
