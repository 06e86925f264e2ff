"""PostgreSQL: a role that may only read, a transaction that only reads, one statement, and the server's own clock."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rightseat.core.errors import BadQuery
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.allowed import Dialect
from rightseat.plugins.sql.engines import Answer
from rightseat.plugins.sql.rows import plain

GRACE = 2.0  # seconds that the server has to stop a statement by itself

POWERS = """
SELECT 'is a superuser' AS power FROM pg_roles WHERE rolname = current_user AND rolsuper
UNION ALL SELECT 'may read and write files or run programs of the server' WHERE
  pg_has_role(current_user, 'pg_read_server_files', 'MEMBER')
  OR pg_has_role(current_user, 'pg_write_server_files', 'MEMBER')
  OR pg_has_role(current_user, 'pg_execute_server_program', 'MEMBER')
UNION ALL SELECT 'may create tables in ' || $1 WHERE has_schema_privilege(current_user, $1, 'CREATE')
UNION ALL (SELECT 'may change ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND has_table_privilege(current_user, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') ORDER BY c.relname LIMIT 1)
"""

LISTING = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = $1 ORDER BY table_name, ordinal_position
"""


class Postgres:
    dialect: Dialect = "postgres"

    def __init__(self, url: str, schema: str = "public") -> None:
        self.schema = schema
        self._url = url
        self._pool: Any = None
        self._opening = asyncio.Lock()

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> Answer:
        import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

        try:
            async with asyncio.timeout(seconds + GRACE), self._reading(seconds) as connection:
                statement = await connection.prepare(sql)  # the extended protocol takes one statement only
                fetched = await statement.fetch()
                names = tuple(attribute.name for attribute in statement.get_attributes())
        except (asyncpg.QueryCanceledError, TimeoutError):
            raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
        except asyncpg.PostgresError as error:
            raise BadQuery(f"PostgreSQL says: {error}.") from None
        return Answer(names, [[plain(value) for value in row.values()] for row in fetched])

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        async with self._reading(30) as connection:
            for table, column, kind in await connection.fetch(LISTING, self.schema):
                found.setdefault(table, []).append((column, kind))
        return found

    @asynccontextmanager
    async def _reading(self, seconds: float) -> AsyncIterator[Any]:
        pool = await self._open()
        async with pool.acquire() as connection, connection.transaction(readonly=True):
            await connection.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
            yield connection

    async def _open(self) -> Any:
        async with self._opening:
            if self._pool is None:
                self._pool = await self._connect()
        return self._pool

    async def _connect(self) -> Any:
        try:
            import asyncpg
        except ImportError:
            raise StepFailed("sql_failed", "PostgreSQL needs a package: pip install 'rightseat[postgres]'.") from None
        settings = {"default_transaction_read_only": "on", "standard_conforming_strings": "on", "search_path": '""'}
        pool = asyncpg.create_pool(
            self._url, min_size=0, max_size=4, server_settings=settings, timeout=10, command_timeout=60
        )
        try:
            await pool
            async with pool.acquire() as connection:
                powers = [row["power"] for row in await connection.fetch(POWERS, self.schema)]
        except (OSError, TimeoutError, asyncpg.PostgresError, ValueError) as error:
            pool.terminate()
            details = f"{type(error).__name__}: {error}"
            raise StepFailed("sql_failed", "The database cannot be reached.", details=details) from None
        if powers:
            await pool.close()
            raise StepFailed("sql_failed", f"The database's role {powers[0]}; {ONLY_SELECT}", details=[*powers])
        return pool

    async def aclose(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None


ONLY_SELECT = "questions are asked only under a role that has no right but SELECT. The operator must bind another."
