"""The tables of the log in PostgreSQL, and their migrations, which one process at a time applies.

They are separate from the tables of the store: the log may be in another database.
"""

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.core.errors import ConfigError

MIGRATION_LOCK = 0x52534C47  # the advisory lock that a process holds while it migrates

MIGRATIONS = (
    """
    CREATE TABLE log_runs (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text NOT NULL UNIQUE,
        epoch bigint NOT NULL,          -- records of lower epochs are refused
        ended_at timestamptz            -- NULL while it is written
    );
    CREATE INDEX log_runs_ended_at ON log_runs (ended_at) WHERE ended_at IS NOT NULL;
    CREATE TABLE log_records (
        run_key bigint NOT NULL,
        epoch bigint NOT NULL,
        seq bigint NOT NULL,            -- of the last of the events
        kind text NOT NULL,
        content text NOT NULL,          -- the events, as JSON
        PRIMARY KEY (run_key, epoch, seq)
    );
    """,
)


async def upgrade(connection: asyncpg.Connection) -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK)
        await connection.execute("CREATE TABLE IF NOT EXISTS log_version (version int NOT NULL)")
        version = await connection.fetchval("SELECT max(version) FROM log_version") or 0
        if version > len(MIGRATIONS):
            raise ConfigError(
                f"The log's tables have version {version}, but this rightseat knows only {len(MIGRATIONS)}. Upgrade it."
            )
        for number, migration in enumerate(MIGRATIONS[version:], version + 1):
            await connection.execute(migration)
            await connection.execute("INSERT INTO log_version VALUES ($1)", number)
