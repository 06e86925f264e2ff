"""The server-sent events of OpenBB, encoded as bytes, and responses made of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import json
from starlette.responses import Response

from rightseat.faces.openbb.tools.functions import StatusStep

RawHeaders = list[tuple[bytes, bytes]]
Level = Literal["INFO", "WARNING", "ERROR"]

encode = json.Encoder().encode

CHUNK = b'event: copilotMessageChunk\ndata: {"delta":%b}\n\n'
STATUS = b"event: copilotStatusUpdate\ndata: %b\n\n"
ARTIFACT = b"event: copilotMessageArtifact\ndata: %b\n\n"
CITATIONS = b'event: copilotCitationCollection\ndata: {"citations":%b}\n\n'
CALL = b"event: copilotFunctionCall\ndata: %b\n\n"
SUGGESTIONS = b'event: copilotPromptSuggestions\ndata: {"suggestions":%b}\n\n'

SSE_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
"""Headers of every response. The trace id, the client's id of the chat, is added."""


def chunk(text: str) -> bytes:
    return CHUNK % encode(text)


def status(step: StatusStep, level: Level = "INFO") -> bytes:
    return status_of({"eventType": level, "message": step.message, "details": step.details})


def status_of(value: Mapping[str, Any]) -> bytes:
    """Encode a status given by a tool. All statuses share one group."""
    body = {"eventType": "INFO", "message": "", "group": "reasoning", "hidden": False} | dict(value)
    return STATUS % encode(body)


def artifact(value: Mapping[str, Any]) -> bytes:
    return ARTIFACT % encode(value)


def citations(body: Sequence[Any]) -> bytes:
    return CITATIONS % encode(body)


def call(function: str, arguments: Mapping[str, Any], state: Mapping[str, str] | None) -> bytes:
    body: dict[str, Any] = {"function": function, "input_arguments": arguments}
    return CALL % encode(body | ({"extra_state": state} if state else {}))


def suggestions(prompts: Sequence[str]) -> bytes:
    return SUGGESTIONS % encode(prompts)


# Responses


def event_response(pieces: Iterable[bytes], trace_id: str) -> Response:
    response = Response(b"".join(pieces))
    response.raw_headers = [*SSE_HEADERS, trace_header(trace_id), (b"content-length", b"%d" % len(response.body))]
    return response


def response_headers(trace_id: str, run_id: str) -> RawHeaders:
    """Headers of the response of a run."""
    return [*SSE_HEADERS, trace_header(trace_id), (b"x-completion-id", run_id.encode())]


def trace_header(trace_id: str) -> tuple[bytes, bytes]:
    return b"x-trace-id", trace_id.encode("latin-1", "replace")
