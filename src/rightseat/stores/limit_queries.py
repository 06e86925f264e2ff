"""The statements of limits and usage, as functions of a connection that is inside a transaction.

Locks are taken in one order: counters by their key, then holds, then usage rows by their key. All that changes a hold
has locked its counters before.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import (
    BindParameter,
    Connection,
    Double,
    bindparam,
    cast,
    delete,
    extract,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from rightseat.core.limits.book import Admitted, Book, Buckets, Hold, Operation, Outcome, Reserve, Settle, UsageCounts
from rightseat.core.limits.rules import CONCURRENT_RUNS, CounterKey
from rightseat.core.limits.store import DELETED_USER, CounterRow, UsageQuery, UsageRow
from rightseat.core.limits.windows import find_zone
from rightseat.stores.tables import limit_counters, limit_holds, usage

COUNTER_KEY = (limit_counters.c.limit_name, limit_counters.c.rule, limit_counters.c.subject)
KEYS: BindParameter[Any] = bindparam("of_keys", expanding=True)
IDS: BindParameter[Any] = bindparam("of_ids", expanding=True)

COUNTERS = select(*COUNTER_KEY, limit_counters.c.buckets).where(tuple_(*COUNTER_KEY).in_(KEYS)).order_by(*COUNTER_KEY)
# The time is read row by row after the row is locked, so it is never earlier than the previous transaction's.
_locked = COUNTERS.with_for_update().cte("locked")
LOCKED_COUNTERS = select(_locked, cast(extract("epoch", func.clock_timestamp()), Double).label("now"))
PLAIN_COUNTERS = COUNTERS.add_columns(literal(None).label("now"))
ALL_COUNTERS = select(*COUNTER_KEY, limit_counters.c.buckets).order_by(*COUNTER_KEY)
DATABASE_TIME = select(cast(extract("epoch", func.clock_timestamp()), Double))
SAVE_BUCKETS = (
    update(limit_counters)
    .where(
        limit_counters.c.limit_name == bindparam("of_limit"),
        limit_counters.c.rule == bindparam("of_rule"),
        limit_counters.c.subject == bindparam("of_subject"),
    )
    .values(
        buckets=bindparam("to_buckets"),
        expires_at=func.coalesce(bindparam("to_expiry", type_=Double), limit_counters.c.expires_at),
    )
)
EXPIRE_COUNTERS = delete(limit_counters).where(
    limit_counters.c.expires_at < bindparam("before"),
    (limit_counters.c.rule != CONCURRENT_RUNS) | limit_counters.c.buckets.in_(("{}", '{"0":[0,0]}')),
)

DELETE_HOLDS = delete(limit_holds).where(limit_holds.c.id.in_(IDS)).returning(limit_holds.c.id, limit_holds.c.hold)
FIND_HOLDS = select(limit_holds.c.id, limit_holds.c.hold).where(limit_holds.c.id.in_(IDS))
MOVE_HOLDS = update(limit_holds).where(limit_holds.c.id.in_(IDS)).values(process_id=bindparam("to_process"))
ADD_HOLDS = insert(limit_holds)
HOLDS_OF_PROCESS = select(limit_holds.c.hold).where(limit_holds.c.process_id == bindparam("dead_process"))
HOLDING_PROCESSES = (
    select(limit_holds.c.process_id).distinct().where(limit_holds.c.process_id != bindparam("own_process"))
)

COUNT_NAMES = UsageCounts.__struct_fields__


def _upsert(dialect: Any) -> Any:
    row = dialect.insert(usage)
    added = {name: usage.c[name] + row.excluded[name] for name in COUNT_NAMES}
    return row.on_conflict_do_update(index_elements=list(usage.primary_key.columns), set_=added)


ADD_USAGE = {"postgresql": _upsert(postgresql), "sqlite": _upsert(sqlite)}
ADD_COUNTERS = {
    "postgresql": postgresql.insert(limit_counters).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(limit_counters).on_conflict_do_nothing(),
}

encode_json = msgspec.json.Encoder().encode
decode_buckets = msgspec.json.Decoder(Buckets).decode
decode_hold = msgspec.json.Decoder(Hold).decode


class MissingCounters(Exception):
    """Counters that have to be added in a transaction of their own, so that locks are always taken in order."""

    def __init__(self, keys: Iterable[CounterKey]) -> None:
        super().__init__("counters are missing")
        self.keys = sorted(keys)


def read_clock(database_seconds: float | None) -> float:
    """Unix time: that of the database's server; with SQLite that of this process."""
    return time.time() if database_seconds is None else database_seconds


def apply(connection: Connection, operations: Sequence[Operation], process_id: int, zone: str) -> Sequence[Outcome]:
    """Raises `MissingCounters` before anything is changed."""
    keys = {key for one in operations for key in one.keys}
    counters, now = lock_counters(connection, keys)
    needed = {key for one in operations if isinstance(one, Reserve) for key in one.keys}
    if missing := needed - counters.keys():
        raise MissingCounters(missing)
    settled = [one.hold.id for one in operations if isinstance(one, Settle) and one.hold is not None]
    deleted = {one.id: one for one in _delete_holds(connection, settled)} if settled else {}
    moved = _move_holds(connection, operations, process_id)
    book = Book(counters, now, {id: hold.amounts for id, hold in deleted.items()})
    outcomes = [
        Admitted(moved[one.id], (), now) if isinstance(one, Reserve) and one.id in moved else book.apply(one)
        for one in operations
    ]
    save(connection, book, process_id, zone)
    return outcomes


