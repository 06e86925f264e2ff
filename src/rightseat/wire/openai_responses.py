"""Encodes requests in OpenAI's Responses format and decodes the events of a streamed response into chunks.

Nothing is stored at the provider. Its reasoning comes back encrypted, is kept with the response, and is sent again with
the next request of the same model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from rightseat.wire.openai_chat import ANY_OBJECT, error_kind, read_count, write_file
from rightseat.wire.sse import SHOWN_BYTES, UNREADABLE, StreamError

KEPT = "openai_responses"
"""The key of the provider's data in `Message.extra`."""

SEPARATOR = "\n\n"
"""Between two parts of a reasoning summary."""

INCOMPLETE: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "filtered"}

InputItem = dict[str, object]


def write_response_tool(tool: Tool, strict: bool | None) -> dict[str, object]:
    """`strict` is the default for a tool that does not set it. It is always sent: the provider's default is true."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": bool(strict if tool.strict is None else tool.strict),
    }


def write_response_tool_choice(choice: ToolChoice) -> object:
    return {"type": "function", "name": choice.name} if isinstance(choice, NamedTool) else choice


def write_text_format(
    schema: Mapping[str, JsonValue], strict: bool | None, name: str | None = None
) -> dict[str, object]:
    """Encode `text.format` for JSON output."""
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    form: dict[str, object] = {"type": "json_schema", "name": name or "answer", "schema": schema}
    return form if strict is None else form | {"strict": strict}


def write_input(message: Message, model: str) -> list[InputItem]:
    """Encode a message, with the reasoning that the provider requires back at its places."""
    if message.role == "tool":
        results = (part for part in message.parts if isinstance(part, Result))
        return [{"type": "function_call_output", "call_id": one.call_id, "output": one.content} for one in results]
    items: list[InputItem] = []
    content = [written for part in message.parts for written in write_content_part(part, message.role)]
    if content:
        items.append({"type": "message", "role": message.role, "content": content})
    for part in message.parts:
        if isinstance(part, Call):
            call = {"call_id": part.id, "name": part.name, "arguments": part.arguments or "{}"}
            items.append({"type": "function_call", **call})
    for place, item in kept_reasoning(message, model):
        items.insert(max(0, min(place, len(items))), dict(item))  # the number comes from a client or a provider
    return items


def write_content_part(part: Part, role: str) -> Iterable[dict[str, object]]:
    match part:
        case Text(text=text):
            yield {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case Image(media_type=kind, data=data, url=url):
            yield {"type": "input_image", "image_url": url or f"data:{kind};base64,{data}"}
        case File(kind="document", url=url) if url and not part.data:
            yield {"type": "input_file", "file_url": url}
        case File():
            yield write_response_file(part)
        case Call() | Result():
            pass  # items of their own
        case _:
            assert_never(part)


def write_response_file(file: File) -> dict[str, object]:
    match write_file(file):
        case {"type": "file", "file": dict(fields)}:
            return {"type": "input_file", **fields}
        case {"type": "text", "text": text}:
            return {"type": "input_text", "text": text}
        case written:
            return written  # `input_audio` has the same form


def kept_reasoning(message: Message, model: str) -> list[tuple[int, Mapping[str, JsonValue]]]:
    """The reasoning kept of a response of this model, with its places: the provider rejects that of another model."""
    match message.extra:
        case {"openai_responses": {"model": str(author), "reasoning": list(kept)}} if author == model:
            return sorted(read_pairs(kept), key=lambda pair: pair[0])
    return []


def read_pairs(kept: Iterable[JsonValue]) -> Iterator[tuple[int, Mapping[str, JsonValue]]]:
    for pair in kept:
        match pair:
            case [int(place), dict(item)]:
                yield place, item


class ResponseEventDecoder:
    """Decodes the events of one response of `model`. Its encrypted reasoning ends up in a note `kept`."""

    def __init__(self, model: str) -> None:
        self.done = False
        self.ended = False
        self.read_any = False
        self._model = model
        self._reasoning_kind = ""  # the kind of reasoning event that came first: both may have the same text
        self._has_arguments: set[int] = set()
        self._kept: list[JsonValue] = []

    def read(self, data: bytes) -> Sequence[Chunk]:
        try:
            event = _decode(data)
        except JSON_ERRORS as error:
            if not data.strip() or data.startswith(b"[DONE]"):
                return ()
            shown = data[:SHOWN_BYTES].decode(errors="replace")
            raise StreamError(f"{error} in {shown}", kind=UNREADABLE) from error
        self.read_any = True
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                return (TextChunk(read_text(event.delta)),)
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                return self._read_reasoning(event)
            case "response.reasoning_summary_part.added" if event.summary_index:
                return (ReasoningChunk(SEPARATOR),) if self._reasoning_kind else ()
            case "response.output_item.added":
                return self._begin_item(event)
            case "response.function_call_arguments.delta":
                self._has_arguments.add(event.output_index)
                return (CallChunk(event.output_index, read_text(event.delta)),)
            case "response.output_item.done":
                return self._end_item(event)
            case "response.completed" | "response.incomplete":
                return self._end(event)
            case "response.failed":
                raise failure(event.response.error if event.response else None)
            case "error":
                raise failure(event.error or {"message": event.message, "code": event.code})
        return ()

    def _read_reasoning(self, event: "_Event") -> Sequence[Chunk]:
        self._reasoning_kind = self._reasoning_kind or event.type
        return (ReasoningChunk(read_text(event.delta)),) if event.type == self._reasoning_kind else ()

    def _begin_item(self, event: "_Event") -> Sequence[Chunk]:
        item = event.item or _Item()
        if item.type == "function_call":
            return (CallChunk(event.output_index, "", item.call_id or "", item.name or ""),)
        return ()

    def _end_item(self, event: "_Event") -> Sequence[Chunk]:
        item = event.item or _Item()
        if item.type == "reasoning":
            if item.encrypted_content:
                kept: dict[str, JsonValue] = {"type": "reasoning", "summary": item.summary or []}
                kept["encrypted_content"] = item.encrypted_content
                self._kept.append([event.output_index, kept | ({"id": item.id} if item.id else {})])
            return ()
        if item.type == "function_call" and event.output_index not in self._has_arguments and item.arguments:
            return (CallChunk(event.output_index, item.arguments),)  # some servers send no deltas
        return ()

    def _end(self, event: "_Event") -> Sequence[Chunk]:
        self.ended = self.done = True
        response = event.response or _Response()
        details = response.incomplete_details
        reason = details.get("reason") if isinstance(details, dict) else None
        chunks: list[Chunk] = []
        if event.type == "response.incomplete":
            chunks.append(StopChunk(INCOMPLETE.get(str(reason), "length")))
        if usage := response.usage:
            cached = usage.input_tokens_details
            chunks.append(
                UsageChunk(
                    usage.input_tokens or 0,
                    count_output(usage.input_tokens or 0, usage.output_tokens or 0, usage.total_tokens),
                    read_count(cached, "cached_tokens"),
                    read_count(cached, "cache_write_tokens"),
                    read_count(usage.output_tokens_details, "reasoning_tokens"),
                )
            )
        if self._kept:
            chunks.append(NoteChunk("kept", {KEPT: {"model": self._model, "reasoning": self._kept}}))
        return chunks


def read_text(delta: Any) -> str:
    return delta if isinstance(delta, str) else ""


def failure(error: Any) -> StreamError:
    message = error.get("message") if isinstance(error, dict) else error
    return StreamError(str(message or "it reported a failure without a reason"), kind=error_kind(error))


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    summary: list[Any] | None = None
    encrypted_content: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: Any = None
    input_tokens_details: Any = None
    output_tokens_details: Any = None


class _Response(msgspec.Struct):
    usage: _Usage | None = None
    error: Any = None
    incomplete_details: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    delta: Any = None
    output_index: int = 0
    summary_index: int = 0
    item: _Item | None = None
    response: _Response | None = None
    error: Any = None
    message: Any = None
    code: Any = None


_decode = msgspec.json.Decoder(_Event).decode
