"""MySQL and MariaDB: a role with only SELECT, a read-only transaction, and the server's statement timeout."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from rightseat.core.errors import BadQuery
from rightseat.installation import missing_extra
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.dialects import QueryResult
from rightseat.plugins.sql.dialects.postgres import ONLY_SELECT
from rightseat.plugins.sql.functions import DialectName
from rightseat.plugins.sql.rows import to_json_value

STOP_TIMEOUT_S = 2  # for the server to stop a statement by itself
ALLOWED_PRIVILEGES = {"USAGE", "SELECT", "SHOW VIEW"}
RESULT_INCOMPLETE = 1931  # MariaDB's warning
TIMEOUT_CODES = (1969, 3024, 1317)  # of MariaDB and MySQL for a statement that exceeded its time

LIST_COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = database() ORDER BY table_name, ordinal_position
"""


class MySQLDialect:
    """One connection per statement, in a thread: the driver blocks, until the connection's timeout."""

    name: DialectName = "mysql"

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self.schema = self._url.path.strip("/")

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> QueryResult:
        return await asyncio.to_thread(self._run, sql, seconds)

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        answer = await asyncio.to_thread(self._run, LIST_COLUMNS, 30)
        found: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in answer.rows:
            found.setdefault(str(table), []).append((str(column), str(kind)))
        return found

    async def aclose(self) -> None:
        pass

    def _run(self, sql: str, seconds: float) -> QueryResult:
        import pymysql  # type: ignore[import-untyped]  # it has no types of its own

        try:
            with self._open_cursor(seconds) as cursor:
                cursor.execute(sql)
                names = tuple(column[0] for column in cursor.description or ())
                answer = QueryResult(names, [[to_json_value(value) for value in row] for row in cursor.fetchall()])
                check_complete(cursor)
                return answer
        except pymysql.MySQLError as error:
            code, message = (*error.args, "", "")[:2]
            if code in TIMEOUT_CODES or "timed out" in str(message):
                raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
            raise BadQuery(f"The database reports: {message}.") from None

    @contextmanager
    def _open_cursor(self, seconds: float) -> Iterator[Any]:
        with closing(self._connect(seconds)) as connection, connection.cursor() as cursor:
            self._check_privileges(cursor)
            cursor.execute(
                "SET SESSION sql_mode = 'STRICT_ALL_TABLES'"
            )  # \ escapes in strings, as the rewritten statement assumes
            if "mariadb" in connection.get_server_info().lower():
                cursor.execute(f"SET SESSION max_statement_time = {float(seconds)}")
            else:
                cursor.execute(f"SET SESSION max_execution_time = {int(seconds * 1000)}")
            cursor.execute("START TRANSACTION READ ONLY")
            yield cursor

    def _connect(self, seconds: float) -> Any:
        try:
            import pymysql
        except ImportError:
            raise StepFailed("sql_failed", f"MySQL: {missing_extra('mysql')}.") from None
        try:
            return pymysql.connect(
                host=self._url.hostname or "127.0.0.1",
                port=self._url.port or 3306,
                user=unquote(self._url.username or ""),
                password=unquote(self._url.password or ""),
                database=self.schema,
                charset="utf8mb4",
                connect_timeout=10,
                read_timeout=int(seconds) + STOP_TIMEOUT_S,
                local_infile=False,
            )
        except pymysql.MySQLError as error:
            details = f"{type(error).__name__}: {error}"
            raise StepFailed("sql_failed", "Cannot connect to the database.", details=details) from None

    def _check_privileges(self, cursor: Any) -> None:
        cursor.execute("SHOW GRANTS")
        grants = [str(row[0]) for row in cursor.fetchall()]
        extra = sorted({right for grant in grants for right in list_privileges(grant)} - ALLOWED_PRIVILEGES)
        if extra:
            raise StepFailed("sql_failed", f"The database's role has {', '.join(extra)}; {ONLY_SELECT}")


def check_complete(cursor: Any) -> None:
    """MariaDB ends too deep a recursion with a warning and a partial result."""
    cursor.execute("SHOW WARNINGS")
    for _, code, message in cursor.fetchall():
        if code == RESULT_INCOMPLETE:
            raise BadQuery(f"The result is incomplete: {message}.")


def list_privileges(grant: str) -> list[str]:
    """Parse `GRANT SELECT (a, b), INSERT ON …`. A granted role counts as a privilege of its own."""
    match = re.match(r"GRANT (.+?) ON ", grant)
    if match is None:
        return [] if "ROLE" in grant.upper().split()[:3] else ["a role of its own"]
    more = ["GRANT OPTION"] if "WITH GRANT OPTION" in grant.upper() else []
    return [right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match.group(1)).split(",")] + more