def _delete_holds(connection: Connection, ids: Sequence[str]) -> list[Hold]:
    return [decode_hold(row.hold) for row in connection.execute(DELETE_HOLDS, {"of_ids": list(ids)}).all()]


def _move_holds(connection: Connection, operations: Sequence[Operation], process_id: int) -> dict[str, Hold]:
    """The slots that taken-over runs already have; from now on this process owns them."""
    forced = [one.id for one in operations if isinstance(one, Reserve) and one.is_forced]
    if not forced:
        return {}
    found = {row.id: decode_hold(row.hold) for row in connection.execute(FIND_HOLDS, {"of_ids": forced})}
    if found:
        connection.execute(MOVE_HOLDS, {"of_ids": list(found), "to_process": process_id})
    return found


def lock_counters(connection: Connection, keys: Iterable[CounterKey]) -> tuple[dict[CounterKey, Buckets], float]:
    """The counters that exist, locked until the end of the transaction, and the time after they are locked."""
    is_postgres, wanted = connection.dialect.name == "postgresql", [tuple(key) for key in keys]
    if not wanted:
        return {}, read_clock(connection.execute(DATABASE_TIME).scalar() if is_postgres else None)
    rows = connection.execute(LOCKED_COUNTERS if is_postgres else PLAIN_COUNTERS, {"of_keys": wanted}).all()
    found = {CounterKey(*row[:3]): decode_buckets(row.buckets) for row in rows}
    if is_postgres and not rows:
        return found, read_clock(connection.execute(DATABASE_TIME).scalar())
    return found, read_clock(max(row.now for row in rows) if is_postgres else None)


def add_counters(connection: Connection, keys: Sequence[CounterKey]) -> None:
    """They expire soon, unless something is counted."""
    soon = time.time() + 3600
    rows = [
        {"limit_name": one.limit, "rule": one.rule, "subject": one.subject, "buckets": "{}", "expires_at": soon}
        for one in keys
    ]
    connection.execute(ADD_COUNTERS[connection.dialect.name], rows)


def save(connection: Connection, book: Book, process_id: int, zone: str) -> None:
    if book.changed:
        connection.execute(SAVE_BUCKETS, [_counter_values(book, key) for key in sorted(book.changed)])
    if book.holds:
        values = [
            {"id": one.id, "run_id": one.run_id, "process_id": process_id, "hold": encode_json(one).decode()}
            for one in book.holds
        ]
        connection.execute(ADD_HOLDS, values)
    if book.usage:
        day = datetime.fromtimestamp(book.now, find_zone(zone)).date().isoformat()
        rows = [
            {"day": day, **key._asdict(), **msgspec.structs.asdict(counts)}
            for key, counts in sorted(book.usage.items(), key=lambda one: one[0])
        ]
        connection.execute(ADD_USAGE[connection.dialect.name], rows)


def _counter_values(book: Book, key: CounterKey) -> dict[str, Any]:
    return {
        "of_limit": key.limit,
        "of_rule": key.rule,
        "of_subject": key.subject,
        "to_buckets": encode_json(book.counters[key]).decode(),
        "to_expiry": book.expires_at(key),
    }


# A process has died


def list_holding_processes(connection: Connection, own_process: int) -> list[int]:
    return list(connection.execute(HOLDING_PROCESSES, {"own_process": own_process}).scalars())


def settle_dead(
    connection: Connection, dead_process: int, own_process: int, durable_runs: Iterable[str], zone: str
) -> None:
    """Settle the holds of a dead process by estimate. The slots of its durable runs go to this process."""
    holds = [
        decode_hold(text) for text in connection.execute(HOLDS_OF_PROCESS, {"dead_process": dead_process}).scalars()
    ]
    if not holds:
        return
    durable = set(durable_runs)
    kept = [one.id for one in holds if one.run_id in durable and one.id == f"{one.run_id}:slot"]
    ended = [one for one in holds if one.id not in kept]
    if kept:
        connection.execute(MOVE_HOLDS, {"of_ids": kept, "to_process": own_process})
    if ended:
        apply(connection, [Settle(one, one.usage, one.estimate) for one in ended], own_process, zone)


# Reports


def list_counters(connection: Connection) -> tuple[float, list[CounterRow]]:
    is_postgres = connection.dialect.name == "postgresql"
    now = read_clock(connection.execute(DATABASE_TIME).scalar() if is_postgres else None)
    rows = connection.execute(ALL_COUNTERS).all()
    return now, [CounterRow(CounterKey(*row[:3]), decode_buckets(row.buckets)) for row in rows]


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
    rows = [{**row, "user": DELETED_USER, "key": ""} for row in found.mappings()]
    if rows:
        connection.execute(ADD_USAGE[connection.dialect.name], rows)
    return connection.execute(delete(usage).where(usage.c.user == user)).rowcount


def expire_counters(connection: Connection, before: float) -> int:
    return connection.execute(EXPIRE_COUNTERS, {"before": before}).rowcount
