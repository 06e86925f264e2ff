"""The statements of counting, as scripts for each dialect: read rows under their locks, and write them back.

A statement takes its rows as one JSON array, so its text is the same for one row and for two hundred, and a driver
prepares it once. PostgreSQL reads everything in one round trip, and writes everything in another.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from rightseat.core.limits.rules import CounterKey
from rightseat.stores.scripts import Script, Statement


class SavedCounter(msgspec.Struct):
    """A counter to write back. Without `expires_at` the stored one stays."""

    limit_name: str
    rule: str
    subject: str
    buckets: str
    expires_at: float | None


class SavedHold(msgspec.Struct):
    id: str
    run_id: str
    process_id: int
    hold: str
    queue: str | None = None
    slot_user: str | None = None


class AddedUsage(msgspec.Struct):
    """What is added to a row of usage, whose key are the first six."""

    day: str
    user: str
    key: str
    agent: str
    model: str
    purpose: str
    requests: int
    refused: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    estimated_tokens: int
    cost: int


class LockedRows(NamedTuple):
    """`counters` has the buckets of the counters that exist, `holds` the deleted holds by id; both as JSON.

    `database_seconds` is the time of the database's server after the locks were taken; None without a server.
    """

    counters: dict[CounterKey, str]
    holds: dict[str, str]
    database_seconds: float | None


class LimitStatements(Protocol):
    def lock(self, keys: Iterable[CounterKey], settled: Sequence[str], owner: int) -> Script[LockedRows]:
        """Lock counters until the end of the transaction, in the order of their keys; then delete the settled holds.

        Holds of another process than `owner` stay.
        """
        ...

    def save(
        self, counters: Sequence[SavedCounter], holds: Sequence[SavedHold], usage: Sequence[AddedUsage]
    ) -> Script[None]:
        """Write locked counters back, insert holds, and add to rows of usage, in the given order."""
        ...

    def move(self, ids: Sequence[str], process_id: int) -> Script[dict[str, str]]:
        """Make a process the owner of holds. Returns those that exist, as JSON."""
        ...

    def find_hold(self, id: str, process_id: int) -> Script[bool]:
        """Whether the hold exists and this process, which is not taken for dead, owns it, until the transaction ends.

        A process that is found dead is locked first, and its holds after that.
        """
        ...

    def read_tickets(self, queues: Sequence[str]) -> Script[list[str]]:
        """The tickets of these queues, as JSON."""
        ...

    def count_slots(self, users: Sequence[str]) -> Script[dict[str, int]]:
        """How many slots these users hold. Those without one are left out."""
        ...

    def remove_tickets(self, ids: Sequence[str]) -> Script[None]: ...


def encode(rows: object) -> str:
    return msgspec.json.encode(rows).decode()


ADD_TO_KNOWN_USAGE = """
ON CONFLICT (day, "user", key, agent, model, purpose) DO UPDATE SET
    requests = usage.requests + excluded.requests,
    refused = usage.refused + excluded.refused,
    input_tokens = usage.input_tokens + excluded.input_tokens,
    cached_tokens = usage.cached_tokens + excluded.cached_tokens,
    output_tokens = usage.output_tokens + excluded.output_tokens,
    estimated_tokens = usage.estimated_tokens + excluded.estimated_tokens,
    cost = usage.cost + excluded.cost
"""

# The time is read last, so it is never earlier than that of the transaction that had the locks before.
POSTGRES_LOCK = """
WITH locked AS (
    SELECT counter.limit_name, counter.rule, counter.subject, counter.buckets
    FROM limit_counters AS counter, json_array_elements($1::text::json) AS wanted (key)
    WHERE counter.limit_name = key->>0 AND counter.rule = key->>1 AND counter.subject = key->>2
    ORDER BY counter.limit_name, counter.rule, counter.subject FOR UPDATE OF counter
), settled AS (
    DELETE FROM limit_holds
    WHERE id = ANY (ARRAY (SELECT json_array_elements_text($2::text::json))) AND process_id = $3
    RETURNING id, hold
)
SELECT limit_name, rule, subject, buckets, NULL::float8 FROM locked
UNION ALL SELECT id, NULL, NULL, hold, NULL FROM settled
UNION ALL SELECT NULL, NULL, NULL, NULL, extract(epoch FROM clock_timestamp())::float8
"""
POSTGRES_CLOCK = "SELECT NULL, NULL, NULL, NULL, extract(epoch FROM clock_timestamp())::float8"
POSTGRES_INSERT_USAGE = """
INSERT INTO usage (
    day, "user", key, agent, model, purpose,
    requests, refused, input_tokens, cached_tokens, output_tokens, estimated_tokens, cost
)
SELECT
    day, "user", key, agent, model, purpose,
    requests, refused, input_tokens, cached_tokens, output_tokens, estimated_tokens, cost
