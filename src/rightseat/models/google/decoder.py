"""Decodes the events of a streamed Gemini response into `Chunk`s.

Each event holds some parts of the response. A call arrives in one piece, with or without an id; parts may carry a
signature that the provider expects back.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rightseat.core.events import StopReason
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
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.wire.openai_chat import error_kind
from rightseat.wire.sse import SHOWN_BYTES, UNREADABLE, StreamError

FILTERED = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
}
BUSY = (429, 503)


class GeminiDecoder:
    """Reads the events of one response of `model`. Signatures and ids of its calls end up in a note `kept`."""

    __slots__ = ("_calls", "_model", "_other", "done", "ended", "read_any")

    def __init__(self, model: str) -> None:
        self.done = self.ended = self.read_any = False
        self._model = model
        self._calls: list[JsonValue] = []  # id and signature of each, if any
        self._other: set[str] = set()

    def read(self, data: bytes) -> Sequence[Chunk]:
        try:
            event = _decode(data)
        except JSON_ERRORS as error:
            raise StreamError(f"{error} in {data[:SHOWN_BYTES].decode(errors='replace')}", kind=UNREADABLE) from error
        self.read_any = True
        if event.error is not None:
            failure = event.error
            kind = error_kind({"status": failure.status, "code": failure.code})
            raise StreamError(f"{failure.status}: {failure.message}", kind=kind, is_busy=failure.code in BUSY)
        return list(self._chunks(event))

    def _chunks(self, event: "_Event") -> Iterable[Chunk]:
        for candidate in (event.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._part(part)
            if candidate.finishReason:
                yield from self._finish(candidate.finishReason, candidate.finishMessage)
        if event.promptFeedback is not None and event.promptFeedback.blockReason:
            self.ended = True
            yield NoteChunk("warning", f"The provider blocked the prompt: {event.promptFeedback.blockReason}.")
            yield StopChunk("filtered")
        if event.usageMetadata is not None and self.ended:
            usage = event.usageMetadata
            input_tokens = (usage.promptTokenCount or 0) + (usage.toolUsePromptTokenCount or 0)
            output_tokens = (usage.candidatesTokenCount or 0) + (usage.thoughtsTokenCount or 0)
            output_tokens = count_output(input_tokens, output_tokens, usage.totalTokenCount)
            yield UsageChunk(input_tokens, output_tokens, usage.cachedContentTokenCount or 0)

    def _part(self, part: "_Part") -> Iterable[Chunk]:
        if part.functionCall is not None:
            call = part.functionCall
            arguments = msgspec.json.encode(call.args or {}).decode()
            yield CallChunk(len(self._calls), arguments, call.id or "", call.name)
            self._calls.append([call.id, part.thoughtSignature])
        elif part.text is not None:
            yield ReasoningChunk(part.text) if part.thought else TextChunk(part.text)
        else:
            for kind in ("inlineData", "executableCode", "codeExecutionResult", "fileData"):
                if getattr(part, kind) is not None and kind not in self._other:
                    self._other.add(kind)
                    yield NoteChunk("warning", f"The response contains {kind!r}, which is not shown.")

    def _finish(self, reason: str, message: str | None) -> Iterable[Chunk]:
        self.ended = True
        stop_reason: StopReason = "tool_calls" if self._calls else "stop"
        if reason in FILTERED:
            stop_reason = "filtered"
        elif reason == "MAX_TOKENS":
            stop_reason = "length"
        if reason not in ("STOP", "MAX_TOKENS"):
            yield NoteChunk(
                "warning", f"The provider ended the response early: {reason}{f', {message}' if message else ''}."
            )
        if any(isinstance(call, list) and any(call) for call in self._calls):
            yield NoteChunk("kept", {"google": {"model": self._model, "calls": self._calls}})
        yield StopChunk(stop_reason)


class _Call(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: dict[str, Any] | None = None


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None
    thoughtSignature: str | None = None
    functionCall: _Call | None = None
    inlineData: object = None
    fileData: object = None
    executableCode: object = None
    codeExecutionResult: object = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct):
    content: _Content | None = None
    finishReason: str | None = None
    finishMessage: str | None = None


class _Usage(msgspec.Struct):
    promptTokenCount: int | None = None
    cachedContentTokenCount: int | None = None
    toolUsePromptTokenCount: int | None = None
    candidatesTokenCount: int | None = None
    thoughtsTokenCount: int | None = None
    totalTokenCount: Any = None


class _Feedback(msgspec.Struct):
    blockReason: str | None = None


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""
    status: str = ""


class _Event(msgspec.Struct):
    candidates: list[_Candidate] | None = None
    usageMetadata: _Usage | None = None
    promptFeedback: _Feedback | None = None
    error: _Error | None = None


_decode = msgspec.json.Decoder(_Event).decode
