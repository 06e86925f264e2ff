"""Limits and usage in a SQL database: scripts that count, and functions of a connection inside a transaction.

Locks are taken in one order: counters by their key, then holds, then usage rows by their key. All that changes a hold
has locked its counters before.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, Double, bindparam, cast, delete, extract, func, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from rightseat.limits.book import (
    Admitted,
    Book,
    Buckets,
    Hold,
    Operation,
    Outcome,
    Reserve,
    Settle,
    is_slot,
)
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.rules import CONCURRENT_RUNS, CounterKey, LimitRule
from rightseat.limits.store import DELETED_USER, CounterRow, UsageQuery, UsageRow
from rightseat.limits.tickets import QueueState, Ticket, WaitingTickets
from rightseat.limits.windows import CalendarWindow, find_zone
from rightseat.stores.known_limits import KnownLimits
from rightseat.stores.limit_rows import (
    AddedUsage,
    ComparedRows,
    LimitDecision,
    LimitStatements,
    SavedCounter,
    SavedHold,
    SavedRows,
)
from rightseat.stores.limits_postgresql import PostgresStatements
from rightseat.stores.limits_sqlite import SqliteStatements
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.scripts import Script, run_script
from rightseat.stores.tables import limit_counters, limit_holds, runs, usage

STATEMENTS: Mapping[str, LimitStatements] = {"postgresql": PostgresStatements(), "sqlite": SqliteStatements()}
"""By SQLAlchemy's name of the dialect."""
PERIOD_MARGIN_S = 0.001
"""At the ends of a period, where floating-point numbers are rounded."""
SLOT_SUFFIX = ":slot"
"""The id of the slot of a run is the id of the run with this suffix."""
COUNTER_KEY = (limit_counters.c.limit_name, limit_counters.c.rule, limit_counters.c.subject)
ALL_COUNTERS = select(*COUNTER_KEY, limit_counters.c.buckets).order_by(*COUNTER_KEY)
COUNTERS = ALL_COUNTERS.where(tuple_(*COUNTER_KEY).in_(bindparam("of_keys", expanding=True)))
DATABASE_TIME = select(cast(extract("epoch", func.clock_timestamp()), Double))
ADD_COUNTERS = {
    "postgresql": postgresql.insert(limit_counters).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(limit_counters).on_conflict_do_nothing(),
}
EXPIRE_COUNTERS = delete(limit_counters).where(
    limit_counters.c.expires_at < bindparam("before"),
    (limit_counters.c.rule != CONCURRENT_RUNS) | limit_counters.c.buckets.in_(("{}", '{"0":[0,0]}')),
)
CLAIM_WARNING = (
    update(limit_counters)
    .where(
        tuple_(*COUNTER_KEY) == tuple_(*(bindparam(f"of_{column.name}") for column in COUNTER_KEY)),
        func.coalesce(limit_counters.c.warned_until, 0) <= bindparam("now"),
    )
    .values(warned_until=bindparam("until"))
)
FIND_HOLDS = select(limit_holds.c.hold).where(limit_holds.c.id.in_(bindparam("of_ids", expanding=True)))
HOLDS_OF_PROCESS = select(limit_holds.c.hold).where(
    limit_holds.c.process_id == bindparam("dead_process"), limit_holds.c.queue.is_(None)
)
REMOVE_TICKETS_OF_PROCESS = delete(limit_holds).where(
    limit_holds.c.process_id == bindparam("dead_process"), limit_holds.c.queue.is_not(None)
)
WAITING = (
    select(limit_holds.c.queue, func.count()).where(limit_holds.c.queue.is_not(None)).group_by(limit_holds.c.queue)
)
HOLDING_PROCESSES = PreparedStatement(
    select(limit_holds.c.process_id).distinct().where(limit_holds.c.process_id != bindparam("own_process"))
)
"""The other processes that have reservations."""
SLOTS_OF_ENDED_RUNS = (
    select(limit_holds.c.id)
    .join(runs, runs.c.id == limit_holds.c.run_id)
    .where(
        limit_holds.c.process_id == bindparam("own_process"),
        limit_holds.c.id == runs.c.id + SLOT_SUFFIX,
        runs.c.outcome.is_not(None),
    )
)

COUNT_NAMES = UsageCounts.__struct_fields__