FROM json_populate_recordset(NULL::usage, $1::text::json)
"""
POSTGRES_ADD_USAGE = "".join((POSTGRES_INSERT_USAGE, ADD_TO_KNOWN_USAGE))
POSTGRES_SAVE_COUNTERS_AND_HOLDS = """
WITH saved AS (
    UPDATE limit_counters AS counter
    SET buckets = new.buckets, expires_at = coalesce(new.expires_at, counter.expires_at)
    FROM json_populate_recordset(NULL::limit_counters, $2::text::json) AS new
    WHERE counter.limit_name = new.limit_name AND counter.rule = new.rule AND counter.subject = new.subject
), held AS (
    INSERT INTO limit_holds (id, run_id, process_id, hold, queue, slot_user)
    SELECT id, run_id, process_id, hold, queue, slot_user
    FROM json_populate_recordset(NULL::limit_holds, $3::text::json)
)
"""
POSTGRES_SAVE = "".join((POSTGRES_SAVE_COUNTERS_AND_HOLDS, POSTGRES_ADD_USAGE))
POSTGRES_MOVE = """
UPDATE limit_holds SET process_id = $1
WHERE id = ANY (ARRAY (SELECT json_array_elements_text($2::text::json))) RETURNING id, hold
"""
# The process is locked first, which waits for a transaction that has found it dead; then the hold, whose last version
# decides: that transaction may have deleted it. The renewal of the lease does not wait for `FOR KEY SHARE`.
POSTGRES_FIND_HOLD = """
WITH owner AS MATERIALIZED (SELECT id FROM processes WHERE id = $2 FOR KEY SHARE)
SELECT id FROM limit_holds WHERE id = $1 AND process_id = (SELECT id FROM owner) FOR KEY SHARE
"""

POSTGRES_TICKETS = """
SELECT hold FROM limit_holds WHERE queue = ANY (ARRAY (SELECT json_array_elements_text($1::text::json)))
"""
POSTGRES_COUNT_SLOTS = """
SELECT slot_user, count(*) FROM limit_holds
WHERE slot_user = ANY (ARRAY (SELECT json_array_elements_text($1::text::json))) GROUP BY slot_user
"""
POSTGRES_REMOVE = "DELETE FROM limit_holds WHERE id = ANY (ARRAY (SELECT json_array_elements_text($1::text::json)))"


class PostgresStatements:
    def lock(self, keys: Iterable[CounterKey], settled: Sequence[str], owner: int) -> Script[LockedRows]:
        wanted = [*keys]
        lock = Statement(POSTGRES_LOCK, (encode(wanted), encode(settled), owner))
        *found, clock = yield lock if wanted or settled else Statement(POSTGRES_CLOCK)
        counters = {CounterKey(*row[:3]): row[3] for row in found if row[1] is not None}
        return LockedRows(counters, {row[0]: row[3] for row in found if row[1] is None}, clock[4])

    def save(
        self, counters: Sequence[SavedCounter], holds: Sequence[SavedHold], usage: Sequence[AddedUsage]
    ) -> Script[None]:
        if counters or holds:
            yield Statement(POSTGRES_SAVE, (encode(usage), encode(counters), encode(holds)))
        else:
            yield Statement(POSTGRES_ADD_USAGE, (encode(usage),))

    def move(self, ids: Sequence[str], process_id: int) -> Script[dict[str, str]]:
        return {row[0]: row[1] for row in (yield Statement(POSTGRES_MOVE, (process_id, encode(ids))))}

    def find_hold(self, id: str, process_id: int) -> Script[bool]:
        return bool((yield Statement(POSTGRES_FIND_HOLD, (id, process_id))))

    def read_tickets(self, queues: Sequence[str]) -> Script[list[str]]:
        return [row[0] for row in (yield Statement(POSTGRES_TICKETS, (encode(queues),)))]

    def count_slots(self, users: Sequence[str]) -> Script[dict[str, int]]:
        return {row[0]: row[1] for row in (yield Statement(POSTGRES_COUNT_SLOTS, (encode(users),)))}

    def remove_tickets(self, ids: Sequence[str]) -> Script[None]:
        yield Statement(POSTGRES_REMOVE, (encode(ids),))


# `json_extract`, because `->>` needs SQLite 3.38.
SQLITE_READ = """
SELECT limit_name, rule, subject, buckets FROM limit_counters
WHERE (limit_name, rule, subject) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?)
)
"""
SQLITE_SETTLE = """
DELETE FROM limit_holds WHERE id IN (SELECT value FROM json_each(?)) AND process_id = ? RETURNING id, hold
"""
SQLITE_SAVE_COUNTERS = """
WITH new AS (
    SELECT json_extract(value, '$.limit_name') AS limit_name, json_extract(value, '$.rule') AS rule,
        json_extract(value, '$.subject') AS subject, json_extract(value, '$.buckets') AS buckets,
        json_extract(value, '$.expires_at') AS expires_at
    FROM json_each(?)
)
UPDATE limit_counters
SET buckets = new.buckets, expires_at = coalesce(new.expires_at, limit_counters.expires_at) FROM new
WHERE limit_counters.limit_name = new.limit_name AND limit_counters.rule = new.rule
    AND limit_counters.subject = new.subject
