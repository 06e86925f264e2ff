"""The record format of a shared log, and a cursor that decodes records into entries and detects gaps.

    created  0-1                 the run exists
    fence    <epoch>-0           a writer has claimed the run
    base     <epoch>-<base>      the log was lost and starts again after this number
    events   <epoch>-<seq>       events as a JSON array; `seq` is the number of the last one
    end      <epoch>-<seq + 1>   the writer has closed the run

The backend refuses a record whose position is not above all others. That is the whole fencing: a stale writer has a
lower epoch, and a record that is sent twice has the same position.
"""

from collections.abc import Sequence
from typing import Literal, Self

import msgspec

from rightseat.core.errors import LogTruncated
from rightseat.core.log import Entry, Position
from rightseat.core.stream import codec

RecordKind = Literal["created", "fence", "base", "events", "end"]

START = Position(0, 0)
CREATED = Position(0, 1)

FIRST_PAGE_RECORDS = 16
MAX_PAGE_RECORDS = 200
PAGE_BYTES = 128 * 1024
"""About the size of a page. A reader that waits for its client has one in memory, decoded and encoded again."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """`content` is the JSON of `events`; for other kinds the idempotency key of the request that wrote it."""

    position: Position
    kind: RecordKind
    content: bytes = b""


class RecordPage(msgspec.Struct, frozen=True, gc=False):
    records: Sequence[Record]
    is_last: bool


class Cursor:
    """A reader's place in a log: `position` is the last record read, `last_entry` the last entry.

    `truncated` is set once records are missing. `page_records` is how many records it should read next.
    """

    __slots__ = ("is_ended", "last_entry", "page_records", "position", "run_id", "truncated")

    def __init__(self, run_id: str, position: Position = START, last_entry: Position | None = None) -> None:
        self.run_id = run_id
        self.position = position
        self.last_entry = position if last_entry is None else last_entry
        self.is_ended = False
        self.page_records = FIRST_PAGE_RECORDS
        self.truncated: LogTruncated | None = None

    @property
    def seq(self) -> int:
        return self.last_entry.seq

    def copy(self) -> Self:
        return type(self)(self.run_id, self.position, self.last_entry)

    def read(self, records: Sequence[Record]) -> list[Entry]:
        """Decode the entries that directly follow the last one. Sets `truncated` if some are missing."""
        entries: list[Entry] = []
        for record in records:
            if record.kind in ("events", "base") and record.position <= self.last_entry:
                pass  # a local writer's events are seen before the server acknowledges them
            elif record.kind == "events":
                self._read_events(record, entries)
            elif record.kind == "base":
                self._read_base(record)
            if self.truncated:
                break
            self.is_ended = record.kind == "end"
            self.position = record.position
        return entries

    def fit_page(self, page: RecordPage) -> None:
        """Read fewer records at once if they are long."""
        if size := sum(len(record.content) for record in page.records):
            self.page_records = max(1, min(MAX_PAGE_RECORDS, PAGE_BYTES * len(page.records) // size))

    def _read_base(self, record: Record) -> None:
        if 0 < record.position.seq == self.last_entry.seq:
            self.last_entry = record.position
        else:
            self.truncated = LogTruncated(self.run_id, str(record.position))

    def _read_events(self, record: Record, entries: list[Entry]) -> None:
        epoch, last = record.position
        events = codec.decode_all(record.content)
        first, seen = last - len(events) + 1, self.last_entry.seq
        # A new writer continues the numbers; one that repeats them has started a lost log again.
        is_restarted = first <= seen and epoch != self.last_entry.epoch
        if is_restarted or not first <= seen + 1 <= last:
            self.truncated = LogTruncated(self.run_id, f"{epoch}-{first - 1}")
            return
        entries += [Entry(epoch, number, event) for number, event in enumerate(events, first) if number > seen]
        self.last_entry = record.position


def find_last_entry(records: Sequence[Record]) -> Position | None:
    """The position of the last entry, from records in descending order; None if they do not reach back far enough."""
    for record in records:
        match record.kind:
            case "events" | "base":
                return record.position
            case "end":
                return Position(record.position.epoch, record.position.seq - 1)
            case "created":
                return START
            case "fence":
                continue
    return None
