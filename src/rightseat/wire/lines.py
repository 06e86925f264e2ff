"""Lines of a stream, out of bytes that come in any pieces. Memory is bounded, and time is linear in the bytes."""

from typing import Any

import msgspec

from rightseat.core.values import JSON_ERRORS

MAX_LINE_BYTES = 4 * 2**20
"""Of one line, and of the data of one event: a model's chunk has some hundred bytes."""
MAX_AGENT_LINE_BYTES = 32 * 2**20
"""The same for a remote agent, which may send a whole state or thread in one event."""


class LineTooLong(ValueError):
    """A line, an event or a frame is longer than its reader accepts. The rest of the stream is not read."""

    def __init__(self, what: str, max_bytes: int) -> None:
        super().__init__(f"{what} is longer than {max_bytes / 2**20:g} MB")


class Splitter:
    """Feed it bytes, take the lines that are complete, without their LF. Raises `LineTooLong`.

    Bytes are searched once: a piece without an end of line is only put aside.
    """

    __slots__ = ("_held", "_max_bytes", "_size")

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._max_bytes = max_bytes

    def feed(self, piece: bytes) -> list[bytes]:
        lines = piece.split(b"\n")
        if self._held:
            if len(lines) == 1:
                self._hold(piece)
                return []
            self._hold(lines[0])
            lines[0] = b"".join(self._held)
            self._held.clear()
            self._size = 0
        if rest := lines.pop():
            self._hold(rest)
        return lines

    def _hold(self, rest: bytes) -> None:
        self._size += len(rest)
        if self._size > self._max_bytes:
            self._held.clear()  # whoever keeps the error does not keep these
            raise LineTooLong("a line of the stream", self._max_bytes)
        self._held.append(rest)


class Decoder:
    """Feed it bytes, take the lines that are complete. Empty ones are skipped. Raises `LineTooLong`."""

    __slots__ = ("_lines",)

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = Splitter(max_bytes)

    def feed(self, piece: bytes) -> list[bytes]:
        return [line for line in self._lines.feed(piece) if line.strip()]

    def rest(self) -> list[bytes]:
        """What the stream left without an end of line."""
        return self.feed(b"\n")


def read(line: bytes) -> dict[str, Any]:
    """Raises `ValueError` for what is no JSON object."""
    try:
        value = msgspec.json.decode(line)
    except JSON_ERRORS as error:
        raise ValueError(f"a line is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("a line is no JSON object")
    return value
