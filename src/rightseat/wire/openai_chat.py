"""Encodes requests in OpenAI's chat completions format and decodes the events of a streamed response into chunks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from rightseat.core.ask import NamedTool, ToolChoice
from rightseat.core.events import StopReason
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.model import (
    CallChunk,
    Chunk,
    NoteChunk,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
    count_output,
)
from rightseat.core.tools import Tool
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.wire.sse import SHOWN_BYTES, UNREADABLE, StreamError

KIND = re.compile(r"[A-Za-z_]{1,40}|[0-9]{3}")
ANY_OBJECT: Mapping[str, JsonValue] = {"type": "object"}
MAX_COUNT = 2**53
"""Tokens that a server may report: more is no number of tokens."""


def write_tool(tool: Tool, strict: bool | None = None) -> dict[str, object]:
    """`strict` is the default for a tool that does not set it."""
    strict = strict if tool.strict is None else tool.strict
    function: dict[str, object] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}


def write_tool_choice(choice: ToolChoice) -> object:
    return {"type": "function", "function": {"name": choice.name}} if isinstance(choice, NamedTool) else choice


def write_format(schema: Mapping[str, JsonValue], strict: bool | None, name: str | None = None) -> dict[str, object]:
    """Encode the `response_format` for JSON output. OpenAI requires a name for the schema."""
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    form: dict[str, object] = {"name": name or "answer", "schema": schema}
    if strict is not None:
        form["strict"] = strict
    return {"type": "json_schema", "json_schema": form}


def write_message(message: Message) -> Iterable[dict[str, object]]:
    """Encode a message. Each tool result becomes a separate message."""
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, Result):
                yield {"role": "tool", "tool_call_id": part.call_id, "content": part.content}
        return
    if (text := message.only_text) is not None:
        yield {"role": message.role, "content": text}
        return
    calls = [part for part in message.parts if isinstance(part, Call)]
    written: dict[str, object] = {"role": message.role, "content": write_content(message.parts)}
    if calls:
        written["content"] = written["content"] or None  # some servers reject an empty text beside calls
        written["tool_calls"] = [write_call(call) for call in calls]
    yield written


def write_content(parts: Sequence[Part]) -> object:
    """Write a plain string if all parts are text, because some small servers accept nothing else."""
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
    """Encode documents and audio if the format supports them. Other files become a note to the model."""
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


class ChatCompletionDecoder:
    """Decodes the events of one response. `ended` is set once the server has marked the response as complete."""

    __slots__ = ("done", "ended", "read_any")

    def __init__(self) -> None:
        self.done = False  # no more events follow
        self.ended = False
        self.read_any = False

    def read(self, data: bytes) -> Sequence[Chunk]:
        try:
            event = _decode(data)
        except JSON_ERRORS as error:
            return self._read_other(data, error)
        self.read_any = True
        if event.error:
            raise StreamError(str(event.error), kind=error_kind(event.error))
        choices = event.choices
        if choices and event.usage is None:
            choice = choices[0]
            delta = choice.delta
            if (
                delta is not None
                and delta.content
                and choice.finish_reason is None
                and choice.logprobs is None
                and delta.tool_calls is None
                and delta.reasoning_content is None
                and delta.reasoning is None
            ):
                return (TextChunk(delta.content),)  # nearly every event
        elif event.usage is None:
            _check_error(data)
        return list(self._chunks(event))

    def _read_other(self, data: bytes, error: Exception) -> Sequence[Chunk]:
        """Handle the end marker and heartbeats, which are not JSON."""
        if data.startswith(b"[DONE]"):
            self.done = self.ended = True
        elif data.strip():
            raise StreamError(f"{error} in {data[:SHOWN_BYTES].decode(errors='replace')}", kind=UNREADABLE) from error
        return ()

    def _chunks(self, event: "_Event") -> Iterable[Chunk]:
        for choice in (event.choices or ())[:1]:
            delta = choice.delta or _Delta()
            if reasoning := delta.reasoning_content or delta.reasoning:
                yield ReasoningChunk(reasoning)
            if choice.logprobs is not None and choice.logprobs.content:
                yield NoteChunk("logprobs", choice.logprobs.content)
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
            yield _read_usage(event.usage)


def _read_usage(usage: "_Usage") -> UsageChunk:
    """The details differ between servers, so values that are not numbers are ignored."""
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return UsageChunk(
        usage.prompt_tokens or 0,
        count_output(usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.total_tokens),
        read_count(prompt, "cached_tokens"),
        read_count(prompt, "cache_write_tokens"),
        read_count(completion, "reasoning_tokens"),
    )


def read_count(details: object, name: str) -> int:
    """0 for anything that is no number of tokens: a log with `true` in it could not be read again."""
    count = details.get(name) if isinstance(details, dict) else 0
    return count if type(count) is int and 0 <= count <= MAX_COUNT else 0


def _read_call(call: "_ToolCall", position: int) -> CallChunk:
    """Without an index, calls are distinguished by position; with one, `core.stream.framer` distinguishes them."""
    index = position if call.index is None else call.index
    function = call.function or _Function()
    return CallChunk(index, function.arguments or "", call.id or "", function.name or "")


def _check_error(data: bytes) -> None:
    """Older vLLM versions send `{"object": "error", "message": …}` and then a normal `[DONE]`."""
    try:
        event = _decode_error(data)
    except JSON_ERRORS as error:
        raise StreamError(f"{error} in {data.decode(errors='replace')}") from error
    if event.object == "error":
        raise StreamError(str(event.message))


_reasons: dict[str, StopReason] = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
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


class _Logprobs(msgspec.Struct):
    content: list[Any] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: Any = None
    prompt_tokens_details: Any = None
    completion_tokens_details: Any = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: object = None


class _Error(msgspec.Struct):
    object: Any = None
    message: Any = None


_decode = msgspec.json.Decoder(_Event).decode
_decode_error = msgspec.json.Decoder(_Error).decode


def read_error_kind(body: str) -> str:
    """Return the type and code of an error. They are the server's own identifiers and never quote the prompt."""
    try:
        value = msgspec.json.decode(body)
    except JSON_ERRORS:
        return ""
    found = value.get("error", value) if isinstance(value, dict) else None
    return error_kind(found)


def error_kind(error: object) -> str:
    if not isinstance(error, dict):
        return ""
    words = [str(error.get(name) or "") for name in ("type", "status", "code")]
    return ", ".join(dict.fromkeys(word for word in words if KIND.fullmatch(word)))


def read_error(body: str) -> str:
    """Return `error.message` if the body has the standard form, otherwise the body."""
    try:
        value = msgspec.json.decode(body)
    except JSON_ERRORS:
        return body
    match value:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"detail": str(message)}:
            return message
        case {"error": str(message)}:
            return message
    return body
