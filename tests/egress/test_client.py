"""Streamed answers over HTTP/1.1: on real sockets, against servers that play exact bytes, on both event loops."""

import asyncio
import gc
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.egress import client, connector, transport
from rightseat.egress.client import Client
from rightseat.egress.transport import TransportError, explain_os_error
from tests.tcp import Visit, answers, chunked, full_backlog, playing

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
SHORT = OK + b"content-length: 2\r\n\r\nok"
STREAMED = OK + b"transfer-encoding: chunked\r\n\r\n"
HELLO = b"hello world"

FORMS = {
    "a length": OK + b"content-length: 11\r\n\r\n" + HELLO,
    "chunks": STREAMED + chunked(b"hello", b" ", b"world"),
    "chunks with extensions and a trailer": STREAMED + b"5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nx-sum: 1\r\n\r\n",
    "shouted headers": b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n" + chunked(HELLO),
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length: 11\r\n\r\n" + HELLO,
    "early hints": b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\ncontent-length: 3\r\n\r\n" + STREAMED + chunked(HELLO),
    "no reason": b"HTTP/1.1 200\r\ncontent-length: 11\r\n\r\n" + HELLO,
}

ENDED_BY_THE_CONNECTION = {
    "no length": OK + b"\r\n" + HELLO,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + HELLO,
    "connection: close": OK + b"connection: close\r\n\r\n" + HELLO,
    "a length and connection: close": OK + b"connection: close\r\ncontent-length: 11\r\n\r\n" + HELLO,
}


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@asynccontextmanager
async def pool_to(url: str, **more: Any) -> AsyncIterator[Client]:
    pool = Client(url, more.pop("headers", {}), **more)
    try:
        async with asyncio.timeout(30):
            yield pool
    finally:
        await pool.aclose()


async def ask(pool: Client, body: bytes = b"{}") -> bytes:
    async with pool.post("/x", body) as answer:
        return b"".join([piece async for piece in answer])


# What is sent


async def test_a_request_has_exactly_these_bytes() -> None:
    async with playing(answers(SHORT)) as server, pool_to(f"{server.url}/v1/?a=b", headers={"x-key": "k"}) as pool:
        await ask(pool, b'{"a":1}')

    host = server.url.removeprefix("http://")
    assert server.requests[0].line == "POST /v1/x?a=b HTTP/1.1"
    assert server.requests[0].headers == [
        ("host", host),
        ("content-type", "application/json"),
        ("x-key", "k"),
        ("content-length", "7"),
    ]
    assert server.requests[0].json == {"a": 1}


async def test_headers_of_the_operator_replace_defaults_in_any_case() -> None:
    headers = {"Content-Type": "application/x", "HOST": "inner.test"}
    async with playing(answers(SHORT)) as server, pool_to(server.url, headers=headers) as pool:
        await ask(pool)

    assert server.requests[0].header("content-type") == "application/x"
    assert server.requests[0].header("host") == "inner.test"


async def test_a_large_request_body_arrives_whole() -> None:
    body = b"x" * 5_000_000
    async with playing(answers(SHORT)) as server, pool_to(server.url) as pool:
        assert await ask(pool, body) == b"ok"

    assert server.requests[0].body == body


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-key", "a\r\nx-evil: 1"),
        ("x-key", "a\nx-evil: 1"),
        ("x-key", "a\rb"),
        ("x-key", "secret\r\n\r\n{}"),
        ("x-key", "secret\n"),
        ("x-key", "a\0b"),
        ("x-key", "sk-“quoted”"),
        ("x-key: a\r\nx-evil", "1"),
        ("x key", "1"),
        ("", "1"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
    ],
)
def test_a_header_with_a_line_break_is_refused_without_its_value(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"header") as error:
        Client("http://localhost", {name: value})

    assert "secret" not in str(error.value)
    assert "quoted" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "/v1",
        "",
        "http://localhost:many",
        "http://localhost:99999",
        "http://localhost/a b",
        "http://localhost/ä",
        "http://local host/",
        "http://a..b/",
        f"http://{'a' * 64}.test/",
        "http://bücher.test/",
        "http://user:secret@localhost/",
    ],
)
def test_an_invalid_base_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"address") as error:
        Client(url, {})

    assert "secret" not in str(error.value)


@pytest.mark.parametrize("path", ["/a\r\nx-evil: 1", "/a b", "/a\n", "/ä", "/a HTTP/1.1\r\n\r\n"])
async def test_a_path_with_characters_of_a_request_line_is_refused(path: str) -> None:
    async with playing(answers(SHORT)) as server, pool_to(server.url) as pool:
        with pytest.raises(ValueError, match="path"):
            async with pool.post(path, b""):
                pass

    assert not server.visits


