"""A transaction as a script: a generator that yields statements and receives their rows, whichever driver sends them.

The same script runs inside a transaction of SQLAlchemy, and directly on a driver where each round trip counts: with
SQLAlchemy, limits took three times as much CPU time of a request on PostgreSQL.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Statement(NamedTuple):
    """SQL with the placeholders of its driver."""

    sql: str
    parameters: tuple[object, ...] = ()


Rows = Sequence[Sequence[Any]]
Script = Generator[Statement, Rows, T]


def run_script(connection: Connection, script: Script[T]) -> T:
    """Run a script in the connection's transaction."""
    try:
        statement = next(script)
        while True:
            result = connection.exec_driver_sql(statement.sql, statement.parameters)
            statement = script.send(result.all() if result.returns_rows else ())
    except StopIteration as end:
        found: T = end.value
        return found
