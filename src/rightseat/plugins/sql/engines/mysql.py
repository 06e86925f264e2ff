"""MySQL and MariaDB: a role that may only read, a transaction that only reads, and the server's own clock."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from rightseat.core.errors import BadQuery
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.allowed import Dialect
from rightseat.plugins.sql.engines import Answer
from rightseat.plugins.sql.engines.postgres import ONLY_SELECT
from rightseat.plugins.sql.rows import plain

GRACE = 2  # seconds that the server has to stop a statement by itself
HARMLESS = {"USAGE", "SELECT", "SHOW VIEW"}
INCOMPLETE = 1931
TOO_LONG = (1969, 3024, 1317)  # MariaDB's and MySQL's codes for a statement that was stopped by the clock

LISTING = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = database() ORDER BY table_name, ordinal_position
"""


class MySQL:
    """One connection for each statement, in a thread: its driver waits, and the connection's timeout ends the wait."""

    dialect: Dialect = "mysql"

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self.schema = self._url.path.strip("/")

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> Answer:
        return await asyncio.to_thread(self._run, sql, seconds)

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        answer = await asyncio.to_thread(self._run, LISTING, 30)
        found: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in answer.rows:
            found.setdefault(str(table), []).append((str(column), str(kind)))
        return found

    async def aclose(self) -> None:
        pass

    def _run(self, sql: str, seconds: float) -> Answer:
        import pymysql  # type: ignore[import-untyped]  # it has no types of its own

        try:
            with self._reading(seconds) as cursor:
                cursor.execute(sql)
                names = tuple(column[0] for column in cursor.description or ())
                answer = Answer(names, [[plain(value) for value in row] for row in cursor.fetchall()])
                check_whole(cursor)
                return answer
        except pymysql.MySQLError as error:
            code, said = (*error.args, "", "")[:2]
            if code in TOO_LONG or "timed out" in str(said):
                raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
            raise BadQuery(f"The database says: {said}.") from None

    @contextmanager
    def _reading(self, seconds: float) -> Iterator[Any]:
        with closing(self._connect(seconds)) as connection, connection.cursor() as cursor:
            self._check(cursor)
            cursor.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES'")  # \ escapes in strings, as the guard wrote
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
            raise StepFailed("sql_failed", "MySQL needs a package: pip install 'rightseat[mysql]'.") from None
        try:
            return pymysql.connect(
                host=self._url.hostname or "127.0.0.1",
                port=self._url.port or 3306,
                user=unquote(self._url.username or ""),
                password=unquote(self._url.password or ""),
                database=self.schema,
                charset="utf8mb4",
                connect_timeout=10,
                read_timeout=int(seconds) + GRACE,
                local_infile=False,
            )
        except pymysql.MySQLError as error:
            details = f"{type(error).__name__}: {error}"
            raise StepFailed("sql_failed", "The database cannot be reached.", details=details) from None

    def _check(self, cursor: Any) -> None:
        cursor.execute("SHOW GRANTS")
        grants = [str(row[0]) for row in cursor.fetchall()]
        more = sorted({right for grant in grants for right in rights(grant)} - HARMLESS)
        if more:
            raise StepFailed("sql_failed", f"The database's role has {', '.join(more)}; {ONLY_SELECT}")


def check_whole(cursor: Any) -> None:
    """MariaDB ends a recursion that is too deep with a warning, and gives what it has."""
    cursor.execute("SHOW WARNINGS")
    for _, code, said in cursor.fetchall():
        if code == INCOMPLETE:
            raise BadQuery(f"The result is not whole: {said}.")


def rights(grant: str) -> list[str]:
    """Of `GRANT SELECT (a, b), INSERT ON …`; a role that is granted is as much as whatever it may hold."""
    match = re.match(r"GRANT (.+?) ON ", grant)
    if match is None:
        return [] if "ROLE" in grant.upper().split()[:3] else ["a role of its own"]
    more = ["GRANT OPTION"] if "WITH GRANT OPTION" in grant.upper() else []
    return [right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match.group(1)).split(",")] + more
