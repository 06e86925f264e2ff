"""AWS's framing of streams, `application/vnd.amazon.eventstream`: the data of each event, out of bytes in any pieces.

    length of all │ length of headers │ CRC of these two │ headers │ payload │ CRC of all before it

Lengths and CRCs have four bytes each, the highest first. A header is the length of its name, its name, a kind, and a
value whose length the kind decides. What a model says is in the payload of events, as `{"bytes": "…"}` in Base64; a
failure is a frame of its own.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

import msgspec

from rightseat.core.values import JSON_ERRORS
from rightseat.wire.lines import MAX_LINE_BYTES, LineTooLong
from rightseat.wire.sse import StreamError

MEDIA_TYPE = "application/vnd.amazon.eventstream"
PRELUDE = struct.Struct(">III")
OVERHEAD = PRELUDE.size + 4  # bytes of a frame without headers and payload

SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Of the values of each kind: yes, no, four sizes of numbers, a moment, a UUID."""
BYTES, TEXT = 6, 7
"""Kinds whose values say their length themselves."""

BUSY = ("throttlingException", "serviceUnavailableException", "modelNotReadyException")
REFUSED = ("validationException",)


class Decoder:
    """Feed it bytes, take the data of the events that are whole. Raises `StreamError` for a frame that says a failure,
    and for one that is damaged: what follows it cannot be trusted. Raises `LineTooLong`, too."""

    __slots__ = ("_head", "_headers", "_rest")

    media_type = MEDIA_TYPE

    def __init__(self) -> None:
        self._rest = bytearray()
        self._head = b""  # the headers of the last frame: nearly all are alike
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
        """Half a frame says nothing."""
        return iter(())

    def _read(self, head: bytes, payload: bytes) -> bytes | None:
        if head != self._head:
            self._head, self._headers = head, dict(read_headers(head))
        match self._headers:
            case {":message-type": "event", ":event-type": "chunk"}:
                return read_chunk(payload)
            case {":message-type": "exception", ":exception-type": kind}:
                raise failure(kind, read_message(payload))
            case {":message-type": "error"}:
                raise failure(self._headers.get(":error-code", ""), self._headers.get(":error-message", ""))
        return None  # a kind of event that is new: the provider adds some


def failure(kind: str, message: str) -> StreamError:
    known = kind if kind.isalpha() and len(kind) <= 40 else ""
    return StreamError(f"{kind or 'error'}: {message}", kind=known, is_busy=kind in BUSY, is_refusal=kind in REFUSED)


def read_chunk(payload: bytes) -> bytes:
    try:
        return base64.b64decode(_decode_chunk(payload).bytes, validate=True)
    except (*JSON_ERRORS, binascii.Error) as error:
        raise StreamError(f"the payload of a chunk cannot be read: {error}") from error


def read_message(payload: bytes) -> str:
    try:
        said = _decode_said(payload)
    except JSON_ERRORS:
        return payload.decode("utf-8", "replace")
    return said.originalMessage or said.message


def read_headers(head: bytes) -> Iterator[tuple[str, str]]:
    """Names and texts. Values of other kinds are skipped: none of them is needed."""
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


class _Said(msgspec.Struct):
    message: str = ""
    originalMessage: str = ""


_decode_chunk = msgspec.json.Decoder(_Chunk).decode
_decode_said = msgspec.json.Decoder(_Said).decode
