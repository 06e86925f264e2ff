"""Statements that the driver of SQLite executes itself; on PostgreSQL SQLAlchemy executes them, except those of polls.

SQLAlchemy caches the SQL of a statement, but still takes about 250 us to execute one, of which SQLite needs 20. Every
run executes eleven statements, so those are prepared, and so are those that a server at rest executes every second; all
others are plain SQLAlchemy.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import Insert, Update
from sqlalchemy.sql.selectable import Select

SQLITE: Dialect = dialect()
ASYNCPG: Dialect = asyncpg_dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy does not annotate it
LARGE_VALUE_CHARS = 65536  # from which SQLite's copy of a value is released at once
Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


class PreparedStatement:
    """Rows are plain tuples of what the database has: on SQLite, a boolean is an integer."""

    def __init__(self, statement: Select[Any] | Insert | Update) -> None:
        self.statement = statement
        self._is_insert = isinstance(statement, Insert)
        self._compiled: dict[tuple[str, ...], _Sql] = {}  # by the columns of an insert
        self._numbered: _Sql | None = None

    def fetch(self, connection: Connection, parameters: Parameters) -> Sequence[Row]:
        if driver := _find_driver(connection):
            sql = self._compile(parameters)
            return driver.execute(sql.text, sql.bind(parameters)).fetchall()
        return [tuple(row) for row in connection.execute(self.statement, parameters)]

    def fetch_one(self, connection: Connection, parameters: Parameters) -> Row | None:
        found = self.fetch(connection, parameters)
        return found[0] if found else None

    def change(self, connection: Connection, *rows: Parameters) -> int:
        """Insert these rows, or update once with these parameters. Returns how many rows were changed."""
        driver = _find_driver(connection)
        if driver is None:
            return connection.execute(self.statement, rows if len(rows) > 1 else rows[0]).rowcount
        sql = self._compile(rows[0])
        values = [sql.bind(row) for row in rows]
        try:
            return driver.executemany(sql.text, values).rowcount
        except sqlite3.IntegrityError as error:
            raise IntegrityError(sql.text, None, error) from error  # as SQLAlchemy reports it
        finally:
            if isinstance(self.statement, Insert) and any(map(_is_large, values[-1])):
                _release_values(driver, self.statement, sql)

    def bind_numbered(self, parameters: Parameters) -> tuple[str, Sequence[Any]]:
        """The SQL and the values for asyncpg. Not for inserts."""
        if self._numbered is None:
            self._numbered = self._compile_for(ASYNCPG)
        return self._numbered.text, self._numbered.bind(parameters)

    def _compile(self, parameters: Parameters) -> "_Sql":
        columns = tuple(parameters) if self._is_insert else ()
        if (found := self._compiled.get(columns)) is None:
            found = self._compiled[columns] = self._compile_for(SQLITE, columns)
        return found

    def _compile_for(self, dialect: Dialect, columns: Sequence[str] = ()) -> "_Sql":
        compiled = self.statement.compile(dialect=dialect, column_keys=list(columns) or None)
        return _Sql(str(compiled), compiled.positiontup or (), compiled.params)


class _Sql(NamedTuple):
    """A text with positional parameters: their names in order, and the values of those that are constant."""

    text: str
    names: Sequence[str]
    constants: Parameters

    def bind(self, parameters: Parameters) -> Sequence[Any]:
        return [parameters[name] if name in parameters else self.constants[name] for name in self.names]


def _is_large(value: object) -> bool:
    return type(value) is str and len(value) > LARGE_VALUE_CHARS


def _release_values(driver: sqlite3.Connection, statement: Insert, sql: _Sql) -> None:
    """SQLite keeps a copy of a statement's values until it is executed again, and Python's driver cannot clear them.

    An insert of nulls replaces them. It fails, and so changes nothing; in an integer key a null would be a new number.
    """
    required = [one.name for one in statement.table.columns if not (one.nullable or one.primary_key)]
    if not set(required).isdisjoint(sql.names):
        with suppress(sqlite3.IntegrityError):
            driver.execute(sql.text, [None] * len(sql.names))


def _find_driver(connection: Connection) -> sqlite3.Connection | None:
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None
