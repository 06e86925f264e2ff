"""DuckDB, in a child process: tables are loaded and described, and SELECT is all that can be done with them.

What keeps a query harmless, from the outside in: the process has limits and no environment; DuckDB has no files, no
network, no extensions, and a configuration that is locked; a statement must be one SELECT; and it runs in a
transaction that only reads, because a SELECT may hold an INSERT (`WITH x AS (INSERT …)`).
"""

import contextlib
import re
import threading
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rightseat.core.errors import BadQuery, Misuse, Unreadable
from rightseat.core.text import truncate_with_length
from rightseat.core.values import JsonValue
from rightseat.data import columns, rows
from rightseat.data.frames import Exhausted
from rightseat.data.values import Answer, Column, Sheet, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

AT_ONCE = 50_000  # rows that are handed over in one go
SAMPLE = 5
FEW = 12  # values of a text column that are worth listing
LONGEST_CELL = 2000
COUNTING = 2.0  # seconds in which the rows of a result are counted, or not at all
COUNTED = 2_000_000  # cells up to which distinct values are counted one by one


class Add(msgspec.Struct, tag="add"):
    """The payload is JSON or csv, unless it is a sheet."""

    name: str
    title: str
    kind: Literal["csv", "json"]
    sheet: Sheet | None = None


class Query(msgspec.Struct, tag="query"):
    sql: str
    rows: int
    characters: int
    seconds: float


def build() -> "Database":
    return Database(connect())


def connect() -> "DuckDBPyConnection":
    try:
        import duckdb
    except ImportError:
        raise Misuse("SQL over data needs DuckDB: pip install 'rightseat[openbb]'.") from None
    connection = duckdb.connect(":memory:", config={"threads": "2", "memory_limit": "384MB"})
    for setting in SETTINGS:
        connection.execute(f"SET {setting}")
    return connection


SETTINGS = (
    "temp_directory = ''",
    "TimeZone = 'UTC'",
    "python_enable_replacements = false",  # else `FROM name` finds variables of this program
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


class Database:
    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection
        keywords = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
        self._reserved = {name for (name,) in connection.execute(keywords).fetchall()}

    def __call__(self, request: bytes, payload: bytes) -> Table | Answer:
        wanted = msgspec.msgpack.decode(request, type=Add | Query)
        return self.add(wanted, payload) if isinstance(wanted, Add) else self.query(wanted)

    # Loading.

    def add(self, wanted: Add, payload: bytes) -> Table:
        frame = read(wanted, payload)
        notes = list(frame.notes)
        types = self._load(wanted.name, frame, notes)
        (count,) = self._one(f"SELECT count(*) FROM {quoted(wanted.name)}")  # noqa: S608  # names are quoted
        found = [self._describe(wanted.name, name, kind, count, frame) for name, kind in types.items()]
        shown = self._connection.execute(f"SELECT * FROM {quoted(wanted.name)} LIMIT {SAMPLE}").fetchall()  # noqa: S608
        sample = [[shorten(plain(value), 200) for value in row] for row in shown]
        return Table(wanted.name, wanted.title, count, tuple(found), sample, tuple(notes))

    def _load(self, table: str, frame: rows.Frame, notes: list[str]) -> dict[str, str]:
        """The types of the columns. Their values are gone from the frame then, so that nothing is held twice."""
        if not frame.columns:
            raise Unreadable("The table has no columns.")
        read = {name: columns.read(frame.columns.pop(name)) for name in list(frame.columns)}
        notes += [f"{self._written(name)}: {column.note}" for name, column in read.items() if column.note]
        types = {name: column.type for name, column in read.items()}
        shape = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
        self._connection.execute(f"CREATE TABLE {quoted(table)} ({shape})")
        insert = write_insert(table, list(read.values()))
        length = len(next(iter(read.values())).values)
        for start in range(0, length, AT_ONCE):
            self._connection.execute(insert, [column.values[start : start + AT_ONCE] for column in read.values()])
        return types

    def _describe(self, table: str, name: str, kind: str, count: int, frame: rows.Frame) -> Column:
        cell, source = quoted(name), quoted(table)
        distinct = "count(DISTINCT {})" if count <= COUNTED else "approx_count_distinct({})"
        mean = f"avg({cell})" if kind in ("BIGINT", "DOUBLE") else "NULL"
        ends = f"min({cell}), max({cell})" if kind != "JSON" else "NULL, NULL"
        known, different, low, high, middle = self._one(
            f"SELECT count({cell}), {distinct.format(cell)}, {ends}, {mean} FROM {source}"  # noqa: S608
        )
        few: list[tuple[str]] = []
        if kind == "VARCHAR" and 0 < different <= FEW:
            each = f"SELECT {cell} FROM {source} WHERE {cell} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1"  # noqa: S608
            few = self._connection.execute(each).fetchall()
        return Column(
            name=name, sql=self._written(name), type=kind, was=frame.was.get(name, ""), nulls=count - known,
            distinct=different, low=shorten(plain(low), 60), high=shorten(plain(high), 60), mean=middle,
            values=tuple(str(shorten(value, 60)) for (value,) in few),
        )  # fmt: skip

    def _written(self, name: str) -> str:
        is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in self._reserved
        return name if is_plain else quoted(name)

    def _one(self, sql: str) -> Any:
        return self._connection.execute(sql).fetchone()

    # Asking.

    def query(self, wanted: Query) -> Answer:
        import duckdb

        try:
            with self._reading_only():
                return self._select(wanted)
        except duckdb.InterruptException:
            raise BadQuery(f"The query took longer than {wanted.seconds:g} s. Ask for less.") from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise Exhausted("The query needs more memory than it may use. Ask for less.") from None
        except duckdb.Error as error:
            raise BadQuery(explain(error)) from None

    @contextlib.contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._connection.interrupt)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextlib.contextmanager
    def _reading_only(self) -> Iterator[None]:
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._connection.rollback()

    def _select(self, wanted: Query) -> Answer:
        text = self._one_select(wanted.sql)
        with self._within(wanted.seconds):
            result = self._connection.execute(text)
            if any("TIME ZONE" in str(column[1]) for column in result.description):
                result = self._connection.execute(zoneless(text, result.description))
            names = tuple(str(column[0]) for column in result.description)
            fetched = result.fetchmany(wanted.rows + 1)
        kept, shortened = fit(fetched[: wanted.rows], wanted.characters)
        if len(fetched) <= wanted.rows:
            return Answer(names, kept, len(fetched), shortened)
        return Answer(names, kept, self._count(text), shortened)

    def _one_select(self, sql: str) -> str:
        import duckdb

        statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise BadQuery(f"One SELECT is run at a time, and this is {len(statements) or 'no'} statements.")
        kind = statements[0].type
        if kind == duckdb.StatementType.MULTI:
            raise BadQuery("Only a SELECT is run. (PIVOT needs its values: PIVOT … ON column IN (…).)")
        if kind != duckdb.StatementType.SELECT:
            raise BadQuery(f"Only a SELECT is run here, and this is {kind.name}. Nothing was changed.")
        return statements[0].query.strip().removesuffix(";")

    def _count(self, select: str) -> int | None:
        """None where it takes too long or cannot be done: the rows themselves are worth more than their number."""
        import duckdb

        try:
            with self._within(COUNTING):
                (count,) = self._one(f"SELECT count(*) FROM (\n{select}\n)")  # noqa: S608  # it is one SELECT
        except duckdb.Error:
            return None
        return int(count)


