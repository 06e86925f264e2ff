"""The recorded answers of the Messages API, as Bedrock's `invoke-with-response-stream` sends them: in AWS's frames."""

from rightseat.wire import sse
from tests.models.recorded import RECORDINGS
from tests.tcp import chunked
from tests.wire.test_eventstream import chunk

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\n"
    b"x-amzn-requestid: 0b7c1f2e-6d0c-4a77-9f6e-2f5d0f0f9a11\r\ntransfer-encoding: chunked\r\n\r\n"
)


def framed(name: str) -> bytes:
    body = (RECORDINGS / "anthropic" / f"{name}.response.txt").read_bytes().replace(b"\r\n", b"\n")
    return HEAD + chunked(*frames(body.partition(b"\n\n")[2]))


def frames(body: bytes) -> list[bytes]:
    """Of server-sent events."""
    decoder = sse.SseDecoder()
    return [chunk(data) for data in [*decoder.feed(body), *decoder.rest()]]


def answered(*frames: bytes) -> bytes:
    return HEAD + chunked(*frames)
