"""Sends a request to an ASGI application in this process."""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Scope


class AsgiResponse(NamedTuple):
    """Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def send_request(
    application: ASGIApp, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> AsgiResponse:
    """Returns when the response is complete."""
    started: dict[str, Message] = {}
    pieces: list[bytes] = []
    requests: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return requests.pop() if requests else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            started["start"] = message
        else:
            pieces.append(message.get("body", b""))

    await application(make_scope(method, path, {"host": "localhost", **headers}), receive, send)
    start = started["start"]
    received = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start.get("headers", ())}
    return AsgiResponse(start["status"], received, b"".join(pieces))


def make_scope(method: str, path: str, headers: Mapping[str, str]) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
