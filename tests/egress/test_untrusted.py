"""The one door out: what it sends, byte by byte, and what it makes of answers."""

import asyncio
import gzip
import zlib
from collections.abc import Iterator
from itertools import count

import pytest

from rightseat.egress.addresses import AddressPolicy, parse_url
from rightseat.egress.untrusted import FetchRequest, RequestLimits, UntrustedClient, UntrustedRequestFailed
from tests.conditions import Paced, until, until_stable
from tests.tcp import Visit, answers, chunked, playing

HERE = AddressPolicy(allow=["127.0.0.1"])
OK = b"HTTP/1.1 200 OK\r\n"
SHORT = OK + b"content-length: 2\r\n\r\nok"
SOON = RequestLimits(max_bytes=1000, timeout=5, read_timeout=5)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_any_method_is_sent_with_its_headers_and_its_body(method: str) -> None:
    async with playing(answers(SHORT)) as server:
        outgoing = FetchRequest(method, parse_url(f"{server.url}/a?b=c"), (("x-one", "1"),), (b"he", b"llo"), 5)

        incoming = await UntrustedClient().send(outgoing, HERE, SOON)

    (request,) = server.requests
    assert (incoming.status, incoming.content) == (200, b"ok")
    assert (request.line, request.body) == (f"{method} /a?b=c HTTP/1.1", b"hello")
    assert (request.header("x-one"), request.header("content-length")) == ("1", "5")
    assert request.header("accept-encoding") == "gzip, deflate"


async def test_a_response_to_head_has_no_body() -> None:
    async with playing(answers(OK + b"content-length: 999\r\n\r\n")) as server:
        incoming = await UntrustedClient().send(FetchRequest("HEAD", parse_url(server.url)), HERE, SOON)

    assert (incoming.status, incoming.headers["content-length"], incoming.content) == (200, "999", b"")


async def test_R_7_3_a_long_request_body_is_streamed_as_the_server_reads() -> None:
    taken = 0
    go_on = asyncio.Event()

    class Body:
        def __iter__(self) -> Iterator[bytes]:
            nonlocal taken
            for _ in range(640):
                taken += 1
                yield b"x" * 65536

    async def slow(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await go_on.wait()
        await visit.reader.readexactly(640 * 65536)
        await visit.send(SHORT)

    async with playing(slow) as server, asyncio.timeout(60):
        outgoing = FetchRequest("POST", parse_url(server.url), body=Body(), length=640 * 65536)
        sending = asyncio.create_task(UntrustedClient().send(outgoing, HERE, RequestLimits(timeout=20)))
        await until(lambda: taken)
        assert await until_stable(lambda: taken) < 640
        go_on.set()

        assert (await sending).content == b"ok"


async def test_a_response_that_arrives_before_the_body_was_sent_is_read() -> None:
    async def early(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        await visit.gone()

    async with playing(early) as server, asyncio.timeout(30):
        outgoing = FetchRequest("POST", parse_url(server.url), body=[b"x" * 65536] * 1000, length=65536 * 1000)
        incoming = await UntrustedClient().send(outgoing, HERE, SOON)

    assert (incoming.status, incoming.content) == (413, b"big")


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"hello" * 100, mtime=0)),
        ("GZIP", gzip.compress(b"hello" * 100, mtime=0)),
        ("deflate", zlib.compress(b"hello" * 100)),
        ("deflate", zlib.compress(b"hello" * 100)[2:-4]),
        ("identity", b"hello" * 100),
    ],
)  # fmt: skip
async def test_a_compressed_response_is_decompressed(encoding: str, packed: bytes) -> None:
    pieces = [packed[index : index + 7] for index in range(0, len(packed), 7)]
    head = OK + f"content-encoding: {encoding}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    async with playing(answers(head + chunked(*pieces))) as server:
        incoming = await UntrustedClient().send(FetchRequest("GET", parse_url(server.url)), HERE, SOON)

    assert incoming.content == b"hello" * 100


BOMB = gzip.compress(b"\0" * 50_000_000)


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (OK + b"content-length: 1001\r\n\r\n", "too_large", "larger than 1,000 bytes"),
        (OK + b"\r\n" + b"x" * 1001, "too_large", "larger than 1,000 bytes"),
        (
            OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 1001, mtime=0),
            "too_large",
            "larger than 1,000",
        ),
        (OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 900, mtime=0)[:-9], "broken", "is incomplete"),
        (
            OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"x", mtime=0) + b"more",
            "broken",
            "bytes follow its end",
        ),
        (OK + b"content-encoding: gzip\r\n\r\nplain", "broken", "is not valid gzip"),
        (OK + b"content-encoding: br\r\n\r\nplain", "broken", "'br'; accepted: gzip, deflate"),
        (OK + b"content-length: 10\r\n\r\nshort", "broken", "in the middle of the response"),
        (b"SSH-2.0\r\n", "broken", "not valid HTTP"),
        (b"", "broken", "without a response"),
    ],
)
async def test_R_7_6_a_response_that_is_too_large_or_broken_is_an_error(answer: bytes, reason: str, words: str) -> None:
    async def once(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.send(answer)

    async with playing(once) as server, asyncio.timeout(30):
        with pytest.raises(UntrustedRequestFailed, match=words) as failed:
            await UntrustedClient().send(FetchRequest("GET", parse_url(server.url)), HERE, SOON)

    assert (failed.value.reason, failed.value.sent) == (reason, True)


async def test_R_7_6_a_decompression_bomb_is_refused_at_the_size_limit() -> None:
    async with playing(
        answers(OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB)
    ) as server:
        with pytest.raises(UntrustedRequestFailed, match="larger than 1,000,000 bytes"):
            await UntrustedClient().send(
                FetchRequest("GET", parse_url(server.url)), HERE, RequestLimits(max_bytes=1_000_000)
            )


async def test_R_7_6_the_whole_request_has_a_timeout() -> None:
    async def drips(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.send(OK + b"\r\n")
        async for _ in Paced(count(), 0.01):
            if visit.left.is_set():
                return
            await visit.send(b"x")

    async with playing(drips) as server, asyncio.timeout(30):
        with pytest.raises(UntrustedRequestFailed, match=r"within 0\.3 s") as failed:
            await UntrustedClient().send(FetchRequest("GET", parse_url(server.url)), HERE, RequestLimits(timeout=0.3))
        await server.visits[0].gone()

    assert (failed.value.reason, failed.value.sent) == ("timeout", True)


async def test_R_7_6_a_refused_connection_is_reported_as_not_sent() -> None:
    async with playing(answers(SHORT)) as server:
        url = server.url

    with pytest.raises(UntrustedRequestFailed, match="Cannot reach ") as failed:
        await UntrustedClient().send(FetchRequest("POST", parse_url(url)), HERE, SOON)

    assert (failed.value.reason, failed.value.sent) == ("connect", False)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"])
async def test_R_7_4_a_proxy_of_the_environment_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with playing(answers(SHORT)) as server:
        assert (await UntrustedClient().send(FetchRequest("GET", parse_url(server.url)), HERE, SOON)).content == b"ok"


@pytest.mark.parametrize(
    "header", [("x\r\ny", "1"), ("x", "1\r\ny: 2"), ("x", "1\n"), ("", "1"), ("Content-Length", "9")]
)
async def test_R_7_2_a_header_with_a_line_break_is_not_sent(header: tuple[str, str]) -> None:
    async with playing(answers(SHORT)) as server:
        with pytest.raises(ValueError, match="header"):
            await UntrustedClient().send(FetchRequest("GET", parse_url(server.url), (header,)), HERE, SOON)

    assert server.visits == []
