"""The events of a streamed answer → `Chunk`s.

An answer is a list of blocks: thoughts, texts, calls. Each begins, grows by deltas and stops, and its index says which
one a delta belongs to, so calls that come side by side are told apart by it.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rightseat.core.events import StopReason
from rightseat.core.model import CallChunk, Chunk, NoteChunk, StopChunk, TextChunk, ThoughtChunk, UsageChunk
from rightseat.core.values import JSON_ERRORS, JsonValue
from rightseat.wire.openai_chat import error_kind
from rightseat.wire.sse import SHOWN_BYTES, UNREADABLE, StreamError

REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}
PAUSED = "The provider paused a long turn of its own tools, and the answer ends here. Ask it to go on."
BUSY = ("overloaded_error", "rate_limit_error")
MAX_KEPT_CHARACTERS = 16 * 2**20  # of thoughts and their signatures
MAX_BLOCKS = 10_000  # of one answer

_Kept = dict[str, list[str]]
"""The pieces of a thought, of its signature, or of one that only the provider can read."""


class Reader:
    """Reads the events of one answer of `model`. Signed thoughts of an answer with calls end up in a note `kept`."""

    __slots__ = ("_calls", "_input", "_kept", "_kept_size", "_model", "_other", "_output", "done", "ended", "read_any")

    def __init__(self, model: str) -> None:
        self.done = self.ended = self.read_any = False
        self._model = model
        self._calls: set[int] = set()
        self._kept: dict[int, _Kept] = {}  # thoughts, by their place in the answer
        self._kept_size = 0
        self._other: set[str] = set()
        self._input = (0, 0, 0)  # all, from the cache, into the cache
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
            return self._grow(event.index, event.delta)
        return list(self._read(event))

    def _read(self, event: "_Event") -> Iterable[Chunk]:
        match event.type:
            case "content_block_start" if event.content_block is not None:
                yield from self._begin(event.index, event.content_block)
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
                pass  # `ping`, the stop of a block, and whatever is new: the provider adds kinds of events

    def _begin(self, index: int, block: "_Block") -> Iterable[Chunk]:
        match block.type:
            case "text":
                yield TextChunk(block.text)
            case "tool_use":
                self._calls.add(index)
                given = msgspec.json.encode(block.input).decode() if block.input else ""
                yield CallChunk(index, given, block.id, block.name)
            case "thinking":
                self._keep(index, "thinking", block.thinking)
                self._keep(index, "signature", block.signature)
                yield ThoughtChunk(block.thinking)
            case "redacted_thinking":
                self._keep(index, "data", block.data)
            case other if other not in self._other and len(self._other) < MAX_BLOCKS:
                self._other.add(other)
                yield NoteChunk("warning", f"The answer holds a {other!r} of the provider's, which is not shown.")

    def _grow(self, index: int, delta: "_Delta") -> Sequence[Chunk]:
        match delta.type:
            case "input_json_delta" if index in self._calls:
                return (CallChunk(index, delta.partial_json),) if delta.partial_json else ()
            case "thinking_delta":
                self._keep(index, "thinking", delta.thinking)
                return (ThoughtChunk(delta.thinking),)
            case "signature_delta":
                self._keep(index, "signature", delta.signature)
        return ()

    def _keep(self, index: int, name: str, text: str) -> None:
        self._kept_size += len(text)
        if self._kept_size > MAX_KEPT_CHARACTERS or len(self._kept) > MAX_BLOCKS:
            raise StreamError(f"thoughts and signatures have more than {MAX_KEPT_CHARACTERS:,} characters")
        self._kept.setdefault(index, {}).setdefault(name, []).append(text)

    def _count(self, usage: "_Usage | None") -> None:
        """What was read from a cache or written into one has been read, too. Later figures replace earlier ones."""
        if usage is None:
            return
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        if whole := (usage.input_tokens or 0) + cached + written:
            self._input = (whole, cached, written)
        self._output = usage.output_tokens or self._output

    def _end(self, delta: "_Delta") -> Iterable[Chunk]:
        if delta.stop_reason is None:
            return
        self.ended = True
        if delta.stop_reason == "pause_turn":
            yield NoteChunk("warning", PAUSED)
        if delta.stop_details is not None and delta.stop_details.explanation:
            yield NoteChunk("warning", f"The provider says why it stopped: {delta.stop_details.explanation}")
        if self._calls and self._kept:
            blocks: list[JsonValue] = [[index, write_kept(kept)] for index, kept in sorted(self._kept.items())]
            yield NoteChunk("kept", {"anthropic": {"model": self._model, "thoughts": blocks}})
        yield StopChunk(REASONS.get(delta.stop_reason, "stop"))
        whole, cached, written = self._input
        yield UsageChunk(whole, self._output, cached, written)


def write_kept(kept: _Kept) -> dict[str, JsonValue]:
    """A thought as the provider wants to see it again."""
    said = {name: "".join(pieces) for name, pieces in kept.items()}
    if "data" in said:
        return {"type": "redacted_thinking", "data": said["data"]}
    return {"type": "thinking", "thinking": said.get("thinking", ""), "signature": said.get("signature", "")}


class _Details(msgspec.Struct):
    explanation: str | None = None


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None


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
