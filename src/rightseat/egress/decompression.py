"""Decompresses gzip and deflate responses piece by piece, so that a decompression bomb hits the size limit early."""

import zlib
from collections.abc import Iterator

ACCEPTED = "gzip, deflate"
CHUNK_BYTES = 256 * 1024  # bytes


class DecompressionError(Exception):
    """The body does not match its content-encoding header, or the encoding was not requested."""


class Decompressor:
    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._is_compressed = self._encoding not in ("", "identity")
        if self._is_compressed and self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise DecompressionError(f"its encoding is {self._encoding[:40]!r}; accepted: {ACCEPTED}")
        self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)  # gzip or zlib, by its first bytes
        self._is_first = True

    def feed(self, piece: bytes, max_bytes: int) -> Iterator[bytes]:
        """Stops one byte after `max_bytes`, so that the caller sees that there was more."""
        if not self._is_compressed:
            yield piece
            return
        if self._zlib.eof and piece:
            raise DecompressionError("bytes follow its end")
        left = max_bytes + 1
        is_full = True
        while (piece or is_full) and left > 0 and not self._zlib.eof:
            size = min(CHUNK_BYTES, left)
            part = self._decompress(piece, size)
            is_full = len(part) == size  # zlib may hold more output of what it was already fed
            left -= len(part)
            yield part
            piece = self._zlib.unconsumed_tail
        if self._zlib.unused_data:
            raise DecompressionError("bytes follow its end")

    def finish(self) -> None:
        """Raises `DecompressionError` for an incomplete body. An empty body is complete, despite its header."""
        if not self._is_first and not self._zlib.eof:
            raise DecompressionError("it is incomplete")

    def _decompress(self, piece: bytes, max_bytes: int) -> bytes:
        try:
            part = self._zlib.decompress(piece, max_bytes)
        except zlib.error as error:
            if not self._is_first or self._encoding != "deflate":
                raise DecompressionError(f"it is not valid {self._encoding}") from error
            self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without zlib's frame, as some servers send it
            self._is_first = False
            return self._decompress(piece, max_bytes)
        self._is_first = False
        return part
