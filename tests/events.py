"""Compares the events of a run with those of its agent."""

from collections.abc import Iterable

import msgspec

from rightseat.core.events import Event, RunStarted, SpanEnded, SpanStarted


def without_spans(events: Iterable[Event]) -> list[Event]:
    """The events without those that have times: spans, and the `began_at` of the start."""
    return [
        msgspec.structs.replace(event, began_at=None) if isinstance(event, RunStarted) else event
        for event in events
        if not isinstance(event, SpanStarted | SpanEnded)
    ]
