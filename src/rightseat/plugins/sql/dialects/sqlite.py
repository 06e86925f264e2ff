"""SQLite in a child process: an authorizer restricts each statement, and a progress handler enforces the timeout."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from rightseat.core.errors import BadQuery
from rightseat.data.database import quote_name
from rightseat.plugins.sql.dialects import QueryResult
from rightseat.plugins.sql.dialects.files import BuildDatabase, DescribeDatabase, QueryDatabase
from rightseat.plugins.sql.functions import CTE_PREFIX, FUNCTIONS, NO_PARENTHESES, OPERATORS
from rightseat.plugins.sql.rows import to_json_value

PROGRESS_STEPS = 10_000  # of SQLite's virtual machine, between two checks of the time
MAX_VALUE_BYTES = 10_000_000
ALLOWED_FUNCTIONS = FUNCTIONS["sqlite"] | OPERATORS | NO_PARENTHESES
SYSTEM_TABLES = ("sqlite_master", "sqlite_schema", "sqlite_sequence")

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def build() -> Callable[[bytes, bytes], object]:
    return handle


def handle(body: bytes, payload: bytes) -> object:
    request = msgspec.msgpack.decode(body, type=QueryDatabase | DescribeDatabase | BuildDatabase)
    if isinstance(request, QueryDatabase):
        return run(request)
    return (
        describe(request)
        if isinstance(request, DescribeDatabase)
        else build_from_script(payload.decode(), request.seconds)
    )


def run(request: QueryDatabase) -> QueryResult:
    with closing(connect(request.path, request.is_immutable)) as connection:
        connection.set_authorizer(build_authorizer(request.columns))
        with enforce_timeout(connection, request.seconds):
            cursor = connection.execute(request.sql)
            names = tuple(str(column[0]) for column in cursor.description)
            return QueryResult(names, [[to_json_value(value) for value in row] for row in cursor])


def describe(request: DescribeDatabase) -> dict[str, list[tuple[str, str]]]:
    tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    with closing(connect(request.path, request.is_immutable)) as connection, enforce_timeout(connection, 10):
        names = [name for (name,) in connection.execute(f"{tables} ORDER BY name")]
        return {
            name: [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_info({quote_name(name)})")]
            for name in names
        }


def build_from_script(script: str, seconds: float) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        restrict(connection)
        connection.set_authorizer(authorize_script)
        with enforce_timeout(connection, seconds):
            connection.executescript(script)
        connection.set_authorizer(None)
        return connection.serialize()


def connect(path: str, is_immutable: bool) -> sqlite3.Connection:
    address = f"{Path(path).as_uri()}?mode=ro{'&immutable=1' if is_immutable else ''}"
    try:
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
        connection.execute("PRAGMA temp_store = memory")
        connection.execute("PRAGMA query_only = on")
    except sqlite3.Error as error:
        raise BadQuery(f"The database cannot be opened: {error}") from None
    restrict(connection)
    return connection


def restrict(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)


@contextmanager
def enforce_timeout(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, PROGRESS_STEPS)
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        if time.monotonic() > end:
            raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
        raise BadQuery(f"SQLite reports: {error}.") from None


def build_authorizer(columns: dict[str, list[str]]) -> Authorizer:
    """Allow SELECT of listed tables and columns, and everything that a listed view reads."""
    listed = {table.casefold(): {column.casefold() for column in each} for table, each in columns.items()}

    def allows(action: int, first: str | None, second: str | None, database: str | None, view: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_FUNCTION if (second or "").lower() in ALLOWED_FUNCTIONS:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if (first or "").casefold().startswith("sqlite_"):
                return sqlite3.SQLITE_DENY
            case sqlite3.SQLITE_READ if view is not None and view.casefold() in listed:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if not second and (not first or first.startswith(CTE_PREFIX)):  # rows of a WITH
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ:
                columns_listed = listed.get((first or "").casefold())
                is_listed = columns_listed is not None and (not second or second.casefold() in columns_listed)
                return sqlite3.SQLITE_OK if is_listed else sqlite3.SQLITE_DENY
            case _:
                return sqlite3.SQLITE_DENY

    return allows


def authorize_script(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    """Allow CREATE TABLE, INDEX and VIEW, and INSERT; no change and no deletion."""
    match action:
        case sqlite3.SQLITE_CREATE_TABLE | sqlite3.SQLITE_CREATE_INDEX | sqlite3.SQLITE_CREATE_VIEW:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_INSERT | sqlite3.SQLITE_SELECT | sqlite3.SQLITE_READ | sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_REINDEX:  # CREATE INDEX fills the index with it
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_UPDATE if (
            first in SYSTEM_TABLES
        ):  # CREATE updates SQLite's own tables with it; scripts cannot
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_FUNCTION if (second or "").lower() in ALLOWED_FUNCTIONS:
            return sqlite3.SQLITE_OK
        case _:
            return sqlite3.SQLITE_DENY
