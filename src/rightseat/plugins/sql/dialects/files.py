"""SQLite and DuckDB: a child process without secrets reads the file, and is killed on timeout."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rightseat.core.errors import BadQuery, NotConfigured, UnreadableFile
from rightseat.data.child import Child, ChildFailed, ChildPool
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.dialects import QueryResult
from rightseat.plugins.sql.functions import DialectName

MAX_MEMORY_BYTES = {"sqlite": 512 * 2**20, "duckdb": 1024 * 2**20}  # address space
MAX_CONCURRENT = 16  # queries of one database
BUILD_TIMEOUT_S = 30.0  # for the script of a bundled database, and for a description


class QueryDatabase(msgspec.Struct, tag="run"):
    """`is_immutable`: no process writes the file, so it needs no lock."""

    path: str
    is_immutable: bool
    sql: str
    columns: dict[str, list[str]]
    seconds: float


class DescribeDatabase(msgspec.Struct, tag="describe"):
    path: str
    is_immutable: bool


class BuildDatabase(msgspec.Struct, tag="build"):
    """The payload is an SQL script; the response is the content of the database file."""

    seconds: float


class FileDialect:
    schema = ""

    def __init__(self, name: Literal["sqlite", "duckdb"], path: Path, is_immutable: bool = False) -> None:
        self.name: DialectName = name
        self._path = path
        self._is_immutable = is_immutable
        self._pool = ChildPool(worker_module(name), MAX_MEMORY_BYTES[name], MAX_CONCURRENT)

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> QueryResult:
        listed = {name: list(each) for name, each in columns.items()}
        async with self._pool.child() as child:
            try:
                return await child.ask(
                    QueryDatabase(str(self._path), self._is_immutable, sql, listed, seconds), QueryResult, seconds
                )
            except ChildFailed as lost:
                raise BadQuery(f"The query {lost}. Ask for less.") from None
            except UnreadableFile:
                raise BadQuery("The query exceeds its memory limit. Ask for less.") from None
            except NotConfigured as error:
                raise StepFailed("sql_failed", error.message) from None

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        async with self._pool.child() as child:
            try:
                return await child.ask(
                    DescribeDatabase(str(self._path), self._is_immutable),
                    dict[str, list[tuple[str, str]]],
                    BUILD_TIMEOUT_S,
                )
            except (ChildFailed, BadQuery, NotConfigured, UnreadableFile) as error:
                raise StepFailed("sql_failed", f"The database {self._path.name} cannot be read: {error}") from None

    async def aclose(self) -> None:
        await self._pool.aclose()


def worker_module(name: str) -> str:
    return f"rightseat.plugins.sql.dialects.{name}"


async def build_database(script: str) -> bytes:
    """Return the file of a bundled database, built in the memory of a child process that cannot write files.

    Raises `BadQuery` if the script fails or does something that is not allowed.
    """
    child = Child(worker_module("sqlite"), MAX_MEMORY_BYTES["sqlite"])
    try:
        return await child.ask(BuildDatabase(BUILD_TIMEOUT_S), bytes, BUILD_TIMEOUT_S, script)
    except ChildFailed as lost:
        raise BadQuery(f"it {lost}") from None
    finally:
        await child.aclose()