"""
SQLITE_SAVE_HOLDS = """
INSERT INTO limit_holds (id, run_id, process_id, hold, queue, slot_user)
SELECT json_extract(value, '$.id'), json_extract(value, '$.run_id'), json_extract(value, '$.process_id'),
    json_extract(value, '$.hold'), json_extract(value, '$.queue'), json_extract(value, '$.slot_user')
FROM json_each(?)
"""
# Without WHERE, SQLite would read ON as that of a join.
SQLITE_INSERT_USAGE = """
INSERT INTO usage (
    day, "user", key, agent, model, purpose,
    requests, refused, input_tokens, cached_tokens, output_tokens, estimated_tokens, cost
)
SELECT
    json_extract(value, '$.day'), json_extract(value, '$.user'), json_extract(value, '$.key'),
    json_extract(value, '$.agent'), json_extract(value, '$.model'), json_extract(value, '$.purpose'),
    json_extract(value, '$.requests'), json_extract(value, '$.refused'), json_extract(value, '$.input_tokens'),
    json_extract(value, '$.cached_tokens'), json_extract(value, '$.output_tokens'),
    json_extract(value, '$.estimated_tokens'), json_extract(value, '$.cost')
FROM json_each(?) WHERE true
"""
SQLITE_ADD_USAGE = "".join((SQLITE_INSERT_USAGE, ADD_TO_KNOWN_USAGE))
SQLITE_MOVE = """
UPDATE limit_holds SET process_id = ? WHERE id IN (SELECT value FROM json_each(?)) RETURNING id, hold
"""
SQLITE_FIND_HOLD = "SELECT id FROM limit_holds WHERE id = ? AND process_id = ?"

SQLITE_TICKETS = "SELECT hold FROM limit_holds WHERE queue IN (SELECT value FROM json_each(?))"
SQLITE_COUNT_SLOTS = """
SELECT slot_user, count(*) FROM limit_holds WHERE slot_user IN (SELECT value FROM json_each(?)) GROUP BY slot_user
"""
SQLITE_REMOVE = "DELETE FROM limit_holds WHERE id IN (SELECT value FROM json_each(?))"


class SqliteStatements:
    """A transaction that writes is alone from its beginning, so its rows need no locks."""

    def lock(self, keys: Iterable[CounterKey], settled: Sequence[str], owner: int) -> Script[LockedRows]:
        wanted = [*keys]
        counters = (yield Statement(SQLITE_READ, (encode(wanted),))) if wanted else ()
        holds = (yield Statement(SQLITE_SETTLE, (encode(settled), owner))) if settled else ()
        return LockedRows({CounterKey(*row[:3]): row[3] for row in counters}, {row[0]: row[1] for row in holds}, None)

    def save(
        self, counters: Sequence[SavedCounter], holds: Sequence[SavedHold], usage: Sequence[AddedUsage]
    ) -> Script[None]:
        if counters:
            yield Statement(SQLITE_SAVE_COUNTERS, (encode(counters),))
        if holds:
            yield Statement(SQLITE_SAVE_HOLDS, (encode(holds),))
        if usage:
            yield Statement(SQLITE_ADD_USAGE, (encode(usage),))

    def move(self, ids: Sequence[str], process_id: int) -> Script[dict[str, str]]:
        return {row[0]: row[1] for row in (yield Statement(SQLITE_MOVE, (process_id, encode(ids))))}

    def find_hold(self, id: str, process_id: int) -> Script[bool]:
        return bool((yield Statement(SQLITE_FIND_HOLD, (id, process_id))))

    def read_tickets(self, queues: Sequence[str]) -> Script[list[str]]:
        return [row[0] for row in (yield Statement(SQLITE_TICKETS, (encode(queues),)))]

    def count_slots(self, users: Sequence[str]) -> Script[dict[str, int]]:
        return {row[0]: row[1] for row in (yield Statement(SQLITE_COUNT_SLOTS, (encode(users),)))}

    def remove_tickets(self, ids: Sequence[str]) -> Script[None]:
        yield Statement(SQLITE_REMOVE, (encode(ids),))


STATEMENTS: dict[str, LimitStatements] = {"postgresql": PostgresStatements(), "sqlite": SqliteStatements()}
"""By SQLAlchemy's name of the dialect."""
