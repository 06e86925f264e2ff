"""Server-sent events: the data of each, out of bytes that come in any pieces."""


class Decoder:
    """Feed it bytes, take the data of the events that are whole.

    Event names, ids and comments are dropped: no model's stream needs them. Lines end with LF or CRLF, an event with an
    empty line; the lines of one event's data are joined with LF, as the standard says.
    """

    __slots__ = ("_data", "_rest")

    media_type = "text/event-stream"

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        whole: list[bytes] = []
        data = self._data
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]  # the line without its CR is the line
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line and data:
                whole.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
        return whole

    def rest(self) -> list[bytes]:
        """What the stream left without the empty line at its end: some servers forget it after the last event."""
        return self.feed(b"\n\n")


class Named:
    """Like `Decoder`, for streams whose events have names: takes `(name, data)`."""

    __slots__ = ("_data", "_name", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[tuple[str, bytes]]:
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        whole: list[tuple[str, bytes]] = []
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif line.startswith(b"event:"):
                self._name = line[6:].strip().decode("utf-8", "replace")
            elif not line:
                if self._data:
                    whole.append((self._name, b"\n".join(self._data)))
                self._data, self._name = [], ""
        return whole


class StreamError(Exception):
    """The server put an error into the middle of its answer.

    `is_busy` where it says that it has too much to do, `is_refusal` where it does not accept the request after all.
    """

    def __init__(self, said: str, *, is_busy: bool = False, is_refusal: bool = False) -> None:
        super().__init__(said)
        self.is_busy = is_busy
        self.is_refusal = is_refusal
