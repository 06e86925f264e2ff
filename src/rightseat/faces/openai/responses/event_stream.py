"""The numbered events of a response, and its output items so far."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from msgspec import json

from rightseat.faces.openai.responses.input_items import Item
from rightseat.wire.json_pieces import encode_pieces, join_pieces

encode = json.Encoder().encode


class ResponseEventStream:
    """`suffix` is the part of the response's id that the ids of its items share.

    Events up to the number `after` are left out. Without `writes`, events are only counted. Events are encoded at once,
    as `frames`; from `defer_encoding` on, when `take_pieces` gives them out.
    """

    def __init__(self, suffix: str, *, after: int, writes: bool) -> None:
        self.output: list[Item] = []
        self.frames: list[bytes] = []
        self.next_number = 0
        self.writes = writes
        self.after = after
        self._suffix = suffix
        self._deferred: list[dict[str, Any]] | None = None

    def defer_encoding(self) -> None:
        self._deferred = []

    def take_pieces(self) -> Iterator[bytes]:
        """The events since the last call. Each has the text of its item again, so they are encoded one by one."""
        events, self._deferred = self._deferred or (), []
        for data in events:
            head = b"event: %b\ndata: " % data["type"].encode()
            yield from join_pieces(chain((head,), encode_pieces(data), (b"\n\n",)))

    def emit(self, kind: str, **fields: Any) -> None:
        number = self.next_number
        self.next_number += 1
        if self.writes and number > self.after:
            data = {"type": kind, "sequence_number": number, **fields}
            if self._deferred is not None:
                return self._deferred.append(data)
            self.frames.append(b"event: %b\ndata: %b\n\n" % (kind.encode(), encode(data)))

    def add_item(self, prefix: str, item: Item, key: str | None = None) -> tuple[int, str]:
        """Returns its index and its id. `key` makes the id unique within the response, in place of the index."""
        index = len(self.output)
        id = f"{prefix}_{self._suffix}_{key or index}"
        self.output.append({"id": id, **item})
        self.emit("response.output_item.added", output_index=index, item=self.output[index])
        return index, id

    def end_item(self, index: int, item: Item) -> None:
        self.output[index] = {"id": self.output[index]["id"], **item}
        self.emit("response.output_item.done", output_index=index, item=self.output[index])
