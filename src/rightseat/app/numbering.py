"""Every request has an id: in the head of its answer, and in all that is logged of it."""

import re

from starlette.datastructures import Headers
from starlette.types import Message, Scope, Send

from rightseat.core.ids import new_id
from rightseat.core.observing import ABOUT, About

REQUEST_ID = re.compile(r"[0-9A-Za-z._:-]{1,128}")


class Numbered:
    """Sends an answer with the id of its request in its head: the client's own where that is a plain one."""

    __slots__ = ("_id", "_send")

    def __init__(self, scope: Scope, send: Send) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self._id = given if REQUEST_ID.fullmatch(given) else new_id("req")
        self._send = send
        ABOUT.set(About(self._id))

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"x-request-id", self._id.encode())]}
        await self._send(message)
