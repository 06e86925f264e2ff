"""Stores shared logs in PostgreSQL: all statements, and how their results are used.

A batch is one statement. It locks the rows of its runs (FOR SHARE) while it checks their epochs, and a claim updates
that row: so a stale writer's records are either stored before the fence, or never.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.core.errors import ConfigError, LogTruncated, RunExists, RunNotFound, StaleWriter
from rightseat.core.log import Position
from rightseat.logs.postgres.changes import PostgresChanges
from rightseat.logs.postgres.schema import upgrade
from rightseat.logs.postgres.subscription import PostgresSubscription, short_hash
from rightseat.logs.shared.backend import BackendUnavailable, Claim, LastPosition
from rightseat.logs.shared.records import CREATED, START, Record, RecordKind, RecordPage, find_last_entry
from rightseat.operations.database_metrics import ObserveOperation, PoolState, ignore_operation
from rightseat.postgres.addresses import read_url
from rightseat.postgres.connector import PostgresConnector

RESPONSE_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 2.0
MAX_CONNECTIONS = 4  # beside those of subscriptions
MAX_CLEANUP_BATCHES = 100  # of a hundred runs, per cleanup
MAX_NOTIFIED_RUNS = 400  # that one notification can name; for more it names none, and subscribers read all

SHARED_SESSIONS = (
    "The `url` of the log leads to a pooler in transaction mode, which loses the notifications of PostgreSQL. Give the "
    "log an address in session mode, connect directly, or use `type: redis`."
)

APPEND_RECORDS = """
WITH new_records AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
        AS new_records(id, epoch, seq, kind, content)
), runs AS MATERIALIZED (
    SELECT key, id, epoch FROM log_runs WHERE id = ANY($1::text[]) FOR SHARE
), stored AS (
    INSERT INTO log_records (run_key, epoch, seq, kind, content)
    SELECT runs.key, new_records.epoch, seq, kind, content FROM new_records JOIN runs USING (id, epoch)
    ON CONFLICT DO NOTHING
)
SELECT runs.id, runs.epoch, pg_notify($6, $7) FROM runs
"""
END_RUN = "UPDATE log_runs SET ended_at = now() WHERE id = $1 AND epoch = $2"
CREATE_RUN = "INSERT INTO log_runs (id, epoch) VALUES ($1, 0) ON CONFLICT DO NOTHING RETURNING key"
ADD_RECORD = "INSERT INTO log_records (run_key, epoch, seq, kind, content) VALUES ($1, $2, $3, $4, $5)"
LOCK_RUN = "SELECT key, epoch FROM log_runs WHERE id = $1 FOR UPDATE"
SET_EPOCH = "UPDATE log_runs SET epoch = $2, ended_at = NULL WHERE key = $1"
READ_KEY = "SELECT content FROM log_records WHERE run_key = $1 AND epoch = $2 AND seq = $3"
READ_BEFORE = """
SELECT epoch, seq, kind, content FROM log_records WHERE run_key = $1 AND (epoch, seq) < ($2, $3)
ORDER BY epoch DESC, seq DESC LIMIT 8
"""
LAST_POSITIONS = """
SELECT last.epoch, last.seq FROM unnest($1::text[]) WITH ORDINALITY AS requested(id, number)
LEFT JOIN log_runs AS runs ON runs.id = requested.id
LEFT JOIN LATERAL (
    SELECT epoch, seq FROM log_records WHERE run_key = runs.key ORDER BY epoch DESC, seq DESC LIMIT 1
) AS last ON true
ORDER BY requested.number
"""
READ_RECORDS = """
SELECT records.epoch, records.seq, records.kind, records.content
FROM log_runs AS runs JOIN log_records AS records ON records.run_key = runs.key
WHERE runs.id = $1 AND (records.epoch, records.seq) > ($2, $3) ORDER BY records.epoch, records.seq LIMIT $4
"""
DELETE_RUNS = "DELETE FROM log_runs WHERE id = ANY($1::text[]) RETURNING key"
# A statement of its own, so that it also sees the records of a writer that the first one waited for.
DELETE_RECORDS = "DELETE FROM log_records WHERE run_key = ANY($1::bigint[])"
# The retention counts from `ended_at`, so a judged run gets a later one. A run that is written has none.
KEEP_JUDGED = """
UPDATE log_runs SET ended_at = greatest(ended_at, now() + make_interval(secs => $2))
WHERE id = $1 AND ended_at IS NOT NULL
"""
DELETE_EXPIRED = """
WITH due AS (
    SELECT key FROM log_runs WHERE ended_at < now() - make_interval(secs => $1) LIMIT 100 FOR UPDATE SKIP LOCKED
), deleted AS (
    DELETE FROM log_runs USING due WHERE log_runs.key = due.key RETURNING log_runs.key
)
DELETE FROM log_records USING deleted WHERE run_key = deleted.key
"""


class PostgresBackend:
    max_runs_per_subscription = 100_000  # a notification names the runs to read

    def __init__(self, url: str, *, retention_seconds: float, judged_seconds: float = 0) -> None:
        self._url = read_url(url, "the log")
        self._connector = PostgresConnector(self._url, CONNECT_TIMEOUT_S)
        self._retention_seconds = retention_seconds
        self._judged_seconds = judged_seconds
        self._channel = ""
        self._observe: ObserveOperation = ignore_operation

    def observe_operations(self, observe: ObserveOperation) -> None:
        self._observe = observe

    def pool_states(self) -> Sequence[PoolState]:
        idle = self._pool.get_idle_size()
        return (PoolState("log", self._pool.get_size() - idle, idle, self._pool.get_max_size()),)

    async def open(self) -> None:
        try:
            if await self._connector.shares_sessions():
                raise ConfigError(SHARED_SESSIONS)
            self._pool = await asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=MAX_CONNECTIONS,
                command_timeout=RESPONSE_TIMEOUT_S,
                **await self._connector.options(),
            )
            await self._set_up()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            problem = str(error).rstrip(".")
            raise ConfigError(f"Cannot use the database of the log: {problem}. Is its `url` right?") from error

    async def _set_up(self) -> None:
        try:
            async with self._pool.acquire() as connection:
                await upgrade(connection)
                oid = await connection.fetchval("SELECT 'log_runs'::regclass::oid::bigint")
        except BaseException:
            await self.close()
            raise
        self._channel = f"rightseat_log_{oid}"  # the same for all processes that share the tables

    async def close(self) -> None:
        self._pool.terminate()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        began = time.perf_counter()
        try:
            async with self._pool.acquire(timeout=RESPONSE_TIMEOUT_S) as connection:
                yield connection
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            raise BackendUnavailable(str(error) or type(error).__name__) from error
        finally:
            self._observe("postgresql", "log", time.perf_counter() - began)

    def changes(self) -> PostgresChanges:
        return PostgresChanges(
            self._connector, self._connection, lambda: f"{self._channel}_changes", RESPONSE_TIMEOUT_S
        )

    # Writing

    async def create(self, run_id: str, idempotency_key: bytes) -> None:
        async with self._connection() as connection, connection.transaction():
            if key := await connection.fetchval(CREATE_RUN, run_id):
                await connection.execute(ADD_RECORD, key, *CREATED, "created", idempotency_key.decode())
                return
            found = await connection.fetchrow(LOCK_RUN, run_id)
            if found and await connection.fetchval(READ_KEY, found["key"], *CREATED) != idempotency_key.decode():
                raise RunExists(run_id)

    async def claim(self, run_id: str, epoch: int, base: int | None, idempotency_key: bytes) -> Claim:
        fence = Position(epoch, base or 0)
        async with self._connection() as connection, connection.transaction():
            if base is not None:
                await connection.execute(CREATE_RUN, run_id)
            found = await connection.fetchrow(LOCK_RUN, run_id)
            if found is None:
                raise RunNotFound(run_id)
            key, current = found
            if epoch <= current and await connection.fetchval(READ_KEY, key, *fence) != idempotency_key.decode():
                raise StaleWriter(run_id, epoch, current)
            if epoch > current:
                await connection.execute(SET_EPOCH, key, epoch)
                await connection.execute(
                    ADD_RECORD, key, *fence, "fence" if base is None else "base", idempotency_key.decode()
                )
                await connection.execute("SELECT pg_notify($1, $2)", self._channel, short_hash(run_id))
            return Claim(fence, fence if base is not None else await find_last_entry_before(connection, key, fence))

    async def append(self, records: Sequence[tuple[str, Record]]) -> Sequence[LastPosition]:
        ids = [run_id for run_id, _ in records]
        payload = ",".join(map(short_hash, ids)) if len(ids) <= MAX_NOTIFIED_RUNS else ""
        values = (
            ids,
            [record.position.epoch for _, record in records],
            [record.position.seq for _, record in records],
            [record.kind for _, record in records],
            [record.content.decode() for _, record in records],
        )
        ended = [(run_id, record.position.epoch) for run_id, record in records if record.kind == "end"]
        async with self._connection() as connection:
            if ended:
                async with connection.transaction():
                    await connection.executemany(END_RUN, ended)
                    rows = await connection.fetch(APPEND_RECORDS, *values, self._channel, payload)
            else:
                rows = await connection.fetch(APPEND_RECORDS, *values, self._channel, payload)
        epochs = {run_id: epoch for run_id, epoch, _ in rows}
        return [last_position_of(record, epochs.get(run_id)) for run_id, record in records]

    async def last_positions(self, run_ids: Sequence[str]) -> Sequence[LastPosition]:
        async with self._connection() as connection:
            rows = await connection.fetch(LAST_POSITIONS, run_ids)
        return [None if epoch is None else Position(epoch, seq) for epoch, seq in rows]

    # Reading

    async def read(self, run_id: str, after: Position, count: int) -> RecordPage:
        async with self._connection() as connection:
            rows = await connection.fetch(READ_RECORDS, run_id, *after, count)
        if not rows:
            [last_position] = await self.last_positions([run_id])
            if last_position is None:
                raise RunNotFound(run_id)
            if last_position < after:
                raise LogTruncated(run_id, str(last_position))
        return RecordPage([read_record(row) for row in rows], len(rows) < count)

    def subscribe(self) -> PostgresSubscription:
        async def connect() -> Any:
            return await self._connector.connect(command_timeout=RESPONSE_TIMEOUT_S)

        return PostgresSubscription(connect, self._channel, read_record)

    # Deleting

    async def delete(self, run_ids: Sequence[str]) -> None:
        async with self._connection() as connection, connection.transaction():
            keys = [key for (key,) in await connection.fetch(DELETE_RUNS, run_ids)]
            await connection.execute(DELETE_RECORDS, keys)

    async def keep_judged(self, run_id: str) -> None:
        async with self._connection() as connection:
            await connection.execute(KEEP_JUDGED, run_id, self._judged_seconds - self._retention_seconds)

    async def clean_up(self, live: Sequence[str]) -> None:
        """By the database's clock; several processes may do so at once."""
        async with self._connection() as connection:
            for _ in range(MAX_CLEANUP_BATCHES):
                if await connection.execute(DELETE_EXPIRED, self._retention_seconds) == "DELETE 0":
                    return


async def find_last_entry_before(connection: Any, key: int, before: Position) -> Position:
    """Usually one record back; more if writers claimed the run without appending."""
    while True:
        records = [read_record(row) for row in await connection.fetch(READ_BEFORE, key, *before)]
        if last_entry := find_last_entry(records):
            return last_entry
        if not records:
            return START
        before = records[-1].position


def last_position_of(record: Record, epoch: int | None) -> LastPosition:
    if epoch is None:
        return None
    return record.position if epoch == record.position.epoch else Position(epoch, 0)


def read_record(row: Sequence[Any]) -> Record:
    epoch, seq, kind, content = row
    return Record(Position(epoch, seq), cast(RecordKind, kind), content.encode())
