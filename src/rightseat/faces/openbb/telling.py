"""Answers that no run makes: the next request of a queue, and what went wrong before a run could begin."""

from collections.abc import Iterable

from starlette.responses import Response

Headers = list[tuple[bytes, bytes]]

EVENTS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
"""The headers of every answer; the trace id is the client's name for the chat, and goes back to it."""


def told(pieces: Iterable[bytes], trace_id: str) -> Response:
    response = Response(b"".join(pieces))
    response.raw_headers = [*EVENTS, trace(trace_id), (b"content-length", b"%d" % len(response.body))]
    return response


def head(trace_id: str, run_id: str) -> Headers:
    """Of an answer that a run makes."""
    return [*EVENTS, trace(trace_id), (b"x-completion-id", run_id.encode())]


def trace(trace_id: str) -> tuple[bytes, bytes]:
    return b"x-trace-id", trace_id.encode("latin-1", "replace")