async def test_an_ipv6_address_keeps_its_brackets() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    heads: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(SHORT)
        writer.close()

    port = listener.getsockname()[1]
    server = await asyncio.start_server(script, sock=listener)
    async with pool_to(f"http://[::1]:{port}") as pool:
        assert await ask(pool) == b"ok"
    server.close()

    assert f"host: [::1]:{port}\r\n".encode() in heads[0]


# What comes back


@pytest.mark.parametrize("form", FORMS)
async def test_every_response_framing_is_read_and_its_connection_reused(form: str) -> None:
    async with playing(answers(FORMS[form])) as server, pool_to(server.url) as pool:
        assert await ask(pool) == HELLO
        assert await ask(pool) == HELLO

    assert len(server.visits) == 1


@pytest.mark.parametrize("form", ENDED_BY_THE_CONNECTION)
async def test_a_response_may_end_with_its_connection(form: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(ENDED_BY_THE_CONNECTION[form])

    async with playing(script) as server, pool_to(server.url) as pool:
        assert await ask(pool) == HELLO
        assert await ask(pool) == HELLO

    assert len(server.visits) == 2


@pytest.mark.parametrize("form", FORMS)
async def test_a_response_may_be_split_anywhere(form: str) -> None:
    whole = FORMS[form]
    cuts = iter(range(1, len(whole)))

    async def script(visit: Visit) -> None:
        for cut in cuts:
            await visit.request()
            await visit.send(whole[:cut], whole[cut:])

    async with playing(script) as server, pool_to(server.url) as pool:
        for cut in range(1, len(whole)):
            assert await ask(pool) == HELLO, cut

    assert len(server.visits) == 1


@pytest.mark.parametrize("form", FORMS)
async def test_a_response_may_arrive_byte_by_byte(form: str) -> None:
    whole = [bytes([byte]) for byte in FORMS[form]]
    async with playing(answers(*whole)) as server, pool_to(server.url) as pool:
        assert await ask(pool) == HELLO


async def test_status_and_headers_are_available_before_the_body() -> None:
    more = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\n")
        await more.wait()
        await visit.send(b"wait")

    async with playing(script) as server, pool_to(server.url) as pool, pool.post("/x", b"") as answer:
        assert answer.status == 429
        assert answer.headers["retry-after"] == "7"
        more.set()

        assert await answer.text() == "wait"


async def test_a_chunk_is_yielded_as_soon_as_it_arrives() -> None:
    turns: asyncio.Queue[bytes] = asyncio.Queue()

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(STREAMED)
        while piece := await turns.get():
            await visit.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await visit.send(b"0\r\n\r\n")

    async with playing(script) as server, pool_to(server.url) as pool, pool.post("/x", b"") as answer:
        for piece in (b"one", b"two"):
            turns.put_nowait(piece)
            assert await anext(answer) == piece
        turns.put_nowait(b"")
        with pytest.raises(StopAsyncIteration):
            await anext(answer)


async def test_the_text_of_a_response_is_truncated_at_its_limit() -> None:
    long = STREAMED + chunked(*[b"x" * 100] * 50)
    async with playing(answers(long)) as server, pool_to(server.url) as pool, pool.post("/x", b"") as answer:
        assert await answer.text(max_bytes=120) == "x" * 120


@pytest.mark.parametrize("how", ["breaks off", "stalls"])
async def test_the_text_of_an_incomplete_response_is_what_arrived(how: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(b"HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nbad key")
        if how == "stalls":
            await visit.gone()

    async with playing(script) as server, pool_to(server.url) as pool, pool.post("/x", b"") as answer:
        assert await answer.text(timeout=0.2) == "bad key"


# Connections are kept, and replaced


async def test_a_thousand_requests_one_after_another_use_one_connection() -> None:
    async with playing(answers(STREAMED + chunked(b"ok"))) as server, pool_to(server.url) as pool:
        for _ in range(1000):
            assert await ask(pool) == b"ok"

    assert len(server.visits) == 1


async def test_two_concurrent_responses_use_two_connections_and_both_are_reused() -> None:
    async with playing(answers(SHORT)) as server, pool_to(server.url) as pool:
        for _ in range(3):
            async with pool.post("/x", b"") as one, pool.post("/x", b"") as other:
                assert [await one.text(), await other.text()] == ["ok", "ok"]

    assert len(server.visits) == 2


async def test_a_pooled_connection_that_its_server_closed_is_replaced_and_the_request_sent_once() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(SHORT)

    async with playing(script) as server, pool_to(server.url) as pool:
        for _ in range(5):
            assert await ask(pool) == b"ok"

    assert len(server.requests) == 5


async def test_a_connection_that_is_closed_while_we_write_is_replaced() -> None:
    """Its server hangs up in the same moment, before our loop can have seen it."""
    ending: list[asyncio.StreamWriter] = []

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(SHORT)
        ending.append(visit.writer)
        await visit.gone()

    async with playing(script) as server, pool_to(server.url) as pool:
        await ask(pool)
        ending.pop().transport.abort()

        assert await ask(pool) == b"ok"

    assert len(server.requests) == 2
    assert len(server.visits) == 2


async def test_a_server_that_closes_every_connection_gets_a_request_twice_at_most() -> None:
    """Once on a kept connection, which may have been closed before it came, and once on a new one."""
    deaf = False

    async def script(visit: Visit) -> None:
        await visit.request()
        while not deaf:
            await visit.send(SHORT)
            await visit.request()

    async with playing(script) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b"") as one, pool.post("/x", b"") as two, pool.post("/x", b"") as three:
            for answer in (one, two, three):
                await answer.text()
        server.requests.clear()
        deaf = True
        with pytest.raises(TransportError, match="closed the connection without a response"):
            await ask(pool)

    assert len(server.requests) == 2


async def test_a_request_is_not_retried_if_the_server_closed_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connector, "STALE_S", 0.0)

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(SHORT)
        await visit.request()

    async with playing(script) as server, pool_to(server.url) as pool:
        await ask(pool)
        with pytest.raises(TransportError, match="closed the connection without a response"):
            await ask(pool)

    assert len(server.requests) == 2


