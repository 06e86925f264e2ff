"""The tables of the log, and how a database gets them: one step after another, by one process at a time.

They are not those of the store: the log may be in another database, or in none.
"""

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.core.errors import ConfigError

MIGRATING = 0x52534C47  # the lock that one process holds while it migrates

STEPS = (
    """
    CREATE TABLE log_runs (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text NOT NULL UNIQUE,
        epoch bigint NOT NULL,          -- who writes under a lower one is refused
        ended_at timestamptz            -- NULL while it is written
    );
    CREATE INDEX log_runs_ended_at ON log_runs (ended_at) WHERE ended_at IS NOT NULL;
    CREATE TABLE log_pieces (
        run bigint NOT NULL,
        epoch bigint NOT NULL,
        seq bigint NOT NULL,            -- of the last of the events
        kind text NOT NULL,
        content text NOT NULL,          -- the events, as JSON
        PRIMARY KEY (run, epoch, seq)
    );
    """,
)


async def upgrade(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATING)
        await connection.execute("CREATE TABLE IF NOT EXISTS log_version (version int NOT NULL)")
        version = await connection.fetchval("SELECT max(version) FROM log_version") or 0
        if version > len(STEPS):
            raise ConfigError(
                f"A newer rightseat made the log's tables (version {version}, this one knows {len(STEPS)})."
            )
        for number, step in enumerate(STEPS[version:], version + 1):
            await connection.execute(step)
            await connection.execute("INSERT INTO log_version VALUES ($1)", number)
