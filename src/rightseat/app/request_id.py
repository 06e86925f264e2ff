"""Gives every request an id, which its response carries in `x-request-id` and every log line about it holds."""

import re
from collections.abc import Mapping

from starlette.types import Message, Scope, Send

from rightseat.core.ids import new_id
from rightseat.core.response_headers import RESPONSE_HEADERS
from rightseat.core.tracing import LOG_CONTEXT, LogContext

REQUEST_ID_PATTERN = re.compile(r"[0-9A-Za-z._:-]{1,128}")


class RequestIdSend:
    """An ASGI `send` that adds `x-request-id`: the client's own id if it is well-formed, else a new one.

    It also adds the headers of `core.response_headers`, for example those of limits.

    `varies_by_origin` adds `Vary: Origin`, as `CORSMiddleware` would.
    """

    __slots__ = ("_headers", "_id", "_send", "_varies_by_origin")

    def __init__(self, scope: Scope, send: Send, *, varies_by_origin: bool = False) -> None:
        client_id = find_header(scope, b"x-request-id")
        self._id = client_id if client_id and REQUEST_ID_PATTERN.fullmatch(client_id) else new_id("req")
        self._varies_by_origin = varies_by_origin
        self._send = send
        LOG_CONTEXT.set(LogContext(self._id))
        self._headers: dict[str, str] = {}
        RESPONSE_HEADERS.set(self._headers)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (b"x-request-id", self._id.encode())]
            if self._headers:
                headers += missing_headers(headers, self._headers)
            message = {**message, "headers": add_vary_origin(headers) if self._varies_by_origin else headers}
        await self._send(message)


def find_header(scope: Scope, name: bytes) -> str | None:
    """The first header of that name. Starlette's `Headers` takes five times as long."""
    for key, value in scope["headers"]:
        if key == name:
            found: bytes = value
            return found.decode("latin-1")
    return None


def missing_headers(known: list[tuple[bytes, bytes]], added: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in known}
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in added.items()]
    return [pair for pair in pairs if pair[0] not in names]


def add_vary_origin(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    known = [value for name, value in headers if name.lower() == b"vary"]
    others = [header for header in headers if header[0].lower() != b"vary"] if known else headers
    return [*others, (b"vary", b", ".join([*known, b"Origin"]))]
