"""OpenAI's chat completions, from any server that speaks them: OpenAI, vLLM, Ollama, Groq, OpenRouter, llama.cpp.

The connection and the reading are our own (docs/decisions/0003): the official SDK costs more per request than all the
rest together. The tests hold this file against that SDK.
"""

import logging
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import Annotated, Any, Literal, Self, assert_never
from urllib.parse import urlsplit

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, SecretStr
from pydantic_core import PydanticCustomError

from rightseat.core.ask import Named, Parameters, ToolChoice
from rightseat.core.errors import ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable, PromptTooLong
from rightseat.core.events import StopReason
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk, ThoughtChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.egress.http import Answer, Pool, Unreachable, read_address, write_headers
from rightseat.wire import sse

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
        body = write_request(self.options, prompt)
        decoder, reader = sse.Decoder(), Reader()
        feed, read = decoder.feed, reader.read
        try:
            async with self._pool.post("/chat/completions", body) as answer:
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

    async def _check_begin(self, answer: Answer) -> None:
        if answer.status != 200:
            raise self._refusal(answer.status, self._said(read_error(await answer.text())))
        kind = answer.headers.get("content-type", "")
        if kind.startswith("application/json"):
            raise self._no_stream(kind, await answer.text())

    def _check_end(self, reader: "Reader", answer: Answer) -> None:
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
            return ModelRefused(
                "The model's server has too much to do for us right now (HTTP 429). Try again later.", 429
            )
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
    host = f".{urlsplit(options.base_url).hostname}"
    limit = options.token_field or ("max_completion_tokens" if host.endswith(OPENAI_HOSTS) else "max_tokens")
    wanted: dict[str, object] = {
        "temperature": options.temperature if parameters.temperature is None else parameters.temperature,
        limit: options.max_tokens if parameters.max_tokens is None else parameters.max_tokens,
        "stop": parameters.stop or None,
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
        written["content"] = written["content"] or None  # an empty text beside calls is refused by some
        written["tool_calls"] = [write_call(call) for call in calls]
    yield written


def write_content(parts: Sequence[Part]) -> object:
    """Plain text where that is all there is: the smallest servers know nothing else."""
    if not any(isinstance(part, Image | File) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [content for part in parts for content in write_part(part)]


def write_part(part: Part) -> Iterable[dict[str, object]]:
    match part:
        case Text(text=text):
            yield {"type": "text", "text": text}
        case Image(media_type=kind, data=data, url=url):
            yield {"type": "image_url", "image_url": {"url": url or f"data:{kind};base64,{data}"}}
        case File():
            yield write_file(part)
        case Call() | Result():
            pass  # written beside the content
        case _:
            assert_never(part)


def write_file(file: File) -> dict[str, object]:
    """Documents and recordings, as far as this wire has a form for them; the model is told of the rest."""
    if file.kind == "document" and file.data:
        data = f"data:{file.media_type};base64,{file.data}"
        return {"type": "file", "file": {"filename": file.name or "document", "file_data": data}}
    if file.kind == "audio" and file.data:
        kind = file.media_type.partition(";")[0].rpartition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": file.data, "format": kind}}
    return {"type": "text", "text": f"[An attachment could not be passed on: {file.kind} {file.name or file.url}]"}


def write_call(call: Call) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.id, "type": "function", "function": function}


class StreamError(Exception):
    """The server put an error into the middle of its answer."""


class Reader:
    """Reads the events of one answer. `ended` once the server has said that it is whole."""

    __slots__ = ("done", "ended", "read_any")

    def __init__(self) -> None:
        self.done = False  # nothing follows
        self.ended = False
        self.read_any = False

    def read(self, data: bytes) -> Sequence[Chunk]:
        try:
            event = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._read_other(data, error)
        self.read_any = True
        if event.error:
            raise StreamError(str(event.error))
        choices = event.choices
        if choices and event.usage is None:
            choice = choices[0]
            delta = choice.delta
            if (
                delta is not None
                and delta.content
                and choice.finish_reason is None
                and delta.tool_calls is None
                and delta.reasoning_content is None
                and delta.reasoning is None
            ):
                return (TextChunk(delta.content),)  # nearly every event is this one
        elif event.usage is None:
            _check_error(data)
        return list(self._chunks(event))

    def _read_other(self, data: bytes, error: Exception) -> Sequence[Chunk]:
        """The end and heartbeats are no JSON."""
        if data.startswith(b"[DONE]"):
            self.done = self.ended = True
        elif data.strip():
            raise StreamError(f"{error} in {data.decode(errors='replace')}") from error
        return ()

    def _chunks(self, event: "_Event") -> Iterable[Chunk]:
        for choice in (event.choices or ())[:1]:
            delta = choice.delta or _Delta()
            if thought := delta.reasoning_content or delta.reasoning:
                yield ThoughtChunk(thought)
            if text := delta.content or delta.refusal:
                yield TextChunk(text)
            for position, call in enumerate(delta.tool_calls or ()):
                yield _read_call(call, position)
            if choice.finish_reason == "error":
                raise StreamError("it ended with the reason 'error'")
            if choice.finish_reason:
                self.ended = True
                yield StopChunk(_reasons.get(choice.finish_reason, "stop"))
        if event.usage is not None:
            yield UsageChunk(event.usage.prompt_tokens or 0, event.usage.completion_tokens or 0)


def _read_call(call: "_ToolCall", position: int) -> CallChunk:
    """Where no index comes, calls are told apart by their place; where one does, by `core.framing`."""
    index = position if call.index is None else call.index
    function = call.function or _Function()
    return CallChunk(index, function.arguments or "", call.id or "", function.name or "")


def _check_error(data: bytes) -> None:
    """Older vLLM: `{"object": "error", "message": …}`, and then `[DONE]` as if all were well."""
    event = _decode_error(data)
    if event.object == "error":
        raise StreamError(str(event.message))


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
    function: _Function | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: object = None


class _Error(msgspec.Struct):
    object: Any = None
    message: Any = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_error = msgspec.json.Decoder(_Error).decode
_encode = msgspec.json.Encoder().encode


def read_error(body: str) -> str:
    """What the server says is wrong: `error.message` where it keeps to the form, else its text."""
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
    match value:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"detail": str(message)}:
            return message
        case {"error": str(message)}:
            return message
    return body
