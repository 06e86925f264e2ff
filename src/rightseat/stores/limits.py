"""Limits and usage in a SQL database, and in this process's memory."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from rightseat.core.limits.book import (
    Admitted,
    Book,
    Buckets,
    Hold,
    Operation,
    Outcome,
    Reserve,
    Settle,
    UsageCounts,
    UsageKey,
    is_slot,
)
from rightseat.core.limits.rules import CONCURRENT_RUNS, CounterKey, LimitRule
from rightseat.core.limits.store import DELETED_USER, CounterRow, UsageQuery, UsageRow
from rightseat.core.limits.tickets import Ticket, WaitingTickets
from rightseat.core.limits.windows import find_zone
from rightseat.stores import limit_queries
from rightseat.stores.databases import StoreDatabase
from rightseat.stores.limit_queries import MissingCounters
from rightseat.stores.limit_statements import STATEMENTS


class SqlLimits:
    is_used = False
    zone = "UTC"

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        database, statements = self._database, STATEMENTS[self._database.dialect]
        while True:
            try:
                script = limit_queries.apply(statements, operations, database.process_id, self.zone)
                return await database.run_script(script)
            except MissingCounters as missing:
                await database.write(limit_queries.add_counters, missing.keys)

    def has_slot(self, connection: Connection, run_id: str) -> bool:
        """Whether this process holds the slot of a run; it keeps it until the transaction ends."""
        if self._database.reap_every is None:
            return True  # no other process can have given it back
        return limit_queries.has_slot(connection, run_id, self._database.process_id)

    async def find_ready(self, queues: Mapping[CounterKey, LimitRule]) -> Sequence[str]:
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

    async def find_ready(self, queues: Mapping[CounterKey, LimitRule]) -> Sequence[str]:
        book = Book(self._counters, self._clock(), waiting=self._read_waiting())
        return [one.id for key, rule in queues.items() if key in book.counters for one in book.find_ready(key, rule)]

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
