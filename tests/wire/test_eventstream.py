"""AWS's frames. `frame` writes them for other tests too; it is held to AWS's own examples here."""

import base64
import json
import struct
import zlib

import pytest

from rightseat.wire.eventstream import EventStreamDecoder
from rightseat.wire.lines import MAX_LINE_BYTES, LineTooLong
from rightseat.wire.sse import StreamError

CHUNK = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    return raw_frame(b"".join(header(name, value) for name, value in headers.items()), payload)


def raw_frame(head: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    start = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return start + struct.pack(">I", zlib.crc32(start))


def header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(value.encode())) + value.encode()


def chunk(data: bytes) -> bytes:
    """As Bedrock sends it: with a padding `p`, which hides how long a word is."""
    return frame(CHUNK, json.dumps({"bytes": base64.b64encode(data).decode(), "p": "abcdefgh"}).encode())


def exception(kind: str, message: str, **more: object) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message, **more}).encode())


@pytest.mark.parametrize(
    ("head", "payload", "written"),
    [
        (b"", b"", "00000010 00000000 05c248eb 7d98c8ff"),
        (b"", b"{'foo':'bar'}", "0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936"),
        (
            bytes.fromhex("0c636f6e74656e742d74797065070010 6170706c69636174696f6e2f6a736f6e".replace(" ", "")),
            b"{'foo':'bar'}",
            "0000003d 00000020 07fd8396 0c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
            "7b27666f6f273a27626172277d 8d9c08b1",
        ),
    ],
    ids=["empty", "payload", "header"],
)
def test_frames_are_written_as_aws_writes_them(head: bytes, payload: bytes, written: str) -> None:
    assert raw_frame(head, payload) == bytes.fromhex(written)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 12, 64, 10_000])
def test_events_come_whole_however_they_are_cut(size: int) -> None:
    said = [b'{"type": "ping"}', '{"text": "Grüße 👋🏽"}'.encode(), b"x" * 5000]
    stream = b"".join(map(chunk, said))
    decoder = EventStreamDecoder()

    found = [data for at in range(0, len(stream), size) for data in decoder.feed(stream[at : at + size])]

    assert found == said


def test_headers_of_every_kind_are_read_past() -> None:
    kinds = {0: b"", 1: b"", 2: b"\x01", 3: b"\0\1", 4: b"\0\0\0\1", 5: b"12345678", 6: b"\0\3abc", 8: b"87654321"}
    others = b"".join(b"\1" + bytes([65 + kind, kind]) + value for kind, value in kinds.items())
    head = others + b"\1u\x09" + b"u" * 16 + b"".join(header(name, value) for name, value in CHUNK.items())

    found = list(EventStreamDecoder().feed(raw_frame(head, b'{"bytes": "SGk="}')))

    assert found == [b"Hi"]


def test_an_event_of_a_new_kind_is_passed_over() -> None:
    new = frame({":event-type": "new", ":message-type": "event"}, b"{}")

    assert list(EventStreamDecoder().feed(new + chunk(b"Hi"))) == [b"Hi"]


@pytest.mark.parametrize(
    ("frame", "said", "is_busy", "is_refusal"),
    [
        (exception("throttlingException", "Too many tokens"), "throttlingException: Too many tokens", True, False),
        (exception("serviceUnavailableException", "Later"), "serviceUnavailableException: Later", True, False),
        (exception("validationException", "Bad"), "validationException: Bad", False, True),
        (exception("modelTimeoutException", "Slow"), "modelTimeoutException: Slow", False, False),
        (
            exception("modelStreamErrorException", "Failed", originalStatusCode=500, originalMessage="Overheated"),
            "modelStreamErrorException: Overheated",
            False,
            False,
        ),
        (
            frame({":message-type": "error", ":error-code": "Internal", ":error-message": "Oh"}, b""),
            "Internal: Oh",
            False,
            False,
        ),
        (
            frame({":message-type": "exception", ":exception-type": "new"}, b"no json"),
            "new: no json",
            False,
            False,
        ),
    ],
)
def test_an_error_frame_raises_after_the_chunks_before_it(
    frame: bytes, said: str, is_busy: bool, is_refusal: bool
) -> None:
    stream = EventStreamDecoder().feed(chunk(b"Hi") + frame)

    assert next(iter(stream)) == b"Hi"
    with pytest.raises(StreamError) as wrong:
        list(stream)
    assert (str(wrong.value), wrong.value.is_busy, wrong.value.is_refusal) == (said, is_busy, is_refusal)


WHOLE = chunk(b"Hi")


@pytest.mark.parametrize("place", range(len(WHOLE)))
def test_no_damaged_byte_goes_unnoticed(place: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place] ^= 0x10

    with pytest.raises(StreamError, match="CRC"):
        list(EventStreamDecoder().feed(bytes(damaged)))


@pytest.mark.parametrize(("total", "headers"), [(15, 0), (20, 5), (16, 2**32 - 1), (0, 0)])
def test_lengths_that_cannot_be_are_refused_before_anything_is_kept(total: int, headers: int) -> None:
    prelude = struct.pack(">II", total, headers)

    with pytest.raises(StreamError, match="cannot be"):
        list(EventStreamDecoder().feed(prelude + struct.pack(">I", zlib.crc32(prelude))))


def test_a_frame_that_is_too_long_is_refused_before_it_is_kept() -> None:
    prelude = struct.pack(">II", MAX_LINE_BYTES + 1, 0)

    with pytest.raises(LineTooLong, match="longer than 4 MB"):
        list(EventStreamDecoder().feed(prelude + struct.pack(">I", zlib.crc32(prelude))))


@pytest.mark.parametrize(
    "head",
    [
        b"\x05ab",
        b"\x01a",
        b"\x01a\x07\x00",
        b"\x01a\x07\x00\x09abc",
        b"\x01a\x0a",
        b"\x01\xff\x00",
        b"\x01a\x07\0\1\xff",
    ],
)
def test_headers_that_do_not_add_up_are_refused(head: bytes) -> None:
    with pytest.raises(StreamError, match="headers of a frame"):
        list(EventStreamDecoder().feed(raw_frame(head, b"")))


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"{}", b'{"bytes": 1}', b'{"bytes": "SGk"}', b'{"bytes": "S*k="}', b"\xff"]
)
def test_an_invalid_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(StreamError, match="payload of a chunk"):
        list(EventStreamDecoder().feed(frame(CHUNK, payload)))


def test_half_a_frame_is_no_event() -> None:
    decoder = EventStreamDecoder()

    assert list(decoder.feed(WHOLE[:-1])) == []
    assert list(decoder.rest()) == []
