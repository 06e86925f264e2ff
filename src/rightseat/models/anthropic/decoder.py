"""Decodes the events of a streamed Anthropic response into `Chunk`s.

A response is a list of blocks: reasoning, text, tool calls. Each starts, grows by deltas and stops. Deltas carry the
index of their block, which distinguishes parallel calls.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rightseat.core.events import StopReason
from rightseat.core.model import CallChunk, Chunk, NoteChunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.wire.openai_chat import error_kind
from rightseat.wire.sse import SHOWN_BYTES, UNREADABLE, StreamError

REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}
PAUSED = "The provider paused a long turn of its own tools, so the response ends here. Ask the model to continue."
BUSY = ("overloaded_error", "rate_limit_error")
MAX_REASONING_CHARS = 16 * 2**20  # reasoning and its signatures
MAX_BLOCKS = 10_000  # in one response

_ReasoningPieces = dict[str, list[str]]
"""Pieces of the text, the signature, or the encrypted data of one reasoning block."""


class AnthropicDecoder:
    """Reads the events of one response of `model`. With calls, its signed reasoning ends up in a note `kept`."""

    __slots__ = (
        "_calls",
        "_input",
        "_model",
        "_other",
        "_output",
        "_reasoning",
        "_reasoning_chars",
        "done",
        "ended",
        "read_any",
    )

    def __init__(self, model: str) -> None:
        self.done = self.ended = self.read_any = False
        self._model = model
        self._calls: set[int] = set()
        self._reasoning: dict[int, _ReasoningPieces] = {}  # by the index of the block in the response
        self._reasoning_chars = 0
        self._other: set[str] = set()
        self._input = (0, 0, 0)  # total, read from the cache, written to the cache
        self._output = 0

    def read(self, data: bytes) -> Sequence[Chunk]:
        try:
            event = _decode(data)
        except JSON_ERRORS as error:
            raise StreamError(f"{error} in {data[:SHOWN_BYTES].decode(errors='replace')}", kind=UNREADABLE) from error
        self.read_any = True
        if event.type == "content_block_delta" and event.delta is not None:
            if event.delta.type == "text_delta":  # nearly every event is this one
                return (TextChunk(event.delta.text),)
            return self._read_delta(event.index, event.delta)
        return list(self._read(event))

    def _read(self, event: "_Event") -> Iterable[Chunk]:
        match event.type:
            case "content_block_start" if event.content_block is not None:
                yield from self._start_block(event.index, event.content_block)
            case "message_start" if event.message is not None:
                self._count(event.message.usage)
            case "message_delta":
                self._count(event.usage)
                yield from self._end(event.delta or _Delta())
            case "message_stop":
                self.done = True
            case "error":
                error = event.error or _Error()
                kind = error_kind({"type": error.type})
                raise StreamError(f"{error.type}: {error.message}", kind=kind, is_busy=error.type in BUSY)
            case _:
                pass  # `ping`, `content_block_stop`, and new types, which the provider may add

    def _start_block(self, index: int, block: "_Block") -> Iterable[Chunk]:
        match block.type:
            case "text":
                yield TextChunk(block.text)
            case "tool_use":
                self._calls.add(index)
                arguments = msgspec.json.encode(block.input).decode() if block.input else ""
                yield CallChunk(index, arguments, block.id, block.name)
            case "thinking":
                self._add_reasoning(index, "thinking", block.thinking)
                self._add_reasoning(index, "signature", block.signature)
                yield ReasoningChunk(block.thinking)
            case "redacted_thinking":
                self._add_reasoning(index, "data", block.data)
            case other if other not in self._other and len(self._other) < MAX_BLOCKS:
                self._other.add(other)
                yield NoteChunk("warning", f"The response contains a block of type {other!r}, which is not shown.")

    def _read_delta(self, index: int, delta: "_Delta") -> Sequence[Chunk]:
        match delta.type:
            case "input_json_delta" if index in self._calls:
                return (CallChunk(index, delta.partial_json),) if delta.partial_json else ()
            case "thinking_delta":
                self._add_reasoning(index, "thinking", delta.thinking)
                return (ReasoningChunk(delta.thinking),)
            case "signature_delta":
                self._add_reasoning(index, "signature", delta.signature)
        return ()

    def _add_reasoning(self, index: int, name: str, text: str) -> None:
        self._reasoning_chars += len(text)
        if self._reasoning_chars > MAX_REASONING_CHARS or len(self._reasoning) > MAX_BLOCKS:
            raise StreamError(f"reasoning and signatures have more than {MAX_REASONING_CHARS:,} characters")
        self._reasoning.setdefault(index, {}).setdefault(name, []).append(text)

    def _count(self, usage: "_Usage | None") -> None:
        """Cache reads and writes count as input. Later figures replace earlier ones."""
        if usage is None:
            return
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        if total := (usage.input_tokens or 0) + cached + written:
            self._input = (total, cached, written)
        self._output = usage.output_tokens or self._output

    def _end(self, delta: "_Delta") -> Iterable[Chunk]:
        if delta.stop_reason is None:
            return
        self.ended = True
        if delta.stop_reason == "pause_turn":
            yield NoteChunk("warning", PAUSED)
        if delta.stop_details is not None and delta.stop_details.explanation:
            yield NoteChunk("warning", f"The provider stopped the response: {delta.stop_details.explanation}")
        if self._calls and self._reasoning:
            blocks: list[JsonValue] = [
                [index, write_reasoning(pieces)] for index, pieces in sorted(self._reasoning.items())
            ]
            yield NoteChunk("kept", {"anthropic": {"model": self._model, "thoughts": blocks}})
        yield StopChunk(REASONS.get(delta.stop_reason, "stop"))
        total, cached, written = self._input
        yield UsageChunk(total, self._output, cached, written)


def write_reasoning(pieces: _ReasoningPieces) -> dict[str, JsonValue]:
    """Return a reasoning block as the provider expects it back."""
    fields = {name: "".join(texts) for name, texts in pieces.items()}
    if "data" in fields:
        return {"type": "redacted_thinking", "data": fields["data"]}
    return {"type": "thinking", "thinking": fields.get("thinking", ""), "signature": fields.get("signature", "")}


class _StopDetails(msgspec.Struct):
    explanation: str | None = None


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    input: object = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Error(msgspec.Struct):
    type: str = "error"
    message: str = ""


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | None = None
    usage: _Usage | None = None
    error: _Error | None = None


_decode = msgspec.json.Decoder(_Event).decode