encode_json = msgspec.json.Encoder().encode
decode_buckets = msgspec.json.Decoder(Buckets).decode
decode_hold = msgspec.json.Decoder(Hold).decode
decode_ticket = msgspec.json.Decoder(Ticket).decode
decode_key = msgspec.json.Decoder(CounterKey).decode


class MissingCounters(Exception):
    """Counters that have to be added in a transaction of their own, so that locks are always taken in order."""

    def __init__(self, keys: Iterable[CounterKey]) -> None:
        super().__init__("counters are missing")
        self.keys = sorted(keys)


def read_clock(database_seconds: float | None) -> float:
    """Unix time: that of the database's server; with SQLite that of this process."""
    return time.time() if database_seconds is None else database_seconds


def apply(
    statements: LimitStatements, operations: Sequence[Operation], process_id: int, zone: str, owner: int | None = None
) -> Script[Sequence[Outcome]]:
    """Raises `MissingCounters`, and must then be rolled back.

    Only holds of `owner` are settled, by default those of this process: another process may have taken over the run of
    a slot, and holds it under the same id.
    """
    settled = [one.hold.id for one in operations if isinstance(one, Settle) and one.hold is not None]
    keys = {key for one in operations for key in one.keys}
    locked = yield from statements.lock(keys, settled, owner or process_id)
    raise_missing(operations, locked.counters)
    moved = yield from move_holds(statements, operations, process_id)
    counters = {key: decode_buckets(text) for key, text in locked.counters.items()}
    deleted = {id: decode_hold(text) for id, text in locked.holds.items()}
    waiting = yield from read_tickets(statements, operations)
    waiting.running.update(one.usage.user for one in deleted.values() if is_slot(one))  # the book subtracts them
    book = Book(counters, read_clock(locked.database_seconds), deleted, waiting)
    outcomes = [
        Admitted(moved[one.id], (), book.now) if isinstance(one, Reserve) and one.id in moved else book.apply(one)
        for one in operations
    ]
    yield from save(statements, book, process_id, zone)
    return outcomes


def raise_missing(operations: Sequence[Operation], found: Mapping[CounterKey, str]) -> None:
    needed = {key for one in operations if isinstance(one, Reserve) for key in one.keys}
    if missing := needed - found.keys():
        raise MissingCounters(missing)


class Applied(NamedTuple):
    """`outcomes` is None if the rows were not as known; nothing was changed then. The caller learns the rows."""

    outcomes: Sequence[Outcome] | None
    rows: ComparedRows
    saved: SavedRows


def apply_known(
    statements: LimitStatements,
    operations: Sequence[Operation],
    known: KnownLimits,
    process_id: int,
    zone: str,
    *,
    is_flushed: bool,
) -> Script[Applied]:
    """Like `apply`, for operations that known rows cover: decide first, then compare and write in one statement.

    The statements need no transaction around them. Raises `MissingCounters`.
    """
    keys = {key for one in operations for key in one.keys}
    if not known.has_all(keys):
        rows = yield from statements.read(keys)
        raise_missing(operations, rows.counters)
        return Applied(None, rows, SavedRows())
    counters, seconds = known.find(keys), known.predict_seconds()
    now = read_clock(seconds)
    deleted = {one.hold.id: one.hold for one in operations if isinstance(one, Settle) and one.hold is not None}
    book = Book({key: decode_buckets(text) for key, text in counters.items()}, now, deleted)
    outcomes = [book.apply(one) for one in operations]
    saved, moved = list_changes(book, process_id, zone), now - (seconds or 0)
    first, last = find_period(operations, now, zone)
    period = first - moved, last - moved
    decided = LimitDecision(counters, sorted(deleted), process_id, period, saved, is_flushed)
    rows = yield from statements.replace(decided)
    return Applied(outcomes if rows.is_equal else None, rows, saved)


def find_period(operations: Sequence[Operation], now: float, zone: str) -> tuple[float, float]:
    """The period around now in which the operations count in the same buckets, and on the same day of usage."""
    windows = {charge.rule.window for one in operations if isinstance(one, Reserve) for charge in one.all_charges}
    spans = [window.span(window.bucket(now)) for window in (*windows, CalendarWindow("day", zone)) if window]
    return max(first for first, _ in spans) + PERIOD_MARGIN_S, min(last for _, last in spans) - PERIOD_MARGIN_S


