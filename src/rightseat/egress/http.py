"""Requests over HTTP/1.1 to one server that the operator named, on connections that are kept between two of them.

A `Connection` goes back to its `Pool` once its answer was read to its end. Leaving an answer early closes it.
"""

import asyncio
import os
import re
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from rightseat.egress.connection import AT_ONCE, Answer, Connection, NeverAnswered, Unreachable


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
    ) -> AbstractAsyncContextManager[Answer]:
        """Send a JSON body, with `headers` of this request alone; the block gets the answer once its head is there."""
        return _Asking(self, self._request("POST", path, body, headers))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> AbstractAsyncContextManager[Answer]:
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

    async def ask(self, request: bytes) -> tuple[Connection, Answer]:
        """A kept connection that ends at once had most likely been closed before we wrote: a new one is tried, once."""
        connection = self._take_kept()
        if connection is not None:
            try:
                return connection, await connection.ask(request)
            except NeverAnswered as error:
                if not error.at_once:
                    raise Unreachable("It closed the connection without an answer.") from None
        connection = await self._connect()
        try:
            return connection, await connection.ask(request)
        except NeverAnswered:
            raise Unreachable("It closed the connection without an answer.") from None

    def _take_kept(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fresh():
                return connection
            connection.abort()
        return None

    def give_back(self, connection: Connection) -> None:
        if connection.is_reusable() and not self._closed:
            self._idle.append(connection)
        else:
            connection.abort()
        while self._idle and not self._idle[0].is_fresh():
            self._idle.popleft().abort()

    async def _connect(self) -> Connection:
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

    async def __aenter__(self) -> Answer:
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