async def test_a_connection_that_was_idle_for_too_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "KEEPALIVE_S", 0.2)
    async with playing(answers(SHORT)) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b"") as one, pool.post("/x", b"") as other:
            assert [await one.text(), await other.text()] == ["ok", "ok"]
        async with asyncio.timeout(2):
            for visit in server.visits:
                await visit.gone()
        await ask(pool)

    assert len(server.visits) == 3


async def test_a_connection_is_not_reused_if_the_server_asks_to_close_it() -> None:
    closing = OK + b"connection: close\r\ncontent-length: 2\r\n\r\nok"
    async with playing(answers(closing)) as server, pool_to(server.url) as pool:
        await ask(pool)
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


async def test_a_response_with_garbage_behind_it_is_refused() -> None:
    async with playing(answers(SHORT + b"garbage")) as server, pool_to(server.url) as pool:
        with pytest.raises(TransportError, match="is not valid HTTP"):
            await ask(pool)
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


@pytest.mark.parametrize("late", [False, True], ids=["with it", "after it"])
@pytest.mark.parametrize("extra", [SHORT.replace(b"ok", b"no"), b"\r\n\r\nHTTP/1.1 500 No\r\n\r\n"])
async def test_bytes_after_a_response_are_ignored_and_close_the_connection(extra: bytes, late: bool) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(*([SHORT, extra] if late else [SHORT + extra]))
        await visit.gone()

    async with playing(script) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b"") as answer:
            assert (answer.status, await answer.text(), answer.headers["content-length"]) == (200, "ok", "2")
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()

        assert await ask(pool) == b"ok"


async def test_a_closed_pool_keeps_no_connections() -> None:
    async with playing(answers(SHORT)) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b"") as answer:
            await pool.aclose()
            assert await answer.text() == "ok"
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


