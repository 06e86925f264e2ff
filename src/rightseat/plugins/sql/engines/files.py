"""SQLite and DuckDB: a file, read by a child process that can be killed and holds no secrets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rightseat.core.errors import BadQuery, Misuse, Unreadable
from rightseat.data.child import Child, ChildPool, Lost
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.allowed import Dialect
from rightseat.plugins.sql.engines import Answer

MEMORY = {"sqlite": 512 * 2**20, "duckdb": 1024 * 2**20}  # bytes of address space
MAX_AT_ONCE = 16  # queries of one database
BUILDING = 30.0  # seconds that the script of a bundled database may take


class Run(msgspec.Struct, tag="run"):
    """`fixed` says that nobody writes the file: it needs no lock then."""

    path: str
    fixed: bool
    sql: str
    columns: dict[str, list[str]]
    seconds: float


class Describe(msgspec.Struct, tag="describe"):
    path: str
    fixed: bool


class Build(msgspec.Struct, tag="build"):
    """The payload is an SQL script. The answer is the database, as the bytes of its file."""

    seconds: float


class FileEngine:
    schema = ""

    def __init__(self, dialect: Literal["sqlite", "duckdb"], path: Path, fixed: bool = False) -> None:
        self.dialect: Dialect = dialect
        self._path = path
        self._fixed = fixed
        self._pool = ChildPool(worker(dialect), MEMORY[dialect], MAX_AT_ONCE)

    async def run(self, sql: str, columns: Mapping[str, Sequence[str]], seconds: float) -> Answer:
        listed = {name: list(each) for name, each in columns.items()}
        async with self._pool.child() as child:
            try:
                return await child.ask(Run(str(self._path), self._fixed, sql, listed, seconds), Answer, seconds)
            except Lost as lost:
                raise BadQuery(f"The query {lost}. Ask for less.") from None
            except Unreadable:
                raise BadQuery("The query needs more memory than it may use. Ask for less.") from None
            except Misuse as error:
                raise StepFailed("sql_failed", error.message) from None

    async def describe(self) -> dict[str, list[tuple[str, str]]]:
        async with self._pool.child() as child:
            try:
                return await child.ask(
                    Describe(str(self._path), self._fixed), dict[str, list[tuple[str, str]]], BUILDING
                )
            except (Lost, BadQuery, Misuse, Unreadable) as error:
                raise StepFailed("sql_failed", f"The database {self._path.name} cannot be read: {error}") from None

    async def aclose(self) -> None:
        await self._pool.aclose()


def worker(dialect: str) -> str:
    return f"rightseat.plugins.sql.engines.{dialect}"


async def build(script: str) -> bytes:
    """The file of a bundled database. It is made in the memory of a child, which cannot write one itself.

    Raises `BadQuery`: the script does what it may not do, or is wrong.
    """
    child = Child(worker("sqlite"), MEMORY["sqlite"])
    try:
        return await child.ask(Build(BUILDING), bytes, BUILDING, script)
    except Lost as lost:
        raise BadQuery(f"it {lost}") from None
    finally:
        await child.aclose()
