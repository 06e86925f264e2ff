"""A response that holds the place of its request among the reads of its user until it is sent."""

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rightseat.limits.read_limits import RequestReads

SHORT_BODY_BYTES = 65_536
"""The server buffers a body of this size, so that a client which does not read it holds nothing else."""


class HeldResponse(Response):
    """Sends a long body in pieces: a client that does not read it makes the server buffer one of them."""

    def __init__(self, response: Response, reads: RequestReads) -> None:
        self._response = response
        self._reads = reads
        self.status_code = response.status_code
        self.raw_headers = response.raw_headers
        self.background = None  # the response runs its own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send_in_pieces(send))
        finally:
            self._reads.close()


def send_in_pieces(send: Send) -> Send:
    async def send_message(message: Message) -> None:
        body: bytes = message.get("body", b"")
        if len(body) <= SHORT_BODY_BYTES:
            return await send(message)
        view = memoryview(body)
        last = len(body) - SHORT_BODY_BYTES
        for start in range(0, len(body), SHORT_BODY_BYTES):
            piece = bytes(view[start : start + SHORT_BODY_BYTES])
            await send({**message, "body": piece, "more_body": start < last or message.get("more_body", False)})

    return send_message


def is_short(response: Response) -> bool:
    """Whether the response is sent with its first piece."""
    is_complete = "content-length" in response.headers or response.status_code in (204, 304)
    return is_complete and len(getattr(response, "body", b"")) <= SHORT_BODY_BYTES


def is_event_stream(response: Response) -> bool:
    return response.headers.get("content-type", "").startswith("text/event-stream")
