"""SQL dialects: run a checked statement read-only, with a timeout, by the mechanisms of each database.

This is the second, independent check after `guard.py`. SQLite and DuckDB run in a child process that can be killed;
PostgreSQL and MySQL run in a read-only transaction, under a role that is verified to have no privilege but SELECT.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.core.types import JsonValue
from rightseat.plugins.sql.functions import DialectName


class QueryResult(msgspec.Struct, frozen=True):
    columns: tuple[str, ...]
    rows: list[list[JsonValue]]


class Dialect(Protocol):
    """`schema` holds the tables; empty if the database has only one."""

    name: DialectName
    schema: str

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> QueryResult:
        """`columns` are the tables that the statement may read.

        Raises `BadQuery` with a message for the model if the statement is wrong, `StepFailed` if the database fails.
        """
        ...

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        """All readable tables and views, with (column, type) pairs."""
        ...

    async def aclose(self) -> None: ...
