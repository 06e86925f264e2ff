"""Every request has an id: in the head of its answer, and in all that is logged of it."""

import re

from starlette.datastructures import Headers
from starlette.types import Message, Scope, Send

from rightseat.core.ids import new_id
from rightseat.core.observing import ABOUT, About

REQUEST_ID = re.compile(r"[0-9A-Za-z._:-]{1,128}")


class Numbered:
    """Sends an answer with the id of its request in its head: the client's own where that is a plain one.

    `is_any_origin` says in the head, as `CORSMiddleware` would, that a page of some origin may get another answer.
    """

    __slots__ = ("_id", "_is_any_origin", "_send")

    def __init__(self, scope: Scope, send: Send, *, is_any_origin: bool = False) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self._id = given if REQUEST_ID.fullmatch(given) else new_id("req")
        self._is_any_origin = is_any_origin
        self._send = send
        ABOUT.set(About(self._id))

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (b"x-request-id", self._id.encode())]
            message = {**message, "headers": varied(headers) if self._is_any_origin else headers}
        await self._send(message)


def varied(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    known = [value for name, value in headers if name.lower() == b"vary"]
    others = [header for header in headers if header[0].lower() != b"vary"] if known else headers
    return [*others, (b"vary", b", ".join([*known, b"Origin"]))]