def move_holds(
    statements: LimitStatements, operations: Sequence[Operation], process_id: int
) -> Script[dict[str, Hold]]:
    """The slots that taken-over runs already have; from now on this process owns them."""
    forced = [one.id for one in operations if isinstance(one, Reserve) and one.is_forced]
    if not forced:
        return {}
    found = yield from statements.move(forced, process_id)
    return {id: decode_hold(text) for id, text in found.items()}


def read_tickets(statements: LimitStatements, operations: Sequence[Operation]) -> Script[WaitingTickets]:
    """Of the queues in which asks of these operations may wait."""
    asks = [one for one in operations if isinstance(one, Reserve) and one.queues]
    queues = {key for one in asks for key in one.queues}
    if not queues:
        return WaitingTickets()
    return (yield from read_queues(statements, queues, {one.usage.user for one in asks}))


def read_queues(
    statements: LimitStatements, queues: Iterable[CounterKey], users: Iterable[str] = ()
) -> Script[WaitingTickets]:
    """The tickets of these queues, and the running runs of their users, and of these."""
    texts = yield from statements.read_tickets([encode_key(key) for key in queues])
    tickets = [decode_ticket(text) for text in texts]
    running = yield from statements.count_slots(sorted({*users, *(one.user for one in tickets)}))
    return WaitingTickets(tickets, running)


def encode_key(key: CounterKey) -> str:
    return encode_json(key).decode()


def save(statements: LimitStatements, book: Book, process_id: int, zone: str) -> Script[None]:
    if book.waiting.removed:
        yield from statements.remove_tickets(sorted(book.waiting.removed))
    saved = list_changes(book, process_id, zone)
    if any(saved):
        yield from statements.save(saved)


def list_changes(book: Book, process_id: int, zone: str) -> SavedRows:
    counters = [
        SavedCounter(*key, encode_json(book.counters[key]).decode(), book.expires_at(key))
        for key in sorted(book.changed)
    ]
    holds = [to_row(one, process_id, slot_user=one.usage.user if is_slot(one) else None) for one in book.holds]
    holds += [to_row(one, process_id, queue=encode_key(one.queue)) for one in book.waiting.added.values()]
    day = datetime.fromtimestamp(book.now, find_zone(zone)).date().isoformat()
    added = [AddedUsage(day, *key, *msgspec.structs.astuple(book.usage[key])) for key in sorted(book.usage)]
    return SavedRows(counters, holds, added)


def to_row(one: Hold | Ticket, process_id: int, *, queue: str | None = None, slot_user: str | None = None) -> SavedHold:
    return SavedHold(one.id, one.run_id, process_id, encode_json(one).decode(), queue, slot_user)


def add_counters(connection: Connection, keys: Sequence[CounterKey]) -> None:
    """They expire soon, unless something is counted."""
    soon = time.time() + 3600
    rows = [
        {"limit_name": one.limit, "rule": one.rule, "subject": one.subject, "buckets": "{}", "expires_at": soon}
        for one in keys
    ]
    connection.execute(ADD_COUNTERS[connection.dialect.name], rows)


# A process has died


def settle_dead(
    connection: Connection, dead_process: int, own_process: int, durable_runs: Iterable[str], zone: str
) -> None:
    """Settle the holds of a dead process by estimate, and remove its tickets.

    The slots of its durable runs go to this process.
    """
    connection.execute(REMOVE_TICKETS_OF_PROCESS, {"dead_process": dead_process})
    holds = [
        decode_hold(text) for text in connection.execute(HOLDS_OF_PROCESS, {"dead_process": dead_process}).scalars()
    ]
    if not holds:
        return
    durable = set(durable_runs)
    kept = [one.id for one in holds if one.run_id in durable and one.id == one.run_id + SLOT_SUFFIX]
    ended = [one for one in holds if one.id not in kept]
    if kept:
        run_script(connection, STATEMENTS[connection.dialect.name].move(kept, own_process))
    if ended:
        settle_holds(connection, ended, own_process, zone, dead_process)


def settle_holds(connection: Connection, holds: Sequence[Hold], own_process: int, zone: str, owner: int) -> None:
    """By estimate: what was used is unknown."""
    settlements = [Settle(one, one.usage, one.estimate) for one in holds]
    run_script(connection, apply(STATEMENTS[connection.dialect.name], settlements, own_process, zone, owner))


