"""HTTP/1.1 for `rightseat serve`: uvicorn's protocol with limits for clients that send too much, or too slowly.

- A request head is read up to `MAX_HEAD_BYTES`; the rest is neither parsed nor kept. Trailers count the same way.
- A client has `read_timeout` seconds for its next request, and as long again for the whole of the request.
- A client that does not read is disconnected `write_timeout` seconds after the server could last send something.

No connection has a timer for this: a stream costs nothing while its client reads. `ConnectionTimeouts` checks all
connections in turn.
"""

import asyncio
import logging
import socket
import struct
import time
from collections.abc import Collection
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from rightseat.access.request_limits import MAX_HEAD_BYTES
from rightseat.faces._shared.run_response import WRITE_NOW

logger = logging.getLogger(__name__)

MAX_DISCARDED_BYTES = 262_144  # read from a refused client: a reset could overtake the response
DISCARD_TIMEOUT_S = 1.0  # as above
BATCH_SIZE = 1000  # connections for each tick of the server (0.1 s); a check takes 0.4 µs
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: bytes that the client never read leave the kernel at once


Phase = Literal["between requests", "head", "body"]


class WakeEvent:
    """What uvicorn uses of `asyncio.Event`, whose deque of waiters takes 760 bytes."""

    __slots__ = ("_is_set", "_waiters")

    def __init__(self, *, is_set: bool = False) -> None:
        self._is_set = is_set
        self._waiters: tuple[asyncio.Future[None], ...] = ()

    def set(self) -> None:
        self._is_set = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        if self._is_set:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters += (waiter,)
        try:
            await waiter
        finally:
            self._waiters = tuple(one for one in self._waiters if one is not waiter)


class Pipeline(list[Any]):
    """Requests that wait for the response to the one before. Replaces a deque, which takes 760 bytes and is empty."""

    __slots__ = ()

    def appendleft(self, waiting: Any) -> None:
        self.insert(0, waiting)


