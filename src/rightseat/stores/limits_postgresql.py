"""The statements of counting for PostgreSQL: one compares and writes, or one locks and reads and another one writes."""

from collections.abc import Iterable, Sequence

from rightseat.limits.rules import CounterKey
from rightseat.stores.limit_rows import ADD_TO_KNOWN_USAGE, ComparedRows, LimitDecision, LockedRows, SavedRows, encode
from rightseat.stores.scripts import Rows, Script, Statement

# `process_id + 0` keeps PostgreSQL from reading all holds that the process ever had and VACUUM has not removed yet.
# The time is read last, so it is never earlier than that of the transaction that had the locks before.
POSTGRES_LOCK = """
WITH locked AS (
    SELECT counter.limit_name, counter.rule, counter.subject, counter.buckets
    FROM limit_counters AS counter, json_array_elements($1::text::json) AS wanted (key)
    WHERE counter.limit_name = key->>0 AND counter.rule = key->>1 AND counter.subject = key->>2
    ORDER BY counter.limit_name, counter.rule, counter.subject FOR UPDATE OF counter
), settled AS (
    DELETE FROM limit_holds
    WHERE id = ANY (ARRAY (SELECT json_array_elements_text($2::text::json))) AND process_id + 0 = $3
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
POSTGRES_READ = """
SELECT counter.limit_name, counter.rule, counter.subject, counter.buckets, NULL::bool, NULL::float8
FROM limit_counters AS counter, json_array_elements($1::text::json) AS wanted (key)
WHERE counter.limit_name = key->>0 AND counter.rule = key->>1 AND counter.subject = key->>2
UNION ALL SELECT NULL, NULL, NULL, NULL, false, extract(epoch FROM clock_timestamp())::float8
"""
# CASE decides the order: the counters are locked first, then the holds, and the time is read last. All that writes
# depends on `decided`, so it comes after the locks. READ COMMITTED locks and compares the last version of a row.
POSTGRES_REPLACE = """
WITH locked AS MATERIALIZED (
    SELECT counter.limit_name, counter.rule, counter.subject, counter.buckets, counter.buckets = key->>3 AS is_equal
    FROM limit_counters AS counter, json_array_elements($1::text::json) AS wanted (key)
    WHERE counter.limit_name = key->>0 AND counter.rule = key->>1 AND counter.subject = key->>2
    ORDER BY counter.limit_name, counter.rule, counter.subject FOR UPDATE OF counter
), held AS MATERIALIZED (
    SELECT id FROM limit_holds
    WHERE id = ANY (ARRAY (SELECT json_array_elements_text($2::text::json))) AND process_id + 0 = $6 FOR UPDATE
), decided AS MATERIALIZED (
    SELECT CASE
        WHEN (SELECT count(*) FROM locked WHERE is_equal) < json_array_length($1::text::json) THEN false
        WHEN (SELECT count(*) FROM held) < json_array_length($2::text::json) THEN false
        ELSE extract(epoch FROM clock_timestamp())::float8 BETWEEN $7 AND $8
    END AS is_right
), saved AS (
    UPDATE limit_counters AS counter
    SET buckets = new.buckets, expires_at = coalesce(new.expires_at, counter.expires_at)
    FROM json_populate_recordset(NULL::limit_counters, $3::text::json) AS new
    WHERE counter.limit_name = new.limit_name AND counter.rule = new.rule AND counter.subject = new.subject
        AND (SELECT is_right FROM decided)
), settled AS (
    DELETE FROM limit_holds
    WHERE id = ANY (ARRAY (SELECT json_array_elements_text($2::text::json))) AND process_id + 0 = $6
        AND (SELECT is_right FROM decided)
), added AS (
    INSERT INTO limit_holds (id, run_id, process_id, hold, queue, slot_user)
    SELECT id, run_id, process_id, hold, queue, slot_user
    FROM json_populate_recordset(NULL::limit_holds, $4::text::json) WHERE (SELECT is_right FROM decided)
), counted AS (
    INSERT INTO usage (
        day, "user", key, agent, model, purpose,
        requests, refused, input_tokens, cached_tokens, output_tokens, estimated_tokens, cost
    )
    SELECT
        day, "user", key, agent, model, purpose,
        requests, refused, input_tokens, cached_tokens, output_tokens, estimated_tokens, cost
    FROM json_populate_recordset(NULL::usage, $5::text::json) WHERE (SELECT is_right FROM decided)
    ADD_TO_KNOWN_USAGE
)
SELECT limit_name, rule, subject, buckets, NULL::bool, NULL::float8
FROM locked WHERE NOT (SELECT is_right FROM decided)
UNION ALL
SELECT NULL, NULL, NULL, CASE WHEN NOT $9::bool THEN set_config('synchronous_commit', 'off', true) END,
    is_right, extract(epoch FROM clock_timestamp())::float8
FROM decided
""".replace("ADD_TO_KNOWN_USAGE", ADD_TO_KNOWN_USAGE)
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


def read_compared(rows: Rows) -> ComparedRows:
    *found, last = rows
    return ComparedRows(last[4], {CounterKey(*row[:3]): row[3] for row in found}, last[5])


class PostgresStatements:
    def lock(self, keys: Iterable[CounterKey], settled: Sequence[str], owner: int) -> Script[LockedRows]:
        wanted = [*keys]
        lock = Statement(POSTGRES_LOCK, (encode(wanted), encode(settled), owner))
        *found, clock = yield lock if wanted or settled else Statement(POSTGRES_CLOCK)
        counters = {CounterKey(*row[:3]): row[3] for row in found if row[1] is not None}
        return LockedRows(counters, {row[0]: row[3] for row in found if row[1] is None}, clock[4])

    def read(self, keys: Iterable[CounterKey]) -> Script[ComparedRows]:
        return read_compared((yield Statement(POSTGRES_READ, (encode([*keys]),))))

    def replace(self, decided: LimitDecision) -> Script[ComparedRows]:
        counters, holds, usage = decided.saved
        wanted = [(*key, buckets) for key, buckets in decided.counters.items()]
        texts = (encode(one) for one in (wanted, decided.settled, counters, holds, usage))
        found = yield Statement(POSTGRES_REPLACE, (*texts, decided.owner, *decided.seconds, decided.is_flushed))
        return read_compared(found)

    def save(self, saved: SavedRows) -> Script[None]:
        counters, holds, usage = saved
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
