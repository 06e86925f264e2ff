"""What clients that send too much, too slowly, or never read, cost a server."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from rightseat.access.request_limits import MAX_HEAD_BYTES
from rightseat.cli.http_protocol import ConnectionTimeouts, HttpProtocol, WakeEvent
from rightseat.faces._shared.run_response import WRITE_NOW
from tests.conditions import Paced, settle, until, until_stable
from tests.conftest import stop

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n"
LOG = "rightseat.cli.http_protocol"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the length of the body; `/early` does not wait for the body."""
    size, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
    body = b"%d" % size
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def flood(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(400):
        await send({"type": "http.response.body", "body": b"a" * 60_000, "more_body": True})
    await send({"type": "http.response.body", "body": b"end"})


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served:
    def __init__(self, server: uvicorn.Server, port: int, timeouts: ConnectionTimeouts) -> None:
        self.server = server
        self.port = port
        self.timeouts = timeouts

    @asynccontextmanager
    async def connect(self, receive_buffer: int | None = None) -> AsyncIterator[Connection]:
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=client, limit=65_536)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def exchange(self, sent: bytes) -> bytes:
        """What comes back until the server closes the connection."""
        async with asyncio.timeout(30), self.connect() as (reader, writer):
            writer.write(sent)
            return await reader.read()


@asynccontextmanager
async def serving(
    app: Callable[..., Any], read_timeout: float = 30.0, write_timeout: float = 30.0, *, checks: bool = True
) -> AsyncIterator[Served]:
    """Connections are checked all the time, or without `checks` only when the test does so."""
    settings = uvicorn.Config(app, http=HttpProtocol, ws="none", lifespan="off", log_config=None, access_log=False)
    settings.load()
    server = uvicorn.Server(settings)
    server.lifespan = settings.lifespan_class(settings)
    timeouts = ConnectionTimeouts(server.server_state.connections, read_timeout, write_timeout)

    async def visit() -> None:
        async for _ in Paced(count() if checks else (), 0.02):
            timeouts.check_connections()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup(sockets=[listener])
        visiting = asyncio.create_task(visit())
        try:
            yield Served(server, listener.getsockname()[1], timeouts)
        finally:
            visiting.cancel()
            await stop(server)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (GET + b"x-a: " + b"a" * 40_000 + b"\r\n\r\n", b"431"),
        (GET + b"x-a: " + b"a" * 400_000, b"431"),
        (GET + b"".join(b"x-%d: y\r\n" % n for n in range(4000)) + b"\r\n", b"431"),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"414"),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\nx-a: " + b"a" * 80_000, b"431"),
    ],
    ids=["one header", "no end", "many headers", "target", "trailer"],
)
async def test_a_request_head_over_32_kb_is_refused_before_it_is_read_to_its_end(head: bytes, status: bytes) -> None:
    async with serving(echo) as served:
        answer = await served.exchange(head)

    assert answer.split()[1] == status
    assert b"connection: close" in answer


async def test_a_request_head_of_32_kb_is_accepted_in_any_chunks() -> None:
    head = GET + b"connection: close\r\nx-a: "
    head += b"a" * (MAX_HEAD_BYTES - len(head) - 4) + b"\r\n\r\n"

    async with serving(echo) as served, served.connect() as (reader, writer):
        async for start in Paced(range(0, len(head), 1000)):
            writer.write(head[start : start + 1000])
            await writer.drain()
        answer = await reader.read()

    assert len(head) == MAX_HEAD_BYTES
    assert answer.split()[1] == b"200"


async def test_large_bodies_and_pipelined_requests_are_served() -> None:
    body = b"a" * 1_000_000
    posted = POST + b"content-length: %d\r\n\r\n" % len(body) + body

    async with serving(echo) as served:
        answer = await served.exchange(posted + GET + b"connection: close\r\n\r\n")

    assert answer.count(b"HTTP/1.1 200") == 2
    assert b"1000000" in answer


async def send_for_ever(writer: asyncio.StreamWriter) -> None:
    writer.write(GET + b"x-a: ")
    async for _ in Paced(count()):
        writer.write(b"a" * 65_536)
        await writer.drain()


async def test_a_client_that_never_ends_its_request_head_is_disconnected() -> None:
    async with asyncio.timeout(30), serving(echo) as served, served.connect() as (_, writer):
        with pytest.raises(ConnectionError):
            await send_for_ever(writer)


