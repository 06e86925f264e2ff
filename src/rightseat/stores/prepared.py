"""Statements that the driver of SQLite executes itself; on PostgreSQL SQLAlchemy executes them.

SQLAlchemy caches the SQL of a statement, but still takes about 250 us to execute one, of which SQLite needs 20. Every
run executes eleven statements, so those are prepared; all others are plain SQLAlchemy.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import Insert, Update
from sqlalchemy.sql.selectable import Select

SQLITE = dialect()
Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


class PreparedStatement:
    """Rows are plain tuples of what the database has: on SQLite, a boolean is an integer."""

    def __init__(self, statement: Select[Any] | Insert | Update) -> None:
        self._statement = statement
        self._is_insert = isinstance(statement, Insert)
        self._compiled: dict[tuple[str, ...], _Sql] = {}  # by the columns of an insert

    def fetch(self, connection: Connection, parameters: Parameters) -> Sequence[Row]:
        if driver := _find_driver(connection):
            sql = self._compile(parameters)
            return driver.execute(sql.text, sql.bind(parameters)).fetchall()
        return [tuple(row) for row in connection.execute(self._statement, parameters)]

    def fetch_one(self, connection: Connection, parameters: Parameters) -> Row | None:
        found = self.fetch(connection, parameters)
        return found[0] if found else None

    def change(self, connection: Connection, *rows: Parameters) -> int:
        """Insert these rows, or update once with these parameters. Returns how many rows were changed."""
        driver = _find_driver(connection)
        if driver is None:
            return connection.execute(self._statement, rows if len(rows) > 1 else rows[0]).rowcount
        sql = self._compile(rows[0])
        try:
            return driver.executemany(sql.text, [sql.bind(row) for row in rows]).rowcount
        except sqlite3.IntegrityError as error:
            raise IntegrityError(sql.text, None, error) from error  # as SQLAlchemy reports it

    def _compile(self, parameters: Parameters) -> "_Sql":
        columns = tuple(parameters) if self._is_insert else ()
        if (found := self._compiled.get(columns)) is None:
            compiled = self._statement.compile(dialect=SQLITE, column_keys=list(columns) or None)
            found = self._compiled[columns] = _Sql(str(compiled), compiled.positiontup or (), compiled.params)
        return found


class _Sql(NamedTuple):
    """A text with positional parameters: their names in order, and the values of those that are constant."""

    text: str
    names: Sequence[str]
    constants: Parameters

    def bind(self, parameters: Parameters) -> Sequence[Any]:
        return [parameters[name] if name in parameters else self.constants[name] for name in self.names]


def _find_driver(connection: Connection) -> sqlite3.Connection | None:
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None
