"""Streamed answers over HTTP/1.1 from one server that the operator named, at the least CPU per piece.

One `Connection` carries one answer at a time and goes back to its `Pool` once the answer was read to its end. Leaving
an answer early closes its connection, which is how the other side learns that nobody listens any more. Reading is
paused while the reader is behind, so a slow reader slows the sender down instead of filling our memory.
"""

import asyncio
import os
import re
import socket
import ssl
from collections import deque
from collections.abc import Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, NamedTuple, cast
from urllib.parse import SplitResult, urlsplit

import httptools

AHEAD = 32768  # bytes of an answer that may wait for its reader before the sender is paused
AT_ONCE = 32768  # bytes that are taken from a socket in one go
KEPT_FOR = 30.0  # seconds that a connection may be idle: firewalls forget them without a word
A_MOMENT = 1.0  # seconds; a kept connection that ends sooner had most likely been closed before we asked


class Unreachable(Exception):
    """No connection, no answer in time, or an answer that broke off. The text says which."""


class Asked(NamedTuple):
    """A request that is about to leave, for whoever signs it. `headers` are those whose values must not change."""

    method: str
    host: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Pool:
    """Connections to one origin. `patience` is the longest silence, in seconds, before a connection is given up."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, patience: float = 300.0, connect_within: float = 10.0
    ) -> None:
        parts = read_address(base_url)
        ours = {"host": parts.netloc, "content-type": "application/json"}
        self._host = parts.hostname or ""
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._path = parts.path.rstrip("/")
        self._query = f"?{parts.query}" if parts.query else ""
        self._headers = ours | {name.lower(): value for name, value in headers.items()}
        self._head = write_headers(self._headers)
        self._patience = patience
        self._connect_within = connect_within
        self._closed = False
        self._idle: deque[Connection] = deque()  # the longest idle first
        self._buffer = memoryview(bytearray(AT_ONCE))  # one for all: what was read is parsed before the next read

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> "AbstractAsyncContextManager[Answer]":
        """Send a JSON body, with `headers` of this request alone; the block gets the answer once its head is there."""
        return _Asking(self, self._request("POST", path, body, headers))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> "AbstractAsyncContextManager[Answer]":
        return _Asking(self, self._request("GET", path, b"", headers))

    def asked(self, path: str, body: bytes) -> Asked:
        """What `post` would send."""
        kept = {"content-type": self._headers["content-type"]}
        return Asked("POST", self._headers["host"], f"{self._path}{path}{self._query}", kept, body)

    async def aclose(self) -> None:
        """Close what is idle now, and each other connection as soon as its answer was read."""
        self._closed = True
        while self._idle:
            self._idle.pop().abort()

    async def ask(self, request: bytes) -> "tuple[Connection, Answer]":
        """A kept connection that ends at once had most likely been closed before we wrote: a new one is tried, once."""
        connection = self._take_kept()
        if connection is not None:
            try:
                return connection, await connection.ask(request)
            except _NeverAnswered as error:
                if not error.at_once:
                    raise Unreachable("It closed the connection without an answer.") from None
        connection = await self._connect()
        try:
            return connection, await connection.ask(request)
        except _NeverAnswered:
            raise Unreachable("It closed the connection without an answer.") from None

    def _take_kept(self) -> "Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fresh():
                return connection
            connection.abort()
        return None

    def give_back(self, connection: "Connection") -> None:
        if connection.is_reusable() and not self._closed:
            self._idle.append(connection)
        else:
            connection.abort()
        while self._idle and not self._idle[0].is_fresh():
            self._idle.popleft().abort()

    async def _connect(self) -> "Connection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_within):
                _, connection = await loop.create_connection(
                    lambda: Connection(loop, self._buffer, self._patience), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            raise Unreachable(f"It took no connection within {self._connect_within:g} s.") from None
        except OSError as error:
            raise Unreachable(f"It takes no connection: {explain(error)}.") from error
        return connection

    def _request(self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
        if not _TARGET.fullmatch(path):
            raise ValueError(f"{path!r} is no path.")
        line = f"{method} {self._path}{path}{self._query} HTTP/1.1\r\n"
        head = self._head + write_headers(headers) if headers else self._head
        return f"{line}{head}content-length: {len(body)}\r\n\r\n".encode("latin-1") + body


class _Asking:
    """A request, sent when its block is entered. A class, because each stream holds one for as long as it lasts."""

    __slots__ = ("_connection", "_pool", "_request")

    def __init__(self, pool: Pool, request: bytes) -> None:
        self._pool = pool
        self._request = request

    async def __aenter__(self) -> "Answer":
        request, self._request = self._request, b""  # a prompt may be long, and its answer take its time
        self._connection, answer = await self._pool.ask(request)
        return answer

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.give_back(self._connection)


_TARGET = re.compile(r"[!-~]*")
_HOST = re.compile(r"[0-9A-Za-z_:%-]{1,63}(\.[0-9A-Za-z_-]{1,63})*\.?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")


def read_address(base_url: str) -> SplitResult:
    """Raises `ValueError`, with words for the operator."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("the address should begin with http:// or https:// and the name of a host")
    if "@" in parts.netloc:
        raise ValueError("the address should hold no user and no password; send them in a header")
    if not _TARGET.fullmatch(parts.path + parts.query):
        raise ValueError("the address should hold plain characters only, others as %-escapes")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("the port of the address should be a number up to 65535") from None
    return parts


def write_headers(headers: Mapping[str, str]) -> str:
    """Raises `ValueError` where one would become two, without its value: that may be a secret."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in ("content-length", "transfer-encoding"):
            raise ValueError(f"a header cannot be named {name!r}")
        if not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} should be one line of plain characters")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def explain(error: OSError) -> str:
    """Without addresses, which asyncio puts into its texts: this one may be shown to whoever asked."""
    if isinstance(error, ssl.SSLError | socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno) if error.errno else "none of its addresses answers"


class _NeverAnswered(Unreachable):
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
        body = b""
        try:
            async with asyncio.timeout(within):
                async for piece in self:
                    body += piece
                    if len(body) >= most:
                        break
        except (TimeoutError, Unreachable):
            pass  # what came is all there is to tell
        return body[:most].decode("utf-8", "replace")

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
            raise _NeverAnswered(at_once=True)
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
                    raise _NeverAnswered(at_once=self._loop.time() - self._heard_at < A_MOMENT)
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
        """Re-armed only when it rings, so that a piece costs no timer."""
        left = self._heard_at + self._patience - self._loop.time()
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