# What goes wrong


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02F",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"<html></html>",
    ],
)
async def test_a_response_that_is_not_http_is_reported(answer: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(answer)
        await visit.gone()

    async with playing(script) as server, pool_to(server.url) as pool:
        with pytest.raises(TransportError, match="is not valid HTTP"):
            await ask(pool)


async def test_invalid_chunks_are_reported_after_the_valid_ones_before_them() -> None:
    read = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(STREAMED + b"2\r\nok\r\n")
        await read.wait()
        await visit.send(b"xyz\r\n")
        await visit.gone()

    async with playing(script) as server, pool_to(server.url) as pool, pool.post("/x", b"") as answer:
        assert await anext(answer) == b"ok"
        read.set()
        with pytest.raises(TransportError, match="is not valid HTTP"):
            await anext(answer)


async def test_a_switch_to_another_protocol_is_refused() -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    async with playing(answers(switch)) as server, pool_to(server.url) as pool:
        with pytest.raises(TransportError, match="is not valid HTTP"):
            await ask(pool)


async def test_a_server_that_closes_without_a_response_is_reported() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()

    async with playing(script) as server, pool_to(server.url) as pool:
        with pytest.raises(TransportError, match="closed the connection without a response"):
            await ask(pool)

    assert len(server.requests) == 1


async def test_a_server_that_closes_before_the_request_is_reported() -> None:
    """From a thread: our loop hears of the connection and of its end in one go."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            for _ in range(50):
                listener.accept()[0].close()

        hanging_up = asyncio.get_running_loop().run_in_executor(None, hang_up)
        async with pool_to(f"http://127.0.0.1:{listener.getsockname()[1]}") as pool:
            for _ in range(50):
                with pytest.raises(TransportError, match="closed the connection without a response"):
                    await ask(pool)
        await hanging_up


@pytest.mark.parametrize(
    "part",
    [
        b"HTTP/1.1 20",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        OK,
        OK + b"content-length: 11\r\n\r\n",
        OK + b"content-length: 11\r\n\r\nhello",
        STREAMED + b"5\r\nhello\r\n",
        STREAMED + b"5\r\nhello\r\n0\r\n",
        STREAMED + b"5\r\nhel",
    ],
)
@pytest.mark.parametrize("how", ["closed", "reset"])
async def test_a_truncated_response_is_reported(part: bytes, how: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(part)
        if how == "reset":
            visit.writer.transport.abort()

    async with playing(script) as server, pool_to(server.url) as pool:
        with pytest.raises(TransportError, match="in the middle of the response"):
            await ask(pool)

    assert len(server.requests) == 1


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1", STREAMED, STREAMED + b"5\r\nhello\r\n"])
async def test_a_silent_server_times_out_and_the_connection_is_closed(part: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(part)
        await visit.gone()

    async with playing(script) as server, pool_to(server.url, timeout=0.2) as pool:
        began = asyncio.get_running_loop().time()
        with pytest.raises(TransportError, match=r"sent nothing for 0\.2 s"):
            await ask(pool)
        assert 0.15 < asyncio.get_running_loop().time() - began < 0.6

        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


async def test_silence_within_a_response_times_out_as_soon() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(STREAMED)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await visit.gone()
        await visit.send(b"1\r\nx\r\n")
        await visit.gone()

    async with playing(script) as server, pool_to(server.url, timeout=0.8) as pool:
        began = asyncio.get_running_loop().time()
        with pytest.raises(TransportError, match=r"sent nothing for 0\.8 s"):
            await ask(pool)

        assert 0.9 < asyncio.get_running_loop().time() - began < 2.5


async def test_the_timeout_restarts_with_every_byte() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(STREAMED)
        for _ in range(8):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await visit.gone()
            await visit.send(b"1\r\nx\r\n")
        await visit.send(b"0\r\n\r\n")

    async with playing(script) as server, pool_to(server.url, timeout=0.2) as pool:
        assert await ask(pool) == b"x" * 8


async def test_a_refused_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    async with pool_to(f"http://127.0.0.1:{port}") as pool:
        with pytest.raises(TransportError, match=r"^Connection refused\.$"):
            await ask(pool)


def test_a_host_whose_addresses_all_refuse_is_reported_without_naming_them() -> None:
    several = OSError("Multiple exceptions: [Errno 111] Connect call failed ('10.0.0.7', 1), [Errno 111] …")

    assert explain_os_error(several) == "no address accepts a connection"


async def test_an_unknown_host_name_is_reported() -> None:
    async with pool_to("http://nowhere.invalid") as pool:
        with pytest.raises(TransportError, match=r"\.$"):
            await ask(pool)


async def test_a_connection_timeout_is_reported() -> None:
    with full_backlog() as port:
        async with pool_to(f"http://127.0.0.1:{port}", connect_timeout=0.2) as pool:
            with pytest.raises(TransportError, match=r"No connection within 0\.2 s"):
                await ask(pool)


# ShuttingDown


@pytest.mark.parametrize("part", [STREAMED, STREAMED + b"5\r\nhello\r\n", OK + b"content-length: 9\r\n\r\nhello"])
async def test_leaving_a_response_early_closes_its_connection_immediately(part: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(part)
        await asyncio.Event().wait()

    async with playing(script) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b""):
            pass
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


async def test_an_exception_in_the_block_closes_the_connection_and_propagates() -> None:
    async with playing(answers(STREAMED)) as server, pool_to(server.url) as pool:
        with pytest.raises(ZeroDivisionError):
            async with pool.post("/x", b""):
                raise ZeroDivisionError
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 2", STREAMED])
async def test_cancelling_closes_the_connection_immediately(part: bytes) -> None:
    asked = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(part)
        asked.set()
        await asyncio.Event().wait()

    async with playing(script) as server, pool_to(server.url) as pool:
        asking = asyncio.create_task(ask(pool))
        await asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


async def test_cancelling_while_connecting_leaves_nothing_open() -> None:
    with full_backlog() as port:
        async with pool_to(f"http://127.0.0.1:{port}") as pool:
            asking = asyncio.create_task(ask(pool))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await asyncio.shield(asking)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            gc.collect()  # a socket that was left open would warn, and a warning is an error


async def test_finish_reads_the_end_of_a_response_so_that_its_connection_can_be_reused() -> None:
    async def script(visit: Visit) -> None:
        while True:
            await visit.request()
            await visit.send(STREAMED + b"5\r\nhello\r\n", b"1\r\n!\r\n", b"0\r\n\r\n")

    async with playing(script) as server, pool_to(server.url) as pool:
        for _ in range(3):
            async with pool.post("/x", b"") as answer:
                assert (await anext(answer)).startswith(b"hello")
                await answer.finish()

    assert len(server.visits) == 1


@pytest.mark.parametrize("end", ["silent", "broken"])
async def test_finish_does_not_wait_long_for_the_end_of_a_response(end: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(STREAMED + b"5\r\nhello\r\n")
        if end == "silent":
            await visit.gone()

    async with playing(script) as server, pool_to(server.url) as pool:
        async with asyncio.timeout(1), pool.post("/x", b"") as answer:
            assert await anext(answer) == b"hello"
            await answer.finish()
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


# A reader that is behind


async def test_a_slow_reader_pauses_the_sender_and_receives_everything() -> None:
    total, piece = 64 * 1024 * 1024, b"x" * 65536
    done = asyncio.Event()
    taken = 0

    async def script(visit: Visit) -> None:
        nonlocal taken
        visit.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        await visit.request()
        await visit.send(OK + b"content-length: %d\r\n\r\n" % total)
        while taken < total:
            await visit.send(piece)
            taken += len(piece)
        done.set()
        await visit.gone()

    async with (
        playing(script) as server,
        pool_to(server.url, timeout=0.2) as pool,
        pool.post("/x", b"") as answer,
    ):
        with pytest.raises(TimeoutError):  # longer than the timeout, which is only for a silent sender
            async with asyncio.timeout(0.4):
                await done.wait()
        assert taken < 8 * 1024 * 1024
        assert answer._content._size <= 2 * transport.BUFFER_BYTES + 256 * 1024  # that a loop reads at once

        got = sum([len(piece) async for piece in answer])

    assert got == total
    assert done.is_set()


async def test_leaving_while_the_sender_is_paused_closes_the_connection() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(STREAMED)
        while True:
            await visit.send(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")

    async with playing(script) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b""):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await server.visits[0].gone()
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


# TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem"
    try:
        subprocess.run([*command.split(), *names.split()], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return folder


@pytest.fixture
def tls(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "certificate.pem", certificates / "key.pem")
    return context


async def test_an_untrusted_certificate_is_refused(tls: ssl.SSLContext) -> None:
    async with playing(answers(SHORT), tls) as server, pool_to(server.url) as pool:
        with pytest.raises(TransportError, match="certificate verify failed: self-signed certificate"):
            await ask(pool)

    assert not server.requests


async def test_a_certificate_that_the_operator_trusts_is_accepted(
    tls: ssl.SSLContext, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "certificate.pem"))
    whole = STREAMED + chunked(*[b"x" * 1000] * 200)
    async with playing(answers(whole), tls) as server, pool_to(server.url) as pool:
        for _ in range(3):
            assert await ask(pool) == b"x" * 200_000

    assert len(server.visits) == 1


async def test_leaving_a_response_early_closes_a_tls_connection_too(
    tls: ssl.SSLContext, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "certificate.pem"))
    async with playing(answers(STREAMED), tls) as server, pool_to(server.url) as pool:
        async with pool.post("/x", b""):
            pass
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


async def test_a_server_without_tls_is_reported() -> None:
    async def script(visit: Visit) -> None:
        await visit.send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await visit.gone()

    async with playing(script) as server, pool_to(server.url.replace("http:", "https:")) as pool:
        with pytest.raises(TransportError, match=r"\.$"):
            await ask(pool)
