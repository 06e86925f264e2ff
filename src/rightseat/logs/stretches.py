"""A run that has ended, in fewer entries that say the same to a reader at any id.

Deltas of one message that follow each other become one, which has the id of the last of them. How long each piece was
is kept, so a reader who comes back with an id from the middle of a stretch gets the rest of it: no gap, nothing twice.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import CallDelta, Event, TextDelta, ThoughtDelta
from rightseat.core.log import Entry

Delta = TextDelta | ThoughtDelta | CallDelta


class Stretch(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One event in place of several. `lengths` are those of the pieces of its text, empty where it stands alone."""

    epoch: int
    event: Event
    lengths: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return len(self.lengths) or 1


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[Stretch, ...])


def encode(entries: Sequence[Entry], earlier: str | None = None) -> bytes:
    """A whole run, from its first entry on; `earlier` is what was encoded before, if it went on after that."""
    return _encoder.encode((*(_decoder.decode(earlier) if earlier else ()), *_joined(entries)))


def decode(data: str | bytes, after: int = 0) -> list[Entry]:
    """The entries behind number `after`."""
    try:
        return list(_rest(_decoder.decode(data), after))
    except msgspec.DecodeError as error:
        raise UnreadableEvent(str(error)) from error


def _joined(entries: Sequence[Entry]) -> Iterator[Stretch]:
    for _, group in groupby(entries, key=_stretch_of):
        first, *others = group
        if not others:
            yield Stretch(first.epoch, first.event)
            continue
        pieces = [entry.event.text for entry in (first, *others) if isinstance(entry.event, Delta)]
        yield Stretch(first.epoch, with_text(first.event, "".join(pieces)), tuple(map(len, pieces)))


def _stretch_of(entry: Entry) -> object:
    """Equal for neighbours that can become one."""
    match entry.event:
        case TextDelta(message_id=id) | ThoughtDelta(message_id=id):
            return entry.epoch, type(entry.event), id
        case CallDelta(call_id=id):
            return entry.epoch, CallDelta, id
    return entry.seq


def _rest(stretches: Sequence[Stretch], after: int) -> Iterator[Entry]:
    last = 0
    for stretch in stretches:
        first, last = last + 1, last + stretch.count
        if first > after:
            yield Entry(stretch.epoch, last, stretch.event)
        elif last > after and isinstance(stretch.event, Delta):
            seen = sum(stretch.lengths[: after - first + 1])
            yield Entry(stretch.epoch, last, with_text(stretch.event, stretch.event.text[seen:]))


def with_text(event: Event, text: str) -> Event:
    return msgspec.structs.replace(event, text=text) if isinstance(event, Delta) else event
