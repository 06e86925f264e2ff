"""The second guard: each engine's own means to let a statement read, and do nothing else, within its time.

An engine runs what the first guard wrote. SQLite and DuckDB run in a child process that can be killed; PostgreSQL and
MySQL in a transaction that only reads, under a role that was found to have no right but SELECT.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.core.values import JsonValue
from rightseat.plugins.sql.allowed import Dialect


class Answer(msgspec.Struct, frozen=True):
    columns: tuple[str, ...]
    rows: list[list[JsonValue]]


class Engine(Protocol):
    """`schema` is where its tables stand; empty where the engine has one only."""

    dialect: Dialect
    schema: str

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> Answer:
        """`columns` are the tables that the statement may read.

        Raises `BadQuery` where the statement is wrong, in words for whoever wrote it, and `StepFailed` where the
        database is at fault.
        """
        ...

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        """Every table and view that can be read, with its columns and their types."""
        ...

    async def aclose(self) -> None: ...