class HttpProtocol(HttpToolsProtocol):
    # uvicorn's attributes fill a dictionary that shares its keys between all connections, up to 30 of them: it has 28.
    __slots__ = (
        "discarded_bytes",
        "has_progressed",
        "phase",
        "unparsed_bytes",
        "unsent_bytes",
        "unsent_since",
        "waiting_since",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pipeline = Pipeline()  # type: ignore[assignment]
        self.phase: Phase = "between requests"
        self.waiting_since: float | None = None  # for bytes of the client; None while the server works
        self.unsent_bytes = 0
        self.unsent_since = 0.0
        self.unparsed_bytes = 0  # received since a head ended or a piece of a body came
        self.has_progressed = False
        self.discarded_bytes: int | None = None  # a number once the client is refused

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow._is_writable_event = WakeEvent(is_set=True)  # type: ignore[assignment]
        self.waiting_since = time.monotonic()

    def data_received(self, data: bytes) -> None:
        if len(data) <= MAX_HEAD_BYTES:
            return self._parse(data)
        view = memoryview(data)
        for start in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing():
                return None
            self._parse(view[start : start + MAX_HEAD_BYTES])
        return None

    def _parse(self, data: Any) -> None:
        if self.discarded_bytes is not None:
            return self._discard(len(data))
        self.has_progressed = False
        super().data_received(data)
        if self.has_progressed:
            self.unparsed_bytes = 0
            return None
        self.unparsed_bytes += len(data)
        if self.unparsed_bytes >= MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()
        return None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.phase = "head"
        self.waiting_since = time.monotonic()

    def on_headers_complete(self) -> None:
        self.phase = "body"
        self.has_progressed = True
        super().on_headers_complete()
        if getattr(self.cycle, "scope", None) is self.scope:  # the request does not upgrade the connection
            self.cycle.message_event = WakeEvent()  # type: ignore[assignment]
            self.scope[WRITE_NOW] = partial(write_now, self.cycle)

    def on_body(self, body: bytes) -> None:
        self.has_progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.phase = "between requests"
        self.has_progressed = True
        self.waiting_since = None
        super().on_message_complete()
        self._wait_for_the_next()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for_the_next()

    def _wait_for_the_next(self) -> None:
        """There is no cycle if the first request of a connection opens a WebSocket."""
        if self.waiting_since is None and getattr(self.cycle, "response_complete", False):
            self.waiting_since = time.monotonic()

    def _refuse_head(self) -> None:
        is_target = self.phase == "head" and len(self.url) > MAX_HEAD_BYTES // 2
        status = HTTPStatus.REQUEST_URI_TOO_LONG if is_target else HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        what = "target" if is_target else "head"
        logger.warning("%s: refused a request whose %s is longer than 32 KB", self.client, what)
        self.refuse(status, f"The {what} of the request is too long: at most 32 KB are read.")

    def refuse(self, status: HTTPStatus, message: str) -> None:
        """Answer, parse nothing more, and close. A response that is already on its way is never mixed with another."""
        self.discarded_bytes = 0
        self.waiting_since = time.monotonic()
        if self.phase == "body":
            if self.cycle.response_started:
                return self.transport.close()
            self.cycle.disconnected = True  # the application waits for the rest of the body
            self.cycle.message_event.set()
        elif not getattr(self.cycle, "response_complete", True):  # there is no cycle before the first request
            self.cycle.keep_alive = False
            self.waiting_since = None  # the response to the request before is on its way
            return None
        self._unset_keepalive_if_required()
        body = message.encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        return None

    def _discard(self, size: int) -> None:
        self.discarded_bytes = (self.discarded_bytes or 0) + size
        if self.discarded_bytes > MAX_DISCARDED_BYTES:
            self.transport.abort()


def write_now(cycle: RequestResponseCycle, body: bytes) -> bool:
    """Write a chunk of the response that `cycle` sends. False if its `send` has to wait, or to do anything else.

    `send` writes the same bytes, and takes 1.3 µs longer: for a message, a coroutine and a list.
    """
    if not cycle.chunked_encoding or cycle.response_complete or cycle.disconnected or cycle.flow.write_paused:
        return False
    cycle.transport.write(b"%x\r\n%b\r\n" % (len(body), body))
    return True


class ConnectionTimeouts:
    """Closes connections of clients that are too slow. The server calls `check_connections` ten times a second."""

    def __init__(self, connections: Collection[Any], read_timeout: float, write_timeout: float) -> None:
        self._connections = connections
        self._read_timeout = read_timeout
        self._write_timeout = write_timeout
        self._due: list[HttpProtocol] = []

    def check_connections(self) -> None:
        if not self._due:
            self._due = list(self._connections)
        now = time.monotonic()
        batch, self._due = self._due[:BATCH_SIZE], self._due[BATCH_SIZE:]
        for connection in batch:
            if connection in self._connections:
                self._check_unsent(connection, now)
                if connection.waiting_since is not None:
                    self._check_waiting(connection, connection.waiting_since, now)

    def _check_unsent(self, connection: HttpProtocol, now: float) -> None:
        """The buffer of a client that reads has another size each time. Nothing is added to one that is full."""
        unsent = connection.transport.get_write_buffer_size()
        if unsent == 0 or unsent != connection.unsent_bytes:
            connection.unsent_bytes = unsent
            connection.unsent_since = now
        elif now - connection.unsent_since >= self._write_timeout:
            text = "%s: closed the connection, because the client read nothing for %g s (%d bytes unsent)"
            logger.warning(text, connection.client, self._write_timeout, unsent)
            reset(connection)

    def _check_waiting(self, connection: HttpProtocol, since: float, now: float) -> None:
        if connection.discarded_bytes is not None:
            if now - since >= DISCARD_TIMEOUT_S:
                connection.transport.close()
        elif connection.flow.read_paused:
            connection.waiting_since = now  # the client cannot send: the application has not read what came before
        elif now - since >= self._read_timeout and not connection.transport.is_closing():
            self._give_up(connection)

    def _give_up(self, connection: HttpProtocol) -> None:
        if connection.phase == "between requests":
            return connection.transport.close()
        text = "%s: closed the connection, because the %s of a request was not complete after %g s"
        logger.warning(text, connection.client, connection.phase, self._read_timeout)
        message = f"The request was not complete after {self._read_timeout:g} s."
        return connection.refuse(HTTPStatus.REQUEST_TIMEOUT, message)


def reset(connection: HttpProtocol) -> None:
    if found := connection.transport.get_extra_info("socket"):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    connection.transport.abort()
