"""Compacts the entries of an ended run: consecutive deltas of one message become one entry with the id of the last.

The lengths of the joined deltas are stored, so a reader that resumes at an id in the middle gets exactly the rest.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import Custom, Delta, Event, ReasoningDelta, TextDelta, ToolCallDelta
from rightseat.core.log import Entry
from rightseat.core.stream import codec


class CompactedEntry(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One event in place of several. `lengths` are those of the joined texts, empty for a single event."""

    epoch: int
    event: Event
    lengths: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return len(self.lengths) or 1


class _RawEntry(msgspec.Struct, frozen=True, array_like=True):
    """A compacted entry whose event is not decoded."""

    epoch: int
    event: msgspec.Raw
    lengths: tuple[int, ...] = ()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[CompactedEntry, ...])
_raw_decoder = msgspec.json.Decoder(tuple[_RawEntry, ...])


def encode(entries: Sequence[Entry], previous: str | None = None) -> bytes:
    """Encode a run from its first entry on. `previous` is its encoding before it was resumed.

    Raises `UnreadableEvent` if the run has an event of a type that this version does not know.
    """
    compacted = (*(_decode(previous) if previous else ()), *_join(entries))
    for item in compacted:
        if isinstance(item.event, Custom) and item.event.name == codec.UNKNOWN:
            raise UnreadableEvent(f"it has an event of the type {item.event.value}, which a later version has written")
    return _encoder.encode(compacted)


def decode(data: str | bytes, after: int = 0) -> list[Entry]:
    """The entries after number `after`."""
    return list(_entries_after(_decode(data), after))


def _decode(data: str | bytes) -> Sequence[CompactedEntry]:
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        return _decode_each(data)


def _decode_each(data: str | bytes) -> Sequence[CompactedEntry]:
    try:
        found = _raw_decoder.decode(data)
    except msgspec.DecodeError as error:
        raise UnreadableEvent(str(error)) from error
    return [CompactedEntry(item.epoch, codec.decode(bytes(item.event)), item.lengths) for item in found]


def _join(entries: Sequence[Entry]) -> Iterator[CompactedEntry]:
    for _, group in groupby(entries, key=_group_key):
        first, *others = group
        if not others:
            yield CompactedEntry(first.epoch, first.event)
            continue
        texts = [entry.event.text for entry in (first, *others) if isinstance(entry.event, Delta)]
        yield CompactedEntry(first.epoch, replace_text(first.event, "".join(texts)), tuple(map(len, texts)))


def _group_key(entry: Entry) -> object:
    """Equal for consecutive entries that can be joined."""
    match entry.event:
        case TextDelta(message_id=id) | ReasoningDelta(message_id=id):
            return entry.epoch, type(entry.event), id
        case ToolCallDelta(call_id=id):
            return entry.epoch, ToolCallDelta, id
    return entry.seq


def _entries_after(compacted: Sequence[CompactedEntry], after: int) -> Iterator[Entry]:
    last = 0
    for item in compacted:
        first, last = last + 1, last + item.count
        if first > after:
            yield Entry(item.epoch, last, item.event)
        elif last > after and isinstance(item.event, Delta):
            seen = sum(item.lengths[: after - first + 1])
            yield Entry(item.epoch, last, replace_text(item.event, item.event.text[seen:]))


def replace_text(event: Event, text: str) -> Event:
    return msgspec.structs.replace(event, text=text) if isinstance(event, Delta) else event