async def test_an_oversized_request_head_does_not_damage_the_previous_response(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await until(lambda: "refused a request whose head" in caplog.text)
        await until_stable(lambda: [connection.discarded_bytes for connection in connections])  # no byte is left unread
        await echo(scope, receive, send)

    async with serving(slow) as served:
        connections: Any = served.server.server_state.connections
        answer = await served.exchange(GET + b"\r\n" + GET + b"x-a: " + b"a" * 200_000)

    assert answer.count(b"HTTP/1.1") == 1
    assert answer.startswith(b"HTTP/1.1 200")


async def test_a_connection_without_a_request_is_closed_without_a_response() -> None:
    async with serving(echo, read_timeout=0.2) as served:
        assert await served.exchange(b"") == b""


async def test_an_idle_connection_is_closed_without_a_response(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOG):
        async with serving(echo, read_timeout=0.2) as served:
            answer = await served.exchange(GET + b"\r\n")

    assert answer.count(b"HTTP/1.1") == 1
    assert caplog.messages == []


@pytest.mark.parametrize("sent", [GET + b"x-a: ", POST + b"content-length: 100\r\n\r\n{"], ids=["head", "body"])
async def test_an_incomplete_request_gets_http_408(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(30), serving(echo, read_timeout=0.3) as served, served.connect() as (reader, writer):
        writer.write(sent)
        answering = asyncio.create_task(reader.read())
        async for _ in Paced(count(), 0.05):  # a byte now and then does not help
            if answering.done():
                break
            writer.write(b"a")
        answer = await answering

    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert "was not complete after 0.3 s" in caplog.text


async def test_after_an_early_response_the_rest_of_the_body_is_not_awaited() -> None:
    early = b"POST /early HTTP/1.1\r\nHost: localhost\r\ncontent-length: 100\r\n\r\n{"

    async with serving(echo, read_timeout=0.3) as served:
        answer = await served.exchange(early)

    assert answer.count(b"HTTP/1.1") == 1
    assert answer.startswith(b"HTTP/1.1 200")


async def test_the_read_timeout_does_not_count_time_in_the_handler() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await check_often(served)
        await echo(scope, receive, send)

    async with serving(slow, read_timeout=0, checks=False) as served:
        answer = await served.exchange(GET + b"connection: close\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200")


async def test_a_silent_response_stream_is_not_closed() -> None:
    async def quiet(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await check_often(served)
        await send({"type": "http.response.body", "body": b"last"})

    async with serving(quiet, read_timeout=0, write_timeout=0, checks=False) as served:
        answer = await served.exchange(GET + b"connection: close\r\n\r\n")

    assert b"last" in answer


async def check_often(served: Served) -> None:
    """More than once, because the first check only remembers what a connection has not sent."""
    async for _ in Paced(range(5)):
        served.timeouts.check_connections()


async def test_a_client_that_does_not_read_is_disconnected_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    ended = asyncio.Event()

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        await flood(scope, receive, send)
        ended.set()

    async with serving(watched, write_timeout=0.3) as served, served.connect(receive_buffer=4096) as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # as a client does that reads nothing
        writer.write(GET + b"\r\n")
        async with asyncio.timeout(30):
            await ended.wait()

        assert not served.server.server_state.connections

    assert "the client read nothing for 0.3 s" in caplog.text


async def test_a_client_that_reads_slowly_receives_the_whole_stream() -> None:
    size = 0
    async with serving(flood, write_timeout=0.5) as served, served.connect() as (reader, writer):
        writer.write(GET + b"connection: close\r\n\r\n")
        async for _ in Paced(count(), 0.002):
            piece = await reader.read(1_000_000)
            size += len(piece)
            if not piece:
                break

    assert size > 400 * 60_000


async def test_chunks_that_are_written_at_once_are_the_bytes_that_send_writes() -> None:
    async def write(scope: Scope, receive: Receive, send: Send) -> None:
        write_now = scope.pop(WRITE_NOW)
        written = [write_now(b"before the head")]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for body in (b"first", b"x" * 300):
            if scope["path"] == "/now":
                written.append(write_now(body))
            else:
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"last"})
        results[scope["path"]] = [*written, write_now(b"after the end")]

    results: dict[str, list[bool]] = {}
    async with serving(write) as served:
        now, usual = [
            await served.exchange(b"GET %b HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n" % path)
            for path in (b"/now", b"/usual")
        ]

    assert results == {"/now": [False, True, True, False], "/usual": [False, False]}
    assert now.partition(b"\r\n\r\n")[2] == usual.partition(b"\r\n\r\n")[2]
    assert b"5\r\nfirst\r\n12c\r\nxxx" in now


async def test_no_chunk_is_written_at_once_to_a_client_that_does_not_read() -> None:
    async def write(scope: Scope, receive: Receive, send: Send) -> None:
        write_now = scope.pop(WRITE_NOW)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while write_now(b"a" * 60_000):
            written.append(60_000)
        is_refused.set()
        await send({"type": "http.response.body", "body": b"end"})

    written: list[int] = []
    is_refused = asyncio.Event()
    async with serving(write) as served, served.connect(receive_buffer=4096) as (reader, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # as a client does that reads nothing
        writer.write(GET + b"connection: close\r\n\r\n")
        async with asyncio.timeout(30):
            await is_refused.wait()
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        answer = await reader.read()

    assert answer.count(b"a") >= sum(written)
    assert answer.endswith(b"3\r\nend\r\n0\r\n\r\n")


async def test_a_chunk_of_a_response_is_not_written_into_the_response_to_a_pipelined_request() -> None:
    async def write(scope: Scope, receive: Receive, send: Send) -> None:
        write_now = scope.pop(WRITE_NOW)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        pipelined.extend(len(connection.pipeline) for connection in connections)
        write_now(scope["path"].encode())
        await send({"type": "http.response.body", "body": b""})

    pipelined: list[int] = []
    async with serving(write) as served:
        connections: Any = served.server.server_state.connections
        requests = [b"GET /first HTTP/1.1\r\nHost: localhost\r\n", b"GET /second HTTP/1.1\r\nHost: localhost\r\n"]
        answer = await served.exchange(requests[0] + b"\r\n" + requests[1] + b"connection: close\r\n\r\n")

    first, second = answer.split(b"HTTP/1.1 200 OK")[1:]
    assert pipelined == [1, 0]
    assert first.endswith(b"6\r\n/first\r\n0\r\n\r\n")
    assert second.endswith(b"7\r\n/second\r\n0\r\n\r\n")


async def test_an_event_wakes_all_waiters_but_not_one_that_was_cancelled() -> None:
    event = WakeEvent()
    first, second, cancelled = (asyncio.create_task(event.wait()) for _ in range(3))
    await settle()
    cancelled.cancel()
    await asyncio.wait((cancelled,))

    event.set()
    async with asyncio.timeout(60):
        await asyncio.gather(first, second, event.wait())
    event.clear()
    third = asyncio.create_task(event.wait())
    await settle()

    assert not third.done()
    third.cancel()
