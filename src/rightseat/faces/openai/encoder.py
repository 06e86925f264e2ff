"""Encodes deltas as server-sent chunks (`ChunkEncoder`) or as one JSON body (`BodyEncoder`)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from msgspec import json
from starlette.responses import Response

from rightseat.core.ask import Ask
from rightseat.core.events import TextDelta
from rightseat.core.log import Entry
from rightseat.core.types import JsonValue
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.openai.decoder import ChatRequest
from rightseat.faces.openai.deltas import (
    CallArguments,
    CallCut,
    CallStart,
    ContentDelta,
    DeltaReader,
    Finish,
    OutputDelta,
    ReasoningContent,
)
from rightseat.faces.openai.errors import ErrorResponse

encode = json.Encoder().encode
EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-accel-buffering": "no"}
DONE = b"data: [DONE]\n\n"
NO_LOGPROBS = "There are no `logprobs`: the model did not report any for its text."


class CompletionEncoder:
    """The id, model, usage and warnings of a completion."""

    __slots__ = ("created", "failure", "fingerprint", "id", "model", "pieces", "reported", "wants_logprobs")

    def __init__(self, request: ChatRequest, ask: Ask) -> None:
        self.id = f"chatcmpl-{ask.run_id.removeprefix('run_')}"
        self.created = int(time.time())
        self.model = ask.downgrade.model if ask.downgrade else request.model
        self.fingerprint = request.fingerprint
        self.wants_logprobs = bool(request.body.logprobs)
        self.pieces = DeltaReader(
            [tool.name for tool in ask.tools], request.warnings, wants_logprobs=self.wants_logprobs
        )
        self.failure: ErrorResponse | None = None
        self.reported = False  # whether there were any logprobs

    def usage(self) -> dict[str, object] | None:
        usage = self.pieces.usage
        if usage is None:
            return None
        prompt, completion = usage.input_tokens, usage.output_tokens
        counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        if not usage.cache_read_tokens and not usage.cache_written_tokens:
            return {**counts}
        cached = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_written_tokens}
        return {**counts, "prompt_tokens_details": cached}

    def end(self) -> list[str]:
        """All warnings, once the response is complete."""
        if self.wants_logprobs and not self.reported:
            self.pieces.warnings.append(NO_LOGPROBS)
        return self.pieces.warnings


class ChunkEncoder(CompletionEncoder):
    """Entries → server-sent events."""

    __slots__ = ("_after", "_before", "_has_content", "_head", "_is_started", "_tail", "_wants_usage")

    def __init__(self, request: ChatRequest, ask: Ask) -> None:
        super().__init__(request, ask)
        named = b'data: {"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b,"system_fingerprint":"%b",'
        head = named % (encode(self.id), self.created, encode(self.model), self.fingerprint.encode())
        self._head = head + b'"choices":['
        self._wants_usage = request.wants_usage
        self._tail = b',"usage":null}\n\n' if self._wants_usage else b"}\n\n"
        self._before = self._head + b'{"index":0,"delta":{"content":'
        self._after = b'},"finish_reason":null}]' + self._tail
        self._is_started = False
        self._has_content = False  # something other than a failure was sent

    def headers(self) -> Mapping[str, str]:
        """With the warnings so far."""
        return EVENTS | warnings_header(self.pieces.warnings)

    def refusal(self) -> Response | None:
        """For a run that failed before it sent anything."""
        return self.failure.response(self.pieces.warnings) if self.failure and not self._has_content else None

    def feed(self, entries: Sequence[Entry]) -> bytes | None:
        if len(entries) == 1:  # nearly every batch of a stream is one text delta
            event = entries[0].event
            if type(event) is TextDelta and event.message_id == self.pieces.streaming_id:
                return self._before + encode(event.text) + self._after
        pieces = list(self.pieces.feed(entry.event for entry in entries))
        if not pieces:
            return None
        self._has_content = self._has_content or any(type(piece) is not ErrorResponse for piece in pieces)
        frames = [self._write(piece) for piece in pieces]
        if not self._is_started:
            self._is_started = True
            frames.insert(0, self._delta({"role": "assistant", "content": ""}))
        return b"".join(frames)

    def _write(self, piece: OutputDelta) -> bytes:
        match piece:
            case ContentDelta(text=text, logprobs=None):
                return self._before + encode(text) + self._after
            case ContentDelta(text=text, logprobs=logprobs):
                self.reported = True
                return self._delta({"content": text}, logprobs=wrap_logprobs(logprobs))
            case ReasoningContent(text=text):
                return self._delta({"reasoning_content": text})
            case CallStart(index=index, id=id, name=name):
                function = {"name": name, "arguments": ""}
                return self._delta(
                    {"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}
                )
            case CallArguments(index=index, text=text):
                return self._delta({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
            case CallCut():
                return b""  # what was sent stays; the end names the reason and the warning
            case Finish(reason=reason):
                return self._end(reason)
            case ErrorResponse():
                self.failure = piece
                return b"data: %b\n\n" % encode(piece.body(self.pieces.warnings))
            case _:
                assert_never(piece)

    def _delta(self, delta: dict[str, Any], **more: JsonValue) -> bytes:
        choice = {"index": 0, "delta": delta, **more, "finish_reason": None}
        return self._head + encode(choice) + b"]" + self._tail

    def _end(self, reason: str) -> bytes:
        last = self._head + encode({"index": 0, "delta": {}, "finish_reason": reason}) + b"]"
        if warnings := self.end():
            last += b',"warnings":' + encode(warnings)
        last += self._tail
        if self._wants_usage:
            last += self._head + b'],"usage":' + encode(self.usage()) + b"}\n\n"
        return last + DONE


class BodyEncoder(CompletionEncoder):
    """Entries → the body, once it `is_finished`."""

    __slots__ = ("_calls", "_logprobs", "_reason", "_reasoning", "_texts")

    def __init__(self, request: ChatRequest, ask: Ask) -> None:
        super().__init__(request, ask)
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, tuple[CallStart, list[str]]] = {}
        self._logprobs: list[Any] = []
        self._reason: str | None = None

    @property
    def is_finished(self) -> bool:
        return self._reason is not None or self.failure is not None

    def feed(self, entries: Sequence[Entry]) -> None:
        for piece in self.pieces.feed(entry.event for entry in entries):
            self._take(piece)

    def _take(self, piece: OutputDelta) -> None:
        match piece:
            case ContentDelta(text=text, logprobs=logprobs):
                self._texts.append(text)
                if isinstance(logprobs, list):
                    self.reported = True
                    self._logprobs += logprobs
            case ReasoningContent(text=text):
                self._reasoning.append(text)
            case CallStart(index=index):
                self._calls[index] = (piece, [])
            case CallArguments(index=index, text=text):
                self._calls[index][1].append(text)
            case CallCut(index=index):
                del self._calls[index]
            case Finish(reason=reason):
                self._reason = reason
            case ErrorResponse():
                self.failure = piece
            case _:
                assert_never(piece)

    def body(self) -> dict[str, Any]:
        choice = {
            "index": 0,
            "message": self._message(),
            "logprobs": wrap_logprobs(self._logprobs) if self.reported else None,
            "finish_reason": self._reason,
        }
        body: dict[str, Any] = {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "choices": [choice],
            "usage": self.usage(),
        }
        if warnings := self.end():
            body["warnings"] = warnings
        return body

    def _message(self) -> dict[str, Any]:
        text = "".join(self._texts)
        message: dict[str, Any] = {"role": "assistant", "content": None if self._calls and not text else text}
        message["refusal"] = None
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["tool_calls"] = [write_call(call, "".join(pieces)) for call, pieces in self._calls.values()]
        return message


def write_call(call: CallStart, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def wrap_logprobs(logprobs: JsonValue) -> dict[str, JsonValue]:
    return {"content": logprobs, "refusal": None}
