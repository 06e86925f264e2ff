"""Sends the events of a rerun as they come, and its outcome at the end, to the client that started it."""

import asyncio

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.concurrency import cancel_and_wait
from rightseat.core.events import Event
from rightseat.core.stream import codec
from rightseat.faces._shared.connection import wait_for_disconnect
from rightseat.faces.operator.entries import write_entry
from rightseat.operations.reruns import Rerun, RerunOutcome

NDJSON = "application/x-ndjson"
KEEP_ALIVE_S = 10.0
"""After so long without an event an empty line is sent, so that proxies keep the connection open."""


class RerunResponse(Response):
    """A JSON object for each line: the events, and last `{"outcome": …}`. The rerun ends with its client."""

    def __init__(self, rerun: Rerun) -> None:
        super().__init__(None, media_type=NDJSON)
        del self.headers["content-length"]
        self._rerun = rerun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        disconnect = asyncio.create_task(wait_for_disconnect(receive))
        sending = asyncio.create_task(self._send(send))
        try:
            await asyncio.wait((disconnect, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._rerun.aclose()
            await cancel_and_wait(disconnect)
            if not sending.done():
                await cancel_and_wait(sending)
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        is_over = False
        while not is_over:
            line = b""
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    read = await self._rerun.read()
            except TimeoutError:
                pass
            else:
                is_over = isinstance(read, RerunOutcome)
                line = write_read(read)
            await send({"type": "http.response.body", "body": line + b"\n", "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def write_read(read: Event | RerunOutcome) -> bytes:
    if isinstance(read, RerunOutcome):
        return b'{"outcome":' + msgspec.json.encode(read) + b"}"
    return b'{"event":' + codec.encode(write_entry(read, has_details=True)) + b"}"
