"""The statements of counting for SQLite."""

from collections.abc import Iterable, Sequence

from rightseat.limits.rules import CounterKey
from rightseat.stores.limit_rows import ADD_TO_KNOWN_USAGE, ComparedRows, LimitDecision, LockedRows, SavedRows, encode
from rightseat.stores.scripts import Script, Statement

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
SQLITE_HELD = "SELECT id FROM limit_holds WHERE id IN (SELECT value FROM json_each(?)) AND process_id = ?"
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

    def read(self, keys: Iterable[CounterKey]) -> Script[ComparedRows]:
        return ComparedRows(False, (yield from self.lock(keys, (), 0)).counters, None)

    def replace(self, decided: LimitDecision) -> Script[ComparedRows]:
        found = (yield from self.lock(decided.counters, (), 0)).counters
        settled = encode(decided.settled)
        held = (yield Statement(SQLITE_HELD, (settled, decided.owner))) if decided.settled else ()
        if found != decided.counters or len(held) < len(decided.settled):
            return ComparedRows(False, found, None)
        if decided.settled:
            yield Statement(SQLITE_SETTLE, (settled, decided.owner))
        yield from self.save(decided.saved)
        return ComparedRows(True, {}, None)

    def save(self, saved: SavedRows) -> Script[None]:
        counters, holds, usage = saved
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
