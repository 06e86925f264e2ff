"""A server on a real socket that plays exact bytes, for whatever must be told apart below HTTP."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conditions import settle


@dataclass(frozen=True)
class Request:
    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Fails where the header came twice."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) < 2, self.headers
        return values[0] if values else None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Visit:
    """One connection, as the server has it."""

    def __init__(self, server: "Server", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer
        self.left = asyncio.Event()

    async def request(self) -> Request:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in (field.partition(":") for field in fields)]
        length = int(next((value for name, value in headers if name == "content-length"), "0"))
        request = Request(line, headers, await self.reader.readexactly(length))
        self.server.requests.append(request)
        return request

    async def send(self, *pieces: bytes) -> None:
        """Each piece in a segment of its own, as far as one can ask for that."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await settle(1)

    async def gone(self) -> None:
        """Until the client has closed its side. Whoever else reads may go on reading."""
        await self.left.wait()


@dataclass
class Server:
    url: str = ""
    visits: list[Visit] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)


class Protocol(asyncio.StreamReaderProtocol):
    """asyncio's streams, and a note of when the other side is gone: a task that reads would have to wait for it."""

    def __init__(self, server: Server, accept: Callable[[Visit], None], loop: asyncio.AbstractEventLoop) -> None:
        self.visit: Visit | None = None

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.visit = Visit(server, reader, writer)
            accept(self.visit)

        super().__init__(asyncio.StreamReader(loop=loop), connected, loop=loop)

    def eof_received(self) -> bool:
        self._note()
        return super().eof_received() or False

    def connection_lost(self, exc: Exception | None) -> None:
        self._note()
        super().connection_lost(exc)

    def _note(self) -> None:
        if self.visit:
            self.visit.left.set()


Script = Callable[[Visit], Awaitable[None]]
"""What the server does with one connection. When it is done, the connection is closed."""


@asynccontextmanager
async def playing(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Play `script` on each connection. What goes wrong in a script goes wrong in the test."""
    server = Server()
    tasks: list[asyncio.Task[None]] = []

    async def visited(visit: Visit) -> None:
        try:
            await script(visit)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            visit.writer.close()

    def accept(visit: Visit) -> None:
        server.visits.append(visit)
        tasks.append(loop.create_task(visited(visit)))

    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Protocol(server, accept, loop), "127.0.0.1", 0, ssl=tls)
    host, port = listener.sockets[0].getsockname()
    server.url = f"{'https' if tls else 'http'}://{host}:{port}"
    try:
        yield server
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        for visit in server.visits:
            visit.writer.transport.abort()
        for problem in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(problem, Exception):
                raise problem


def answers(*bodies: bytes) -> Script:
    """The same answer to every request, on as many connections as come; each connection is kept."""

    async def script(visit: Visit) -> None:
        while True:
            await visit.request()
            await visit.send(*bodies)

    return script


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@contextmanager
def full_backlog(address: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """A port whose queue of connections is full, so that the next one is neither accepted nor refused."""
    with socket.socket() as listener:
        listener.bind((address, port))
        listener.listen(0)
        waiting: list[socket.socket] = []
        try:
            for _ in range(16):
                one = socket.socket()
                waiting.append(one)
                one.settimeout(0.2)
                one.connect(listener.getsockname())
            pytest.skip("this machine's queue has no end")
        except TimeoutError:
            yield listener.getsockname()[1]
        finally:
            for one in waiting:
                one.close()