def read(wanted: Add, payload: bytes) -> rows.Frame:
    if wanted.sheet is not None:
        return rows.read_sheet(wanted.sheet)
    return rows.read_csv(payload.decode()) if wanted.kind == "csv" else rows.read_json(payload)


def zoneless(select: str, description: list[Any]) -> str:
    """The same, with times that have a zone as text: to make Python's of them, DuckDB wants a package more."""
    cells = [
        f"CAST(#{place} AS VARCHAR) AS {quoted(column[0])}" if "TIME ZONE" in str(column[1]) else f"#{place}"
        for place, column in enumerate(description, 1)
    ]
    return f"SELECT {', '.join(cells)} FROM (\n{select}\n)"  # noqa: S608  # it was found to be one SELECT


def write_insert(table: str, read: list[columns.Read]) -> str:
    """Columns are handed over as lists, one for each, and what is more than the text it is written in is cast."""
    handed = [column.type if column.cast == "{}" else "VARCHAR" for column in read]
    lists = ", ".join(f"unnest(${place}::{kind}[]) AS c{place}" for place, kind in enumerate(handed, 1))
    cells = ", ".join(column.cast.format(f"c{place}") for place, column in enumerate(read, 1))
    return f"INSERT INTO {quoted(table)} SELECT {cells} FROM (SELECT {lists})"  # noqa: S608  # names are quoted


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fit(fetched: list[tuple[Any, ...]], characters: int) -> tuple[list[list[JsonValue]], int]:
    """As many rows as go into `characters`, at least one; and how many cells had to be cut."""
    kept: list[list[JsonValue]] = []
    shortened = 0
    for row in fetched:
        values = [plain(value) for value in row]
        cells = [shorten(value, LONGEST_CELL) for value in values]
        characters -= sum(len(str(cell)) + 1 for cell in cells)
        if characters < 0 and kept:
            break
        shortened += sum(value is not cell for value, cell in zip(values, cells, strict=True))
        kept.append(cells)
    return kept, shortened


def plain(value: Any) -> JsonValue:
    """As JSON: what JSON has no word for becomes text."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) < 2**63 else str(value)
        case float():
            return value if value - value == 0 else str(value)
        case Decimal():
            return float(value) if len(value.as_tuple().digits) <= 15 else str(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case bytes():
            return value.hex()
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case _:
            return str(value)


def shorten(value: JsonValue, most: int) -> JsonValue:
    """The value itself, or its beginning as text, with a word about the rest."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else columns.write(value)
    return value if len(text) <= most else truncate_with_length(text, most)


def explain(error: Exception) -> str:
    """DuckDB's words in one line: the first, and what it thinks was meant where that is a column or a function."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = re.sub(r"^[\w ]*Error: ", "", lines[0]) if lines else type(error).__name__
    hints = [line for line in lines[1:] if line.startswith("Candidate")]
    return " ".join([said.rstrip(".!") + ".", *hints])[:600]
