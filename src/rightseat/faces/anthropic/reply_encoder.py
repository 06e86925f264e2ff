"""Encodes the blocks of a reply as server-sent events (`StreamEncoder`) or as one message (`WholeEncoder`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import msgspec
from starlette.responses import Response

from rightseat.core.events import TextDelta, Usage
from rightseat.core.log import Entry
from rightseat.core.types import JSON_ERRORS
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.anthropic.error_form import ErrorReply, request_id_header
from rightseat.faces.anthropic.reply_reader import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ReplyEnd,
    ReplyOptions,
    ReplyPiece,
    ReplyReader,
)

EVENT_STREAM = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}
PING = b'event: ping\ndata: {"type":"ping"}\n\n'
"""Clients skip it. A comment would do as well, but some count these events to know that the stream is alive."""
CHARS_PER_TOKEN = 4
"""For the output of a model that reports no usage."""

encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Reply:
    """What the client receives about the message besides its content. `input_tokens` is an estimate."""

    id: str
    model: str
    options: ReplyOptions
    input_tokens: int
    warnings: list[str] = field(default_factory=list)
    on_stop: Callable[[], None] | None = None
    """Called once when a stop sequence has ended the answer, which the model continues."""

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


class ReplyEncoder:
    __slots__ = ("_is_stopped", "failure", "reader", "reply")

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.reader = ReplyReader(reply.options, reply.warn)
        self.failure: ErrorReply | None = None
        self._is_stopped = False

    def usage(self) -> dict[str, int]:
        """`input_tokens` has neither what the provider read from its cache nor what it wrote to it."""
        reader = self.reader
        used = reader.usage
        if used is None or reader.stopped_at is not None:  # the model was stopped before it reported its usage
            used = Usage(self.reply.input_tokens, -(-reader.output_chars // CHARS_PER_TOKEN))
        return write_usage(used)

    def head(self) -> dict[str, Any]:
        """The message without content and end. The usage is a guess, which clients show until they know better."""
        return {
            "id": self.reply.id,
            "type": "message",
            "role": "assistant",
            "model": self.reply.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": write_usage(Usage(self.reply.input_tokens, 1)),
        }

    def read(self, entries: Sequence[Entry]) -> list[ReplyPiece]:
        pieces = list(self.reader.feed(entry.event for entry in entries))
        if self.reader.stopped_at is not None and not self._is_stopped:
            self._is_stopped = True
            if self.reply.on_stop:
                self.reply.on_stop()
        return pieces


class StreamEncoder(ReplyEncoder):
    """Entries → server-sent events."""

    __slots__ = ("_has_content",)

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._has_content = False  # something other than a failure was sent

    def headers(self) -> Mapping[str, str]:
        """With the warnings so far."""
        return EVENT_STREAM | request_id_header() | warnings_header(self.reply.warnings)

    def first(self) -> bytes:
        return write_event("message_start", {"message": self.head()})

    def refusal(self) -> Response | None:
        """For a run that failed before it sent anything."""
        if self.failure is None or self._has_content:
            return None
        return self.failure.response(warnings_header(self.reply.warnings))

    def feed(self, entries: Sequence[Entry]) -> bytes | None:
        if len(entries) == 1:  # nearly every batch of a stream is one text delta
            event, open_text = entries[0].event, self.reader.open_text
            if open_text is not None and type(event) is TextDelta and event.message_id == open_text[0]:
                self.reader.output_chars += len(event.text)
                return (
                    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
                    b'"delta":{"type":"text_delta","text":%b}}\n\n' % (open_text[1], encode(event.text))
                )
        pieces = self.read(entries)
        self._has_content = self._has_content or any(type(piece) is not ErrorReply for piece in pieces)
        return b"".join([self._write(piece) for piece in pieces]) or None

    def _write(self, piece: ReplyPiece) -> bytes:
        match piece:
            case BlockDelta(index=index, kind=kind, name=name, text=text):
                return write_event("content_block_delta", {"index": index, "delta": {"type": kind, name: text}})
            case BlockStart(index=index, block=block):
                return write_event("content_block_start", {"index": index, "content_block": block})
            case BlockStop(index=index):
                return write_event("content_block_stop", {"index": index})
            case ReplyEnd():
                return self._end(piece)
            case ErrorReply():
                self.failure = piece
                return b"event: error\ndata: %b\n\n" % encode(piece.body())
            case _:
                assert_never(piece)

    def _end(self, end: ReplyEnd) -> bytes:
        last: dict[str, Any] = {"delta": write_end(end), "usage": self.usage()}
        if self.reply.warnings:
            last["warnings"] = self.reply.warnings
        return write_event("message_delta", last) + write_event("message_stop", {})


class WholeEncoder(ReplyEncoder):
    """Entries → the message, once it `is_finished`."""

    __slots__ = ("_content", "_end", "_texts")

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self._content: list[dict[str, Any]] = []
        self._texts: dict[str, list[str]] = {}  # of the open block, by the name of the field
        self._end: ReplyEnd | None = None

    @property
    def is_finished(self) -> bool:
        return self._end is not None or self.failure is not None

    def feed(self, entries: Sequence[Entry]) -> None:
        for piece in self.read(entries):
            self._take(piece)

    def _take(self, piece: ReplyPiece) -> None:
        match piece:
            case BlockStart(block=block):
                self._content.append(dict(block))
                self._texts = {}
            case BlockDelta(name=name, text=text):
                self._texts.setdefault(name, []).append(text)
            case BlockStop():
                self._content[-1] |= join_texts(self._texts)
            case ReplyEnd():
                self._end = piece
            case ErrorReply():
                self.failure = piece
            case _:
                assert_never(piece)

    def message(self) -> dict[str, Any]:
        end = self._end or ReplyEnd("end_turn")
        message = self.head() | {"content": self._content, **write_end(end), "usage": self.usage()}
        return message | {"warnings": self.reply.warnings} if self.reply.warnings else message


def join_texts(texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    joined: dict[str, Any] = {name: "".join(pieces) for name, pieces in texts.items()}
    if (arguments := joined.pop("partial_json", None)) is not None:
        joined["input"] = read_input(arguments)
    return joined


def read_input(arguments: str) -> dict[str, Any]:
    """A call that was cut off has no valid JSON."""
    try:
        found = msgspec.json.decode(arguments or "{}")
    except JSON_ERRORS:
        return {}
    return found if isinstance(found, dict) else {}


def write_usage(used: Usage) -> dict[str, int]:
    cached, written = used.cache_read_tokens, used.cache_written_tokens
    return {
        "input_tokens": max(0, used.input_tokens - cached - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": used.output_tokens,
    }


def write_end(end: ReplyEnd) -> dict[str, Any]:
    ending: dict[str, Any] = {"stop_reason": end.reason, "stop_sequence": end.sequence}
    if end.explanation is not None:
        ending["stop_details"] = {"type": "refusal", "category": None, "explanation": end.explanation}
    return ending


def write_event(kind: str, data: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({"type": kind, **data}))
