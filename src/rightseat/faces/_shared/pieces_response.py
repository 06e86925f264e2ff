"""A response that is made while it is sent: at no time does it take more memory than a piece of it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.concurrency import cancel_and_wait
from rightseat.faces._shared.connection import wait_for_disconnect
from rightseat.wire.json_pieces import PIECE_BYTES

Pieces = bytes | Iterator[bytes] | AsyncIterator[bytes]


class PiecesResponse(Response):
    """Makes the next piece once the client has taken the one before. Other requests are served in between.

    An error while it is sent closes the connection, because an end would look complete.
    """

    def __init__(
        self,
        pieces: Pieces,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        super().__init__(None, status_code, headers, media_type)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        disconnect = asyncio.create_task(wait_for_disconnect(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with aclosing(iterate_pieces(self._pieces)) as pieces:
                async for piece in pieces:
                    if disconnect.done():  # what is sent now is lost, and takes the time of others
                        return
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await cancel_and_wait(disconnect)


async def begin_pieces(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Make the first piece now, so that an error before it is the error of the request."""
    first = await anext(pieces, b"")
    return chain_pieces(first, pieces)


async def chain_pieces(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


async def iterate_pieces(pieces: Pieces) -> AsyncGenerator[bytes, None]:
    """None longer than `PIECE_BYTES`. The event loop serves others between two."""
    if isinstance(pieces, bytes):
        pieces = iter((pieces,))
    if isinstance(pieces, AsyncIterator):
        async for piece in pieces:
            for part in split_bytes(piece):
                yield part
                await asyncio.sleep(0)
        return
    for piece in pieces:
        for part in split_bytes(piece):
            yield part
            await asyncio.sleep(0)


def split_bytes(body: bytes) -> Iterable[bytes]:
    if len(body) <= PIECE_BYTES:
        return (body,) if body else ()
    view = memoryview(body)
    return (bytes(view[start : start + PIECE_BYTES]) for start in range(0, len(body), PIECE_BYTES))
