"""Answers that come packed, as gzip or deflate. A small answer can hold a large one: it is unpacked piece by piece."""

import zlib
from collections.abc import Iterator

ACCEPTED = "gzip, deflate"
AT_ONCE = 256 * 1024  # bytes


class NotPacked(Exception):
    """What came is not packed as its header says, or in a way that nobody asked for."""


class Unpacker:
    """Feed it, take its pieces."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._is_packed = self._encoding not in ("", "identity")
        if self._is_packed and self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise NotPacked(f"it comes as {self._encoding[:40]!r}, and we asked for {ACCEPTED}")
        self._zlib = zlib.decompressobj(32 + zlib.MAX_WBITS)  # gzip or zlib, by its first bytes
        self._is_fresh = True

    def feed(self, piece: bytes, most: int) -> Iterator[bytes]:
        """Stops one byte after `most`: who counts will notice."""
        if not self._is_packed:
            yield piece
            return
        if self._zlib.eof and piece:
            raise NotPacked("there is more after its end")
        left = most + 1
        is_full = True
        while (piece or is_full) and left > 0 and not self._zlib.eof:
            room = min(AT_ONCE, left)
            part = self._unpack(piece, room)
            is_full = len(part) == room  # there may be more inside of it, of what it was already fed
            left -= len(part)
            yield part
            piece = self._zlib.unconsumed_tail
        if self._zlib.unused_data:
            raise NotPacked("there is more after its end")

    def finish(self) -> None:
        """An answer without a body is not packed, whatever its header says."""
        if not self._is_fresh and not self._zlib.eof:
            raise NotPacked("it ends in the middle")

    def _unpack(self, piece: bytes, most: int) -> bytes:
        try:
            part = self._zlib.decompress(piece, most)
        except zlib.error as error:
            if not self._is_fresh or self._encoding != "deflate":
                raise NotPacked(f"it is no {self._encoding}") from error
            self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without zlib's frame, as some servers send it
            self._is_fresh = False
            return self._unpack(piece, most)
        self._is_fresh = False
        return part
