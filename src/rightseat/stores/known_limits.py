"""The rows of limits as this process last read or wrote them, so that it can decide before it sends a statement.

They may have changed since. The statement that writes the decision compares them first, so rows that are out of date
cost a round trip and nothing else.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from rightseat.limits.book import Admitted, Operation, Outcome, Settle
from rightseat.limits.rules import CounterKey
from rightseat.stores.limit_rows import ComparedRows, SavedRows

MAX_KNOWN_COUNTERS = 10_000
MAX_KNOWN_HOLDS = 10_000
"""Beyond them the oldest are forgotten, such as holds that another process has settled. Settling one locks first."""


class KnownLimits:
    def __init__(self) -> None:
        self._counters: OrderedDict[CounterKey, str] = OrderedDict()
        self._hold_ids: dict[str, None] = {}  # the oldest first
        self._clock: tuple[float | None, float] | None = None  # of the database, and of this process at that time

    def covers(self, operations: Sequence[Operation]) -> bool:
        """Whether these operations depend on counters and own holds alone: not on tickets, nor on holds of others."""
        return any(True for one in operations for _ in one.keys) and all(
            not one.ticket_id and (one.hold is None or one.hold.id in self._hold_ids)
            if isinstance(one, Settle)
            else not (one.queues or one.is_forced or one.has_ticket)
            for one in operations
        )

    def has_all(self, keys: Iterable[CounterKey]) -> bool:
        return self._clock is not None and all(key in self._counters for key in keys)

    def find(self, keys: Iterable[CounterKey]) -> dict[CounterKey, str]:
        """The buckets of those counters that are known, as JSON."""
        return {key: self._counters[key] for key in keys if key in self._counters}

    def predict_seconds(self) -> float | None:
        """The time of the database's server; None without a server."""
        if self._clock is None or self._clock[0] is None:
            return None
        return self._clock[0] + time.monotonic() - self._clock[1]

    def learn_rows(self, rows: ComparedRows) -> None:
        """Rows that were read, or that differed."""
        self._clock = (rows.database_seconds, time.monotonic())
        self._keep(rows.counters.items())

    def learn_counters(self, saved: SavedRows) -> None:
        """Counters that were written."""
        self._keep((CounterKey(one.limit_name, one.rule, one.subject), one.buckets) for one in saved.counters)

    def learn_holds(self, operations: Sequence[Operation], outcomes: Sequence[Outcome]) -> None:
        """Holds that were added, and holds that are gone."""
        admitted = [found for one in outcomes if isinstance(one, Admitted) for found in (one, one.call) if found]
        self._hold_ids |= {one.hold.id: None for one in admitted if one.hold is not None}
        for one in operations:
            if isinstance(one, Settle) and one.hold is not None:
                self._hold_ids.pop(one.hold.id, None)
        while len(self._hold_ids) > MAX_KNOWN_HOLDS:
            del self._hold_ids[next(iter(self._hold_ids))]

    def _keep(self, counters: Iterable[tuple[CounterKey, str]]) -> None:
        for key, buckets in counters:
            self._counters[key] = buckets
            self._counters.move_to_end(key)
        while len(self._counters) > MAX_KNOWN_COUNTERS:
            self._counters.popitem(last=False)


def is_repeatable(operations: Sequence[Operation]) -> bool:
    """Whether these operations have an effect only once, however often they are applied."""
    return all(isinstance(one, Settle) and one.hold is not None for one in operations)
