"""DuckDB in a child process: a read-only file, no other files, no network, locked settings."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.core.errors import BadQuery, NotConfigured
from rightseat.data.database import SETTINGS, cast_zoned_times, explain_error
from rightseat.data.frames import OutOfMemory
from rightseat.installation import missing_extra
from rightseat.plugins.sql.dialects import QueryResult
from rightseat.plugins.sql.dialects.files import DescribeDatabase, QueryDatabase
from rightseat.plugins.sql.rows import to_json_value

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def build() -> Callable[[bytes, bytes], object]:
    return handle


def handle(request: bytes, payload: bytes) -> object:
    query = msgspec.msgpack.decode(request, type=QueryDatabase | DescribeDatabase)
    with closing(connect(query.path)) as connection:
        return run(connection, query) if isinstance(query, QueryDatabase) else describe(connection)


def connect(path: str) -> "DuckDBPyConnection":
    try:
        import duckdb
    except ImportError:
        raise NotConfigured(f"A DuckDB database needs DuckDB: {missing_extra('openbb')}.") from None
    try:
        connection = duckdb.connect(path, read_only=True, config={"threads": "2", "memory_limit": "384MB"})
        for setting in SETTINGS:
            connection.execute(f"SET {setting}")
    except duckdb.Error as error:
        raise BadQuery(f"The database cannot be opened: {explain_error(error)}") from None
    return connection


def run(connection: "DuckDBPyConnection", query: QueryDatabase) -> QueryResult:
    with enforce_timeout(connection, query.seconds):
        if len(connection.extract_statements(query.sql)) != 1:
            raise BadQuery("Exactly one SELECT is run.")
        result = connection.execute(query.sql)
        if any("TIME ZONE" in str(column[1]) for column in result.description):
            result = connection.execute(cast_zoned_times(query.sql, result.description))
        names = tuple(str(column[0]) for column in result.description)
        return QueryResult(names, [[to_json_value(value) for value in row] for row in result.fetchall()])


def describe(connection: "DuckDBPyConnection") -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    listing = """SELECT table_name, column_name, data_type FROM duckdb_columns()
                 WHERE schema_name = 'main' AND NOT internal AND database_name = current_database()
                 ORDER BY table_name, column_index"""
    rows: list[Any] = connection.execute(listing).fetchall()
    for table, column, kind in rows:
        found.setdefault(table, []).append((column, kind))
    return found


@contextmanager
def enforce_timeout(connection: "DuckDBPyConnection", seconds: float) -> Iterator[None]:
    import duckdb

    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise OutOfMemory("The query exceeds its memory limit. Ask for less.") from None
    except duckdb.Error as error:
        raise BadQuery(f"DuckDB reports: {explain_error(error)}") from None
    finally:
        timer.cancel()
