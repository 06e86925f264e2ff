"""Splits a byte stream into lines, with bounded memory and in linear time."""

from typing import Any

import msgspec

from rightseat.core.types import JSON_ERRORS

MAX_LINE_BYTES = 4 * 2**20
"""Limit for a line and for the data of an event. A model's chunk has a few hundred bytes."""
MAX_AGENT_LINE_BYTES = 32 * 2**20
"""The limit for a remote agent, which may send a whole state or thread in one event."""


class LineTooLong(ValueError):
    """A line, an event or a frame exceeds the decoder's limit. The rest of the stream is not read."""

    def __init__(self, what: str, max_bytes: int) -> None:
        super().__init__(f"{what} is longer than {max_bytes / 2**20:g} MB")


class Splitter:
    """Takes bytes and returns complete lines without their LF. Raises `LineTooLong`.

    Bytes are searched once: input without a line end is only buffered.
    """

    __slots__ = ("_max_bytes", "_size", "buffer")

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self.buffer: list[bytes] = []  # of the line that is not complete
        self._size = 0
        self._max_bytes = max_bytes

    def feed(self, piece: bytes) -> list[bytes]:
        lines = piece.split(b"\n")
        if self.buffer:
            if len(lines) == 1:
                self._buffer_rest(piece)
                return []
            self._buffer_rest(lines[0])
            lines[0] = b"".join(self.buffer)
            self.buffer.clear()
            self._size = 0
        if rest := lines.pop():
            self._buffer_rest(rest)
        return lines

    def _buffer_rest(self, rest: bytes) -> None:
        self._size += len(rest)
        if self._size > self._max_bytes:
            self.buffer.clear()  # the error's traceback would keep them alive
            raise LineTooLong("a line of the stream", self._max_bytes)
        self.buffer.append(rest)


class LineDecoder:
    """Takes bytes and returns complete lines that are not empty. Raises `LineTooLong`."""

    __slots__ = ("_lines",)

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = Splitter(max_bytes)

    def feed(self, piece: bytes) -> list[bytes]:
        return [line for line in self._lines.feed(piece) if line.strip()]

    def rest(self) -> list[bytes]:
        """Return the last line if it has no line end."""
        return self.feed(b"\n")


def read(line: bytes) -> dict[str, Any]:
    """Raises `ValueError` if the line is not a JSON object."""
    try:
        value = msgspec.json.decode(line)
    except JSON_ERRORS as error:
        raise ValueError(f"a line is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("a line is not a JSON object")
    return value
