"""Gives every request an id, which its response carries in `x-request-id` and every log line about it holds.

It also reports how long the response took to begin.
"""

import re
from collections.abc import Callable, Mapping
from time import perf_counter

from starlette.types import Message, Scope, Send

from rightseat.access.route_auth import find_route_auth
from rightseat.core.ids import new_id
from rightseat.core.tracing import LOG_CONTEXT, REQUEST_BEGAN, LogContext
from rightseat.limits.response_headers import RESPONSE_HEADERS

REQUEST_ID_PATTERN = re.compile(r"[0-9A-Za-z._:-]{1,128}")


ObserveRequest = Callable[[str, int, str, float], None]
"""Called when a response begins, with the method, the status, the face and the seconds since the request."""
FACELESS = "server"
"""In place of the face of a request that no face serves."""


class RequestIdSend:
    """An ASGI `send` that adds `x-request-id`: the client's own id if it is well-formed, else a new one.

    It also adds the headers of `limits.response_headers`, for example those of limits.

    `varies_by_origin` adds `Vary: Origin`, as `CORSMiddleware` would.
    """

    __slots__ = ("_began", "_headers", "_id", "_observe", "_scope", "_send", "_varies_by_origin")

    def __init__(
        self, scope: Scope, send: Send, observe: ObserveRequest | None = None, *, varies_by_origin: bool = False
    ) -> None:
        self._observe = observe
        self._scope: Scope | None = None
        if observe is not None:
            self._scope = scope
            self._began = perf_counter()
            REQUEST_BEGAN.set(self._began)
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
            if self._observe is not None and self._scope is not None:
                scope, self._scope = self._scope, None
                self._observe(scope["method"], message["status"], face_of(scope), perf_counter() - self._began)
        await self._send(message)


def face_of(scope: Scope) -> str:
    auth = find_route_auth(scope.get("endpoint"))
    return auth.face if auth else FACELESS


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
