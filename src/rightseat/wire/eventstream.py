"""Decodes AWS event streams (`application/vnd.amazon.eventstream`) from bytes that are split anywhere.

    total length │ headers length │ CRC of these two │ headers │ payload │ CRC of everything before

Lengths and CRCs are four bytes each, big-endian. A header consists of the length of its name, its name, a type, and a
value whose length depends on the type. The payload of an event holds the model's data as `{"bytes": "…"}` in Base64; an
error is a separate frame.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

import msgspec

from rightseat.core.types import JSON_ERRORS
from rightseat.wire.lines import MAX_LINE_BYTES, LineTooLong
from rightseat.wire.sse import StreamError

MEDIA_TYPE = "application/vnd.amazon.eventstream"
PRELUDE = struct.Struct(">III")
OVERHEAD = PRELUDE.size + 4  # bytes of a frame with neither headers nor payload

SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a value, by type: true, false, four sizes of integer, a timestamp, a UUID."""
BYTES, TEXT = 6, 7
"""Types whose values start with their length."""

BUSY = ("throttlingException", "serviceUnavailableException", "modelNotReadyException")
REFUSED = ("validationException",)


class EventStreamDecoder:
    """Takes bytes and returns the data of complete events.

    Raises `StreamError` for an error frame and for a corrupt one, after which decoding cannot continue, and
    `LineTooLong` for a frame that is too long.
    """

    __slots__ = ("_head", "_headers", "_rest")

    media_type = MEDIA_TYPE

    def __init__(self) -> None:
        self._rest = bytearray()
        self._head = b""  # headers of the last frame, since nearly all frames have the same
        self._headers: dict[str, str] = {}

    def feed(self, piece: bytes) -> Iterator[bytes]:
        self._rest += piece
        while len(self._rest) >= PRELUDE.size:
            total, headers, crc = PRELUDE.unpack_from(self._rest)
            if zlib.crc32(self._rest[:8]) != crc:
                raise StreamError("the CRC of a frame's prelude is wrong", kind="the CRC of a frame's prelude is wrong")
            if total > MAX_LINE_BYTES:
                raise LineTooLong("a frame of the stream", MAX_LINE_BYTES)
            if OVERHEAD + headers > total:
                raise StreamError(f"a frame of {total} bytes with headers of {headers} cannot be")
            if len(self._rest) < total:
                return
            frame = bytes(self._rest[:total])
            del self._rest[:total]
            if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
                raise StreamError("the CRC of a frame is wrong", kind="the CRC of a frame is wrong")
            data = self._read(frame[12 : 12 + headers], frame[12 + headers : -4])
            if data is not None:
                yield data

    def rest(self) -> Iterator[bytes]:
        """An incomplete frame is discarded."""
        return iter(())

    def _read(self, head: bytes, payload: bytes) -> bytes | None:
        if head != self._head:
            self._head, self._headers = head, dict(read_headers(head))
        match self._headers:
            case {":message-type": "event", ":event-type": "chunk"}:
                return read_chunk(payload)
            case {":message-type": "exception", ":exception-type": kind}:
                raise build_error(kind, read_message(payload))
            case {":message-type": "error"}:
                raise build_error(self._headers.get(":error-code", ""), self._headers.get(":error-message", ""))
        return None  # unknown event type: the provider may add new ones


def build_error(kind: str, message: str) -> StreamError:
    known = kind if kind.isalpha() and len(kind) <= 40 else ""
    return StreamError(f"{kind or 'error'}: {message}", kind=known, is_busy=kind in BUSY, is_refusal=kind in REFUSED)


def read_chunk(payload: bytes) -> bytes:
    try:
        return base64.b64decode(_decode_chunk(payload).bytes, validate=True)
    except (*JSON_ERRORS, binascii.Error) as error:
        raise StreamError(f"the payload of a chunk cannot be read: {error}") from error


def read_message(payload: bytes) -> str:
    try:
        body = _decode_error_body(payload)
    except JSON_ERRORS:
        return payload.decode("utf-8", "replace")
    return body.originalMessage or body.message


def read_headers(head: bytes) -> Iterator[tuple[str, str]]:
    """Yield the names and values of text headers. No other type of header is needed."""
    at = 0
    try:
        while at < len(head):
            end = at + 1 + head[at]
            name, kind = head[at + 1 : end].decode(), head[end]
            at = end + 1
            if kind in (BYTES, TEXT):
                size = int.from_bytes(head[at : at + 2], "big")
                at += 2
            else:
                size = SIZES[kind]
            if at + size > len(head):
                raise IndexError(at)
            if kind == TEXT:
                yield name, head[at : at + size].decode()
            at += size
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        problem = "the headers of a frame cannot be read"
        raise StreamError(problem, kind=problem) from error


class _Chunk(msgspec.Struct):
    bytes: str


class _ErrorBody(msgspec.Struct):
    message: str = ""
    originalMessage: str = ""


_decode_chunk = msgspec.json.Decoder(_Chunk).decode
_decode_error_body = msgspec.json.Decoder(_ErrorBody).decode
