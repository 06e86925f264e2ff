"""Limits and usage in a SQL database, and in this process's memory."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from rightseat.limits.book import (
    Admitted,
    Book,
    Buckets,
    Hold,
    Operation,
    Outcome,
    Reserve,
    Settle,
    UsageKey,
    is_slot,
)
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.rules import CONCURRENT_RUNS, CounterKey, LimitRule
from rightseat.limits.store import DELETED_USER, CounterRow, UsageQuery, UsageRow
from rightseat.limits.tickets import QueueState, Ticket, WaitingTickets
from rightseat.limits.windows import find_zone
from rightseat.stores import limit_queries
from rightseat.stores.known_limits import KnownLimits, is_repeatable
from rightseat.stores.limit_queries import STATEMENTS, MissingCounters
from rightseat.stores.store_database import StoreDatabase

MAX_COMPARISONS = 2
"""The second one has the rows that the first one has found."""
LOCKED_BATCHES = 10
MAX_UNFLUSHED = 100


def drop_settlements(settlements: Sequence[Settle]) -> None:
    """Without a ledger nothing is settled."""


class SqlLimits:
    """Operations are decided with the rows as this process knows them, and compared and written by one statement.

    Settlements do not wait for the disk: they are the only ones that can be repeated without effect, and they are, if
    the connection is lost before a later commit has flushed them. So a crash of the database loses none.
    """

    is_used = False
    zone = "UTC"

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._statements = STATEMENTS[database.dialect]
        self._known = KnownLimits()
        self._locked_batches = 0  # that are next, after a comparison failed twice
        self._unflushed: list[Settle] = []
        self.repeat: Callable[[Sequence[Settle]], None] = drop_settlements
        database.on_lost_scripts = self._repeat_unflushed

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        while True:
            try:
                outcomes = await self._apply_known(operations) or await self._apply_locked(operations)
            except MissingCounters as missing:
                await self._database.write(limit_queries.add_counters, missing.keys)
            else:
                self._known.learn_holds(operations, outcomes)
                return outcomes

    async def _apply_known(self, operations: Sequence[Operation]) -> Sequence[Outcome] | None:
        """In one round trip mostly. None if the rows are not known, or if another process changes them as well."""
        if self._database.reap_every is None or not self._known.covers(operations):
            return None  # without other processes, a transaction needs no round trips
        if self._locked_batches:
            self._locked_batches -= 1
            return None
        is_flushed = not is_repeatable(operations) or len(self._unflushed) >= MAX_UNFLUSHED
        for _ in range(MAX_COMPARISONS):
            applied = await self._compare(operations, is_flushed=is_flushed)
            if applied.outcomes is not None:
                self._record_flush(operations, is_flushed=is_flushed)
                return applied.outcomes
        self._locked_batches = LOCKED_BATCHES
        return None

    async def _compare(self, operations: Sequence[Operation], *, is_flushed: bool) -> limit_queries.Applied:
        process_id, known = self._database.process_id, self._known
        applied = await self._database.run_statements(
            limit_queries.apply_known(self._statements, operations, known, process_id, self.zone, is_flushed=is_flushed)
        )
        known.learn_rows(applied.rows)
        if applied.outcomes is not None:
            known.learn_counters(applied.saved)
        return applied

    async def _apply_locked(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        process_id = self._database.process_id
        script = limit_queries.apply(self._statements, operations, process_id, self.zone)
        outcomes = await self._database.run_script(script)
        self._record_flush(operations, is_flushed=True)
        return outcomes

    def _record_flush(self, operations: Sequence[Operation], *, is_flushed: bool) -> None:
        """A commit that waits for the disk has also flushed those before it."""
        if is_flushed:
            self._unflushed.clear()
        else:
            self._unflushed += [one for one in operations if isinstance(one, Settle)]

    def _repeat_unflushed(self) -> None:
        """The database may have crashed, and have lost its last commits."""
        lost, self._unflushed = self._unflushed, []
        if lost:
            self.repeat(lost)

    def has_slot(self, connection: Connection, run_id: str) -> bool:
        """Whether this process holds the slot of a run; it keeps it until the transaction ends."""
        if self._database.reap_every is None:
            return True  # no other process can have given it back
        return limit_queries.has_slot(connection, run_id, self._database.process_id)

    async def find_ready(self, queues: Mapping[CounterKey, LimitRule]) -> QueueState:
        return await self._database.read(limit_queries.find_ready, queues)

    async def counters(self) -> tuple[float, Sequence[CounterRow]]:
        return await self._database.read(limit_queries.list_counters)

    async def claim_warning(self, key: CounterKey, now: float, until: float) -> bool:
        return await self._database.write(limit_queries.claim_warning, key, now, until)

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        return await self._database.read(limit_queries.list_usage, query)

    async def forget_user(self, user: str) -> int:
        return await self._database.write(limit_queries.forget_user, user)


class MemoryLimits:
    """Counters of one process, until it ends."""

    is_used = False
    zone = "UTC"
    repeat: Callable[[Sequence[Settle]], None]  # never called: what is in memory is not lost

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._counters: dict[CounterKey, Buckets] = {}
        self._expiry: dict[CounterKey, float] = {}
        self._warned: dict[CounterKey, float] = {}
        self._holds: dict[str, Hold] = {}
        self._tickets: dict[str, Ticket] = {}
        self._usage: dict[tuple[str, UsageKey], UsageCounts] = {}

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        for key in {key for one in operations if isinstance(one, Reserve) for key in one.keys}:
            self._counters.setdefault(key, {})
        settled = [one.hold.id for one in operations if isinstance(one, Settle) and one.hold is not None]
        waiting = self._read_waiting() if any(isinstance(one, Reserve) and one.queues for one in operations) else None
        deleted = {id: hold for id in settled if (hold := self._holds.pop(id, None)) is not None}
        book = Book(self._counters, self._clock(), deleted, waiting)
        outcomes = [self._find_moved(one, book.now) or book.apply(one) for one in operations]
        self._save(book)
        return outcomes

    def _find_moved(self, operation: Operation, now: float) -> Admitted | None:
        """The slot that a taken-over run already has."""
        if isinstance(operation, Reserve) and operation.is_forced and (hold := self._holds.get(operation.id)):
            return Admitted(hold, (), now)
        return None

    def _read_waiting(self) -> WaitingTickets:
        running = Counter(one.usage.user for one in self._holds.values() if is_slot(one))
        return WaitingTickets(self._tickets.values(), running)

    async def find_ready(self, queues: Mapping[CounterKey, LimitRule]) -> QueueState:
        return Book(self._counters, self._clock(), waiting=self._read_waiting()).read_queues(queues)

    def _save(self, book: Book) -> None:
        for key in book.changed:
            self._counters[key] = book.counters[key]
            self._expiry[key] = book.expires_at(key) or self._expiry.get(key, book.now)
        self._holds |= {one.id: one for one in book.holds}
        for id in book.waiting.removed:
            self._tickets.pop(id, None)
        self._tickets |= book.waiting.added
        day = datetime.fromtimestamp(book.now, find_zone(self.zone)).date().isoformat()
        for usage_key, counts in book.usage.items():
            known = self._usage.get((day, usage_key), UsageCounts())
            self._usage[day, usage_key] = known.add(counts)

    def expire(self) -> None:
        now = self._clock()
        for key in [key for key, at in self._expiry.items() if at < now]:
            if key.rule != CONCURRENT_RUNS or not any(map(any, self._counters[key].values())):
                del self._counters[key], self._expiry[key]
                self._warned.pop(key, None)

    async def counters(self) -> tuple[float, Sequence[CounterRow]]:
        waiting = Counter(one.queue for one in self._tickets.values())
        counters = sorted(self._counters.items())
        return self._clock(), [CounterRow(key, dict(buckets), waiting[key]) for key, buckets in counters]

    async def claim_warning(self, key: CounterKey, now: float, until: float) -> bool:
        if now < self._warned.get(key, 0.0):
            return False
        self._warned[key] = until
        return True

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        found: dict[tuple[str, ...], UsageCounts] = {}
        for (day, key), counts in self._usage.items():
            if query.user not in (None, key.user):
                continue
            if (query.since and day < query.since.isoformat()) or (query.until and day > query.until.isoformat()):
                continue
            values = {"day": day, **key._asdict()}
            group = tuple(values[name] for name in query.by)
            found[group] = found[group].add(counts) if group in found else counts
        return [UsageRow(group, counts) for group, counts in sorted(found.items())]

    async def forget_user(self, user: str) -> int:
        found = [(day, key) for day, key in self._usage if key.user == user and user != DELETED_USER]
        for day, key in found:
            counts, deleted = self._usage.pop((day, key)), key._replace(user=DELETED_USER, key="")
            known = self._usage.get((day, deleted), UsageCounts())
            self._usage[day, deleted] = known.add(counts)
        return len(found)
