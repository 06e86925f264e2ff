"""JSON lines: the values of a stream, out of bytes that come in any pieces."""

from typing import Any

import msgspec


class Decoder:
    """Feed it bytes, take the lines that are whole. Empty ones are skipped."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        return [line for line in lines if line.strip()]

    def rest(self) -> list[bytes]:
        """What the stream left without an end of line."""
        return self.feed(b"\n")


def read(line: bytes) -> dict[str, Any]:
    """Raises `ValueError` for what is no JSON object."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"a line is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("a line is no JSON object")
    return value