def list_slots_of_ended_runs(connection: Connection, own_process: int) -> list[str]:
    """The slots of this process whose runs have ended: another process, which was taken for dead, ended them."""
    return list(connection.execute(SLOTS_OF_ENDED_RUNS, {"own_process": own_process}).scalars())


def settle_slots(connection: Connection, ids: Sequence[str], own_process: int, zone: str) -> None:
    if holds := [decode_hold(text) for text in connection.execute(FIND_HOLDS, {"of_ids": list(ids)}).scalars()]:
        settle_holds(connection, holds, own_process, zone, own_process)


def has_slot(connection: Connection, run_id: str, own_process: int) -> bool:
    """A process that finds this one dead waits for this transaction, and then finds the run that it stores."""
    slot = run_id + SLOT_SUFFIX
    return run_script(connection, STATEMENTS[connection.dialect.name].find_hold(slot, own_process))


# Queues


def find_ready(connection: Connection, queues: Mapping[CounterKey, LimitRule]) -> QueueState:
    """Without a lock: a reservation decides."""
    wanted = {"of_keys": [tuple(key) for key in queues]}
    counters = {CounterKey(*row[:3]): decode_buckets(row.buckets) for row in connection.execute(COUNTERS, wanted)}
    is_postgres = connection.dialect.name == "postgresql"
    now = read_clock(connection.execute(DATABASE_TIME).scalar() if is_postgres else None)
    waiting = run_script(connection, read_queues(STATEMENTS[connection.dialect.name], queues))
    return Book(counters, now, waiting=waiting).read_queues(queues)


# Warnings


def claim_warning(connection: Connection, key: CounterKey, now: float, until: float) -> bool:
    wanted = {f"of_{column.name}": value for column, value in zip(COUNTER_KEY, key, strict=True)}
    return connection.execute(CLAIM_WARNING, wanted | {"now": now, "until": until}).rowcount == 1


# Reports


def list_counters(connection: Connection) -> tuple[float, list[CounterRow]]:
    is_postgres = connection.dialect.name == "postgresql"
    now = read_clock(connection.execute(DATABASE_TIME).scalar() if is_postgres else None)
    rows = connection.execute(ALL_COUNTERS).all()
    waiting = {decode_key(queue): count for queue, count in connection.execute(WAITING)}
    keys = [CounterKey(*row[:3]) for row in rows]
    return now, [
        CounterRow(key, decode_buckets(row.buckets), waiting.get(key, 0)) for key, row in zip(keys, rows, strict=True)
    ]


def list_usage(connection: Connection, query: UsageQuery) -> list[UsageRow]:
    columns = [usage.c[name] for name in query.by]
    found = select(*columns, *(func.sum(usage.c[name]) for name in COUNT_NAMES)).group_by(*columns).order_by(*columns)
    if query.since is not None:
        found = found.where(usage.c.day >= query.since.isoformat())
    if query.until is not None:
        found = found.where(usage.c.day <= query.until.isoformat())
    if query.user is not None:
        found = found.where(usage.c.user == query.user)
    width = len(columns)
    rows = [row for row in connection.execute(found).all() if row[width] is not None]  # a sum over no rows is null
    return [UsageRow(tuple(row[:width]), UsageCounts(*(int(one) for one in row[width:]))) for row in rows]


def forget_user(connection: Connection, user: str) -> int:
    """Add the usage of a user to that of the deleted users, without the names of keys. Returns how many rows it had."""
    if user == DELETED_USER:
        return 0
    shared = [usage.c[name] for name in ("day", "agent", "model", "purpose")]
    sums = [func.sum(usage.c[name]).label(name) for name in COUNT_NAMES]
    found = connection.execute(select(*shared, *sums).where(usage.c.user == user).group_by(*shared).order_by(*shared))
    added = [
        AddedUsage(day, DELETED_USER, "", agent, model, purpose, *map(int, counts))
        for day, agent, model, purpose, *counts in found.all()
    ]
    if added:
        run_script(connection, STATEMENTS[connection.dialect.name].save(SavedRows(usage=added)))
    return connection.execute(delete(usage).where(usage.c.user == user)).rowcount


def expire_counters(connection: Connection, before: float) -> int:
    return connection.execute(EXPIRE_COUNTERS, {"before": before}).rowcount
