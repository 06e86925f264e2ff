"""Server-sent events: the data of each, out of bytes that come in any pieces.

Lines end with LF or CRLF, an event with an empty line; the lines of one event's data are joined with LF, as the
standard says. A line, and the data of one event, are bounded (`wire.lines`): both readers raise `LineTooLong`.
"""

from rightseat.wire.lines import MAX_LINE_BYTES, LineTooLong, Splitter


class Decoder:
    """Feed it bytes, take the data of the events that are whole.

    Event names, ids and comments are dropped: no model's stream needs them.
    """

    __slots__ = ("_data", "_lines", "_max_bytes", "_size")

    media_type = "text/event-stream"

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = Splitter(max_bytes)
        self._data: list[bytes] = []
        self._size = 0
        self._max_bytes = max_bytes

    def feed(self, piece: bytes) -> list[bytes]:
        whole: list[bytes] = []
        data = self._data
        for line in self._lines.feed(piece):
            if line.endswith(b"\r"):
                line = line[:-1]  # the line without its CR is the line
            if line.startswith(b"data:"):
                if data:
                    self._count(line)
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line and data:
                whole.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
                self._size = 0
        return whole

    def rest(self) -> list[bytes]:
        """What the stream left without the empty line at its end: some servers forget it after the last event."""
        return self.feed(b"\n\n")

    def _count(self, line: bytes) -> None:
        """Of an event with several lines, which is rare."""
        self._size = (self._size or len(self._data[0])) + len(line)
        if self._size > self._max_bytes:
            self._data.clear()
            raise LineTooLong("an event of the stream", self._max_bytes)


class Named:
    """Like `Decoder`, for streams whose events have names: takes `(name, data)`."""

    __slots__ = ("_data", "_lines", "_max_bytes", "_name", "_size")

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = Splitter(max_bytes)
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._max_bytes = max_bytes

    def feed(self, piece: bytes) -> list[tuple[str, bytes]]:
        whole: list[tuple[str, bytes]] = []
        for line in self._lines.feed(piece):
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._size += len(line)
                if self._size > self._max_bytes:
                    self._data.clear()
                    raise LineTooLong("an event of the stream", self._max_bytes)
                self._data.append(line[5:].removeprefix(b" "))
            elif line.startswith(b"event:"):
                self._name = line[6:].strip().decode("utf-8", "replace")
            elif not line:
                if self._data:
                    whole.append((self._name, b"\n".join(self._data)))
                self._data, self._name, self._size = [], "", 0
        return whole


UNREADABLE = "an event is no JSON of this protocol"
SHOWN_BYTES = 500
"""Of an event that cannot be read, in its error."""


class StreamError(Exception):
    """The server put an error into the middle of its answer.

    `is_busy` where it says that it has too much to do, `is_refusal` where it does not accept the request after all.
    `kind` is for the log: a word of the provider's, or of ours where the words cannot repeat the prompt.
    """

    def __init__(self, said: str, *, kind: str = "", is_busy: bool = False, is_refusal: bool = False) -> None:
        super().__init__(said)
        self.kind = kind
        self.is_busy = is_busy
        self.is_refusal = is_refusal
