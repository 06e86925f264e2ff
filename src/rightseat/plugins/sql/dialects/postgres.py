"""PostgreSQL: a role with only SELECT, a read-only transaction, one statement, and the server's statement timeout."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rightseat.core.errors import BadQuery
from rightseat.installation import missing_extra
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.dialects import QueryResult
from rightseat.plugins.sql.functions import DialectName
from rightseat.plugins.sql.rows import to_json_value

STOP_TIMEOUT_S = 2.0  # for the server to stop a statement by itself

# In each transaction: a pooler gives it a session that others have used, and refuses settings when it is connected to.
SETTINGS = """
SET LOCAL statement_timeout = {milliseconds}; SET LOCAL search_path = ''; SET LOCAL standard_conforming_strings = on
"""

LIST_PRIVILEGES = """
SELECT 'is a superuser' AS privilege FROM pg_roles WHERE rolname = current_user AND rolsuper
UNION ALL SELECT 'may read and write files or run programs of the server' WHERE
  pg_has_role(current_user, 'pg_read_server_files', 'MEMBER')
  OR pg_has_role(current_user, 'pg_write_server_files', 'MEMBER')
  OR pg_has_role(current_user, 'pg_execute_server_program', 'MEMBER')
UNION ALL SELECT 'may create tables in ' || $1 WHERE has_schema_privilege(current_user, $1, 'CREATE')
UNION ALL (SELECT 'may change ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND has_table_privilege(current_user, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') ORDER BY c.relname LIMIT 1)
"""

LIST_COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = $1 ORDER BY table_name, ordinal_position
"""


class PostgresDialect:
    name: DialectName = "postgres"

    def __init__(self, url: str, schema: str = "public") -> None:
        self.schema = schema
        self._url = url
        self._pool: Any = None
        self._open_lock = asyncio.Lock()

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> QueryResult:
        import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

        try:
            async with asyncio.timeout(seconds + STOP_TIMEOUT_S), self._open_transaction(seconds) as connection:
                statement = await connection.prepare(sql)  # the extended protocol allows only one statement
                fetched = await statement.fetch()
                names = tuple(attribute.name for attribute in statement.get_attributes())
        except (asyncpg.QueryCanceledError, TimeoutError):
            raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
        except asyncpg.PostgresError as error:
            raise BadQuery(f"PostgreSQL reports: {error}.") from None
        return QueryResult(names, [[to_json_value(value) for value in row.values()] for row in fetched])

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        async with self._open_transaction(30) as connection:
            for table, column, kind in await connection.fetch(LIST_COLUMNS, self.schema):
                found.setdefault(table, []).append((column, kind))
        return found

    @asynccontextmanager
    async def _open_transaction(self, seconds: float) -> AsyncIterator[Any]:
        pool = await self._open()
        async with pool.acquire() as connection, connection.transaction(readonly=True):
            await connection.execute(SETTINGS.format(milliseconds=int(seconds * 1000)))
            yield connection

    async def _open(self) -> Any:
        async with self._open_lock:
            if self._pool is None:
                self._pool = await self._connect()
        return self._pool

    async def _connect(self) -> Any:
        try:
            import asyncpg

            from rightseat.postgres.connector import PostgresConnector
        except ImportError:
            raise StepFailed("sql_failed", f"PostgreSQL: {missing_extra('postgres')}.") from None
        pool = None
        try:
            options = await PostgresConnector(self._url).options()
            pool = asyncpg.create_pool(self._url, min_size=0, max_size=4, command_timeout=60, **options)
            await pool
            async with pool.acquire() as connection:
                privileges = [row["privilege"] for row in await connection.fetch(LIST_PRIVILEGES, self.schema)]
        except (OSError, TimeoutError, asyncpg.PostgresError, ValueError) as error:
            if pool is not None:
                pool.terminate()
            details = f"{type(error).__name__}: {error}"
            raise StepFailed("sql_failed", "Cannot connect to the database.", details=details) from None
        if privileges:
            await pool.close()
            raise StepFailed("sql_failed", f"The database's role {privileges[0]}; {ONLY_SELECT}", details=[*privileges])
        return pool

    async def aclose(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None


ONLY_SELECT = "queries need a role without any privilege but SELECT. Bind a connection with such a role."
