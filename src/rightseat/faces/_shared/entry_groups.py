"""Splits long lists of entries, so that a face encodes a bounded part of a run between two sends."""

from collections.abc import Iterator, Sequence

from rightseat.core.log import Entry
from rightseat.wire.json_pieces import PIECE_BYTES, measure

MAX_FRESH_ENTRIES = 32
"""Up to so many entries are what a run has just written. Measuring them would double the cost of a chunk."""


def split_entries(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Groups of about `PIECE_BYTES`, in order. An entry is not split."""
    if len(entries) <= MAX_FRESH_ENTRIES:
        yield entries
        return
    start, budget = 0, PIECE_BYTES
    for place, entry in enumerate(entries):
        if place > start and budget < 0:
            yield entries[start:place]
            start, budget = place, PIECE_BYTES
        budget = measure(entry.event, budget)
    yield entries[start:]
