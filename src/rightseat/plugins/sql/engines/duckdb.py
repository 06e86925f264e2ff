"""DuckDB, within a child: a file that is only read, no other files, no network, and settings that are locked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.core.errors import BadQuery, Misuse
from rightseat.data.database import SETTINGS, explain, zoneless
from rightseat.plugins.sql.engines import Answer
from rightseat.plugins.sql.engines.files import Describe, Run
from rightseat.plugins.sql.rows import plain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def build() -> Callable[[bytes, bytes], object]:
    return handle


def handle(request: bytes, payload: bytes) -> object:
    wanted = msgspec.msgpack.decode(request, type=Run | Describe)
    with closing(connect(wanted.path)) as connection:
        return run(connection, wanted) if isinstance(wanted, Run) else describe(connection)


def connect(path: str) -> "DuckDBPyConnection":
    try:
        import duckdb
    except ImportError:
        raise Misuse("A DuckDB database needs DuckDB: pip install 'rightseat[openbb]'.") from None
    try:
        connection = duckdb.connect(path, read_only=True, config={"threads": "2", "memory_limit": "384MB"})
        for setting in SETTINGS:
            connection.execute(f"SET {setting}")
    except duckdb.Error as error:
        raise BadQuery(f"The database cannot be opened: {explain(error)}") from None
    return connection


def run(connection: "DuckDBPyConnection", wanted: Run) -> Answer:
    with within(connection, wanted.seconds):
        if len(connection.extract_statements(wanted.sql)) != 1:
            raise BadQuery("Exactly one SELECT is run.")
        result = connection.execute(wanted.sql)
        if any("TIME ZONE" in str(column[1]) for column in result.description):
            result = connection.execute(zoneless(wanted.sql, result.description))
        names = tuple(str(column[0]) for column in result.description)
        return Answer(names, [[plain(value) for value in row] for row in result.fetchall()])


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
def within(connection: "DuckDBPyConnection", seconds: float) -> Iterator[None]:
    import duckdb

    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise BadQuery("The query needs more memory than it may use. Ask for less.") from None
    except duckdb.Error as error:
        raise BadQuery(f"DuckDB says: {explain(error)}") from None
    finally:
        timer.cancel()
