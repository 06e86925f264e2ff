"""One connection over HTTP/1.1, and the streamed answer that is read from it, at the least CPU per piece.

It carries one answer at a time. To abort it is how the other side learns that nobody listens any more. Reading is
paused while the reader is behind, so a slow reader slows the sender down instead of filling our memory.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import httptools

AHEAD = 32768  # bytes of an answer that may wait for its reader before the sender is paused
AT_ONCE = 32768  # bytes that are taken from a socket in one go
KEPT_FOR = 30.0  # seconds that a connection may be idle: firewalls forget them without a word
SECOND_FACTOR, SECOND_S = 1.25, 0.25  # when a silent connection is closed, from its patience
A_MOMENT = 1.0  # seconds; a kept connection that ends sooner had most likely been closed before we asked


class Unreachable(Exception):
    """No connection, no answer in time, or an answer that broke off. The text says which."""


class NeverAnswered(Unreachable):
    """A connection ended before a byte of its answer came; `at_once`: the request was hardly read."""

    def __init__(self, at_once: bool) -> None:
        super().__init__("It closed the connection without an answer.")
        self.at_once = at_once


class Answer:
    """Status, headers, and the body as it comes: `async for piece in answer`."""

    __slots__ = ("_connection", "headers", "status")

    def __init__(self, connection: "Connection", status: int, headers: dict[str, str]) -> None:
        self._connection = connection
        self.status = status
        self.headers = headers

    def __aiter__(self) -> "Answer":
        return self

    def __anext__(self) -> Coroutine[Any, Any, bytes]:
        """All that has come since the last time. Raises `Unreachable` where the answer broke off."""
        return self._connection.read()

    async def text(self, most: int = 65536, within: float = 5.0) -> str:
        """The body of a short answer, such as an error; cut at `most` bytes, or where it breaks off or stalls."""
        pieces, size = [], 0
        try:
            async with asyncio.timeout(within):
                async for piece in self:
                    pieces.append(piece)
                    size += len(piece)
                    if size >= most:
                        break
        except (TimeoutError, Unreachable):
            pass  # what came is all there is to tell
        return b"".join(pieces)[:most].decode("utf-8", "replace")

    async def finish(self, within: float = 0.1) -> None:
        """Skip what nobody needs any more, so that the connection can be kept; if that takes longer, it is not."""
        if self._connection.is_over():
            return
        try:
            async with asyncio.timeout(within):
                async for _ in self:
                    pass
        except (TimeoutError, Unreachable):
            pass


class Connection(asyncio.BufferedProtocol):
    """One connection, and the answer that is being read from it. Its own parser's callbacks are the `on_…` methods."""

    __slots__ = (
        "_buffer", "_clock", "_failure", "_head", "_heard_at", "_keeps", "_loop", "_open", "_over", "_parser",
        "_patience", "_paused", "_pieces", "_size", "_started", "_status", "_transport", "_waiter",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, buffer: memoryview, patience: float) -> None:
        self._loop = loop
        self._buffer = buffer
        self._patience = patience
        self._waiter: asyncio.Future[None] | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._open = True
        self._over = True
        self._started = False

    def is_over(self) -> bool:
        return self._over

    def is_open(self) -> bool:
        return self._open and not self._transport.is_closing()

    def is_fresh(self) -> bool:
        return self.is_open() and self._loop.time() - self._heard_at < KEPT_FOR

    def is_reusable(self) -> bool:
        return self._over and self._keeps and not self._failure and self.is_open()

    def abort(self) -> None:
        self._stop_clock()
        self._transport.abort()

    async def ask(self, request: bytes) -> Answer:
        if not self._open:  # nobody would wake us
            raise NeverAnswered(at_once=True)
        self._parser = httptools.HttpResponseParser(self)
        self._head: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._size = 0
        self._status = 0
        self._failure = ""
        self._started = self._over = self._keeps = self._paused = False
        self._heard_at = self._loop.time()
        self._clock = self._loop.call_later(self._patience, self._check_silence)
        self._transport.write(request)
        try:
            while not self._status:
                if self._over:
                    if self._started or self._failure:
                        raise Unreachable(self._failure)
                    raise NeverAnswered(at_once=self._loop.time() - self._heard_at < A_MOMENT)
                await self._wait()
        except BaseException:
            self.abort()
            raise
        return Answer(self, self._status, self._head)

    async def read(self) -> bytes:
        while not self._pieces:
            if self._over:
                if self._failure:
                    raise Unreachable(self._failure)
                raise StopAsyncIteration
            if self._paused:
                self._paused = False
                self._heard_at = self._loop.time()  # it was we who did not listen
                self._transport.resume_reading()
            await self._wait()
        pieces, self._pieces, self._size = self._pieces, [], 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end(self, failure: str = "") -> None:
        if not self._over:
            self._over = True
            self._failure = failure
            self._stop_clock()
            self._wake()

    def _check_silence(self) -> None:
        """Re-armed only when it rings, so that a piece costs no timer.

        A reader that knows what is content measures silence itself and reports it better, so this timer comes second.
        """
        left = self._heard_at + SECOND_FACTOR * self._patience + SECOND_S - self._loop.time()
        if self._paused or left > 0:
            self._clock = self._loop.call_later(left if left > 0 else self._patience, self._check_silence)
        elif not self._over:
            self._end(f"It was silent for {self._patience:g} s.")
            self.abort()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._over:  # bytes after the end of an answer: nobody asked for them
            self._transport.abort()
            return
        self._started = True
        self._heard_at = self._loop.time()
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(f"Its answer is no HTTP: {error}.")
            self._transport.abort()
            return
        self._wake()
        if self._size > AHEAD and not self._paused and not self._over:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        self._open = False
        if (
            not self._over
            and self._status
            and "content-length" not in self._head
            and "transfer-encoding" not in self._head
        ):
            self._end()  # an answer whose end is the end of the connection

    def connection_lost(self, exc: Exception | None) -> None:
        self._open = False
        self._stop_clock()
        self._end("Its answer broke off." if self._started else "")

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._over:
            raise ValueError("a second answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # an interim answer; the real one follows
            self._head = {}
            return
        self._status = status
        self._keeps = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._size += len(body)

    def on_message_complete(self) -> None:
        if self._status:
            self._end()
