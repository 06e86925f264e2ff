"""The protocol of a store that counts: it applies operations in one transaction, and settles for dead processes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Literal, Protocol

import msgspec

from rightseat.limits.book import Buckets, Operation, Outcome, Settle
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.rules import CounterKey, LimitRule
from rightseat.limits.tickets import QueueState

UsageColumn = Literal["day", "user", "key", "agent", "model", "purpose"]
USAGE_COLUMNS: tuple[UsageColumn, ...] = ("day", "user", "key", "agent", "model", "purpose")


DELETED_USER = "deleted"
"""The user of the usage rows of all users whose data was deleted."""


def parse_columns(text: str) -> tuple[UsageColumn, ...]:
    """Raises `ValueError` for a name that is unknown or doubled."""
    wanted = text.split(",")
    found = sorted((name for name in USAGE_COLUMNS if name in wanted), key=wanted.index)
    if len(found) < len(wanted):
        raise ValueError(f"use each of these once, separated by commas: {', '.join(USAGE_COLUMNS)}")
    return tuple(found)


class UsageQuery(msgspec.Struct, frozen=True):
    """Sums by these columns, of the days `since` to `until`, both included; of one user, or of all."""

    by: tuple[UsageColumn, ...] = ()
    since: date | None = None
    until: date | None = None
    user: str | None = None


class UsageRow(msgspec.Struct, frozen=True):
    """`group` has the values of the columns of the query, in its order. `counts.cost` is in billionths."""

    group: tuple[str, ...]
    counts: UsageCounts


class CounterRow(msgspec.Struct, frozen=True):
    """A stored counter. Buckets whose window has ended may still be in it."""

    key: CounterKey
    buckets: Buckets
    waiting: int = 0
    """Asks that wait for it."""


class LimitStore(Protocol):
    is_used: bool
    """Set before the store is opened, if anything is counted: it then settles the holds of dead processes."""
    zone: str
    """The time zone of the days of the usage report."""
    repeat: Callable[[Sequence[Settle]], None]
    """Set by the ledger. The store calls it with settlements that it may have lost: they must be applied again."""

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        """Apply all operations in this order, in one transaction. Raises `StoreUnreachable`."""
        ...

    async def find_ready(self, queues: Mapping[CounterKey, LimitRule]) -> QueueState:
        """The tickets of the queues of these counters. Raises `StoreUnreachable`."""
        ...

    async def counters(self) -> tuple[float, Sequence[CounterRow]]:
        """The time by the clock of the store, and all counters."""
        ...

    async def claim_warning(self, key: CounterKey, now: float, until: float) -> bool:
        """Whether this process is the first to warn of the counter until then. Raises `StoreUnreachable`."""
        ...

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]: ...

    async def forget_user(self, user: str) -> int:
        """Add the usage of this user to that of `DELETED_USER`, without keys. Returns how many rows it had."""
        ...
