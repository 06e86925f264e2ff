"""SQLite, within a child: an authorizer says what each statement may touch, and a counter of steps ends it in time."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from rightseat.core.errors import BadQuery
from rightseat.data.database import quoted
from rightseat.plugins.sql.allowed import BARE, FUNCTIONS, OPERATORS, OURS
from rightseat.plugins.sql.engines import Answer
from rightseat.plugins.sql.engines.files import Build, Describe, Run
from rightseat.plugins.sql.rows import plain

STEPS = 10_000  # of SQLite's own machine, between two looks at the clock
LONGEST_VALUE = 10_000_000  # bytes
ALLOWED = FUNCTIONS["sqlite"] | OPERATORS | BARE
SYSTEM = ("sqlite_master", "sqlite_schema", "sqlite_sequence")

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def build() -> Callable[[bytes, bytes], object]:
    return handle


def handle(request: bytes, payload: bytes) -> object:
    wanted = msgspec.msgpack.decode(request, type=Run | Describe | Build)
    if isinstance(wanted, Run):
        return run(wanted)
    return describe(wanted) if isinstance(wanted, Describe) else make(payload.decode(), wanted.seconds)


def run(wanted: Run) -> Answer:
    with closing(connect(wanted.path, wanted.fixed)) as connection:
        connection.set_authorizer(reading(wanted.columns))
        with within(connection, wanted.seconds):
            cursor = connection.execute(wanted.sql)
            names = tuple(str(column[0]) for column in cursor.description)
            return Answer(names, [[plain(value) for value in row] for row in cursor])


def describe(wanted: Describe) -> dict[str, list[tuple[str, str]]]:
    tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    with closing(connect(wanted.path, wanted.fixed)) as connection, within(connection, 10):
        names = [name for (name,) in connection.execute(f"{tables} ORDER BY name")]
        return {
            name: [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_info({quoted(name)})")]
            for name in names
        }


def make(script: str, seconds: float) -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        restrict(connection)
        connection.set_authorizer(writing)
        with within(connection, seconds):
            connection.executescript(script)
        connection.set_authorizer(None)
        return connection.serialize()


def connect(path: str, fixed: bool) -> sqlite3.Connection:
    address = f"{Path(path).as_uri()}?mode=ro{'&immutable=1' if fixed else ''}"
    try:
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
        connection.execute("PRAGMA temp_store = memory")
        connection.execute("PRAGMA query_only = on")
    except sqlite3.Error as error:
        raise BadQuery(f"The database cannot be opened: {error}") from None
    restrict(connection)
    return connection


def restrict(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)


@contextmanager
def within(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        if time.monotonic() > end:
            raise BadQuery(f"The query took longer than {seconds:g} s. Ask for less.") from None
        raise BadQuery(f"SQLite says: {error}.") from None


def reading(columns: dict[str, list[str]]) -> Authorizer:
    """Only SELECT, only what is listed, and what a view reads that is listed itself."""
    listed = {table.casefold(): {column.casefold() for column in each} for table, each in columns.items()}

    def allows(action: int, first: str | None, second: str | None, database: str | None, view: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_FUNCTION if (second or "").lower() in ALLOWED:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if (first or "").casefold().startswith("sqlite_"):
                return sqlite3.SQLITE_DENY
            case sqlite3.SQLITE_READ if view is not None and view.casefold() in listed:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if not second and (not first or first.startswith(OURS)):  # rows of a WITH
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ:
                known = listed.get((first or "").casefold())
                is_known = known is not None and (not second or second.casefold() in known)
                return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY
            case _:
                return sqlite3.SQLITE_DENY

    return allows


def writing(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """CREATE TABLE, INDEX and VIEW, and INSERT; nothing is changed or taken away again."""
    match action:
        case sqlite3.SQLITE_CREATE_TABLE | sqlite3.SQLITE_CREATE_INDEX | sqlite3.SQLITE_CREATE_VIEW:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_INSERT | sqlite3.SQLITE_SELECT | sqlite3.SQLITE_READ | sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_REINDEX:  # what CREATE INDEX does to fill it
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_UPDATE if first in SYSTEM:  # what CREATE does to SQLite's own tables, and nobody else can
            return sqlite3.SQLITE_OK
        case sqlite3.SQLITE_FUNCTION if (second or "").lower() in ALLOWED:
            return sqlite3.SQLITE_OK
        case _:
            return sqlite3.SQLITE_DENY
