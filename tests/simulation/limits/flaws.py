"""Flaws that are planted on purpose: stores that count as a plausible but wrong implementation would."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from sqlalchemy import Connection, select

from rightseat.limits.book import Admitted, Book, Buckets, Operation, Outcome, Reserve, Settle
from rightseat.limits.rules import CounterKey
from rightseat.limits.store import LimitStore
from rightseat.stores import limit_queries
from rightseat.stores.limit_rows import ComparedRows, LimitDecision
from rightseat.stores.limits import SqlLimits
from rightseat.stores.limits_sqlite import SqliteStatements
from rightseat.stores.scripts import Script, run_script
from rightseat.stores.sql import SqlThreads
from rightseat.stores.tables import limit_holds
from tests.simulation.database import Connected

STATEMENTS = SqliteStatements()
OWNERS = select(limit_holds.c.process_id).distinct()
Counters = dict[CounterKey, Buckets]
OpenLimits = Callable[[SqlThreads, Connected], LimitStore]
"""Opens the limits of one process."""


def without_flaw(threads: SqlThreads, database: Connected) -> LimitStore:
    return threads.limits


def never_reap(threads: SqlThreads, database: Connected) -> LimitStore:
    """The store of the threads does not know that anything is counted."""
    return SqlLimits(database)


def look_first(threads: SqlThreads, database: Connected) -> LimitStore:
    """Counters are read in one transaction, and written in another."""
    threads.limits = FlawedLimits(database, looks_first=True)
    return threads.limits


def settle_twice(threads: SqlThreads, database: Connected) -> LimitStore:
    """A reservation that is gone is settled all the same."""
    threads.limits = FlawedLimits(database, trusts_callers=True)
    return threads.limits


def release_for_others(threads: SqlThreads, database: Connected) -> LimitStore:
    """A process gives back the slot of a run that another one has taken over."""
    threads.limits = FlawedLimits(database, ignores_owners=True)
    return threads.limits


def start_without_slot(threads: SqlThreads, database: Connected) -> LimitStore:
    """A run starts although its slot was given back after its admission."""
    threads.limits = TrustingLimits(database)
    return threads.limits


def forget_calls(threads: SqlThreads, database: Connected) -> LimitStore:
    """The process does not learn that the first call was reserved with its ask."""
    threads.limits = ForgetfulLimits(database)
    return threads.limits


def compare_nothing(threads: SqlThreads, database: Connected) -> LimitStore:
    """Decisions are written without a look at the rows that they depend on."""
    limits = SqlLimits(database)
    limits._statements = UncheckedStatements()
    threads.limits = limits
    return limits


class UncheckedStatements(SqliteStatements):
    def replace(self, decided: LimitDecision) -> Script[ComparedRows]:
        yield from self.lock((), decided.settled, decided.owner)
        yield from self.save(decided.saved)
        return ComparedRows(True, {}, None)


class ForgetfulLimits(SqlLimits):
    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        outcomes = await super().apply(operations)
        return [msgspec.structs.replace(one, call=None) if isinstance(one, Admitted) else one for one in outcomes]


class TrustingLimits(SqlLimits):
    def has_slot(self, connection: Connection, run_id: str) -> bool:
        return True


class FlawedLimits(SqlLimits):
    def __init__(
        self,
        database: Connected,
        *,
        looks_first: bool = False,
        trusts_callers: bool = False,
        ignores_owners: bool = False,
    ) -> None:
        super().__init__(database)
        self._looks_first = looks_first
        self._trusts_callers = trusts_callers
        self._ignores_owners = ignores_owners

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        keys = {key for one in operations for key in one.keys}
        seen = await self._database.write(read_or_add, keys)
        return await self._database.write(self._count, operations, seen if self._looks_first else None)

    def _count(
        self, connection: Connection, operations: Sequence[Operation], seen: Counters | None
    ) -> Sequence[Outcome]:
        process = self._database.process_id
        holds = {one.hold.id: one.hold for one in operations if isinstance(one, Settle) and one.hold}
        owners = connection.execute(OWNERS).scalars().all() if self._ignores_owners else [process]
        locked = [run_script(connection, STATEMENTS.lock((), list(holds), owner)) for owner in owners]
        found = {id: limit_queries.decode_hold(text) for one in locked for id, text in one.holds.items()}
        deleted = found | (holds if self._trusts_callers else {})
        moved = run_script(connection, limit_queries.move_holds(STATEMENTS, operations, process))
        counters = read_or_add(connection, {key for one in operations for key in one.keys}) if seen is None else seen
        now = limit_queries.read_clock(None)
        book = Book(counters, now, deleted)
        outcomes = [
            Admitted(moved[one.id], (), now) if isinstance(one, Reserve) and one.id in moved else book.apply(one)
            for one in operations
        ]
        run_script(connection, limit_queries.save(STATEMENTS, book, process, self.zone))
        return outcomes


def read_or_add(connection: Connection, keys: Iterable[CounterKey]) -> Counters:
    wanted = sorted(keys)
    if wanted:
        limit_queries.add_counters(connection, wanted)
    locked = run_script(connection, STATEMENTS.lock(wanted, (), 0))
    return {key: limit_queries.decode_buckets(text) for key, text in locked.counters.items()}
