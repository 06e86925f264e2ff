"""DuckDB in a child process: loads and describes tables, and runs SELECT queries on them.

Layers of isolation: the process has limits and no environment; DuckDB has no files, network or extensions, and a locked
configuration; a statement must be one SELECT; and it runs in a read-only transaction, because a SELECT may contain an
INSERT (`WITH x AS (INSERT …)`).
"""

import contextlib
import re
import threading
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rightseat.core.errors import BadQuery, NotConfigured, UnreadableFile
from rightseat.core.types import JsonValue
from rightseat.data import columns, rows
from rightseat.data.frames import OutOfMemory
from rightseat.data.values import Column, DataTable, Sheet, SqlResult
from rightseat.installation import missing_extra
from rightseat.text import truncate_with_length

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INSERT_BATCH_ROWS = 50_000
SAMPLE_ROWS = 5
MAX_LISTED_VALUES = 12  # of a text column
MAX_CELL_CHARS = 2000
COUNT_TIMEOUT_S = 2.0  # to count the rows of a result
MAX_EXACT_COUNT_ROWS = 2_000_000  # distinct values of larger tables are estimated


class AddTable(msgspec.Struct, tag="add"):
    """The payload is JSON or CSV, unless there is a sheet."""

    name: str
    title: str
    kind: Literal["csv", "json"]
    sheet: Sheet | None = None


class SqlQuery(msgspec.Struct, tag="query"):
    sql: str
    rows: int
    characters: int
    seconds: float


def build() -> "TableDatabase":
    return TableDatabase(connect())


def connect() -> "DuckDBPyConnection":
    try:
        import duckdb
    except ImportError:
        raise NotConfigured(f"SQL over data needs DuckDB: {missing_extra('openbb')}.") from None
    connection = duckdb.connect(":memory:", config={"threads": "2", "memory_limit": "384MB"})
    for setting in SETTINGS:
        connection.execute(f"SET {setting}")
    return connection


SETTINGS = (
    "temp_directory = ''",
    "TimeZone = 'UTC'",
    "python_enable_replacements = false",  # else `FROM name` finds Python variables
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


class TableDatabase:
    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection
        keywords = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')"
        self._reserved = {name for (name,) in connection.execute(keywords).fetchall()}

    def __call__(self, content: bytes, payload: bytes) -> DataTable | SqlResult:
        request = msgspec.msgpack.decode(content, type=AddTable | SqlQuery)
        return self.add(request, payload) if isinstance(request, AddTable) else self.query(request)

    # Loading

    def add(self, request: AddTable, payload: bytes) -> DataTable:
        frame = read_frame(request, payload)
        notes = list(frame.notes)
        types = self._load(request.name, frame, notes)
        (count,) = self._fetch_one(f"SELECT count(*) FROM {quote_name(request.name)}")  # noqa: S608  # names are quoted
        found = [self._describe(request.name, name, kind, count, frame) for name, kind in types.items()]
        shown = self._connection.execute(f"SELECT * FROM {quote_name(request.name)} LIMIT {SAMPLE_ROWS}").fetchall()  # noqa: S608
        sample = [[truncate_cell(to_json_value(value), 200) for value in row] for row in shown]
        return DataTable(request.name, request.title, count, tuple(found), sample, tuple(notes))

    def _load(self, table: str, frame: rows.Frame, notes: list[str]) -> dict[str, str]:
        """Return the column types. Values are removed from the frame to not hold them twice."""
        if not frame.columns:
            raise UnreadableFile("The table has no columns.")
        data = {name: columns.read_column(frame.columns.pop(name)) for name in list(frame.columns)}
        notes += [f"{self._sql_name(name)}: {column.note}" for name, column in data.items() if column.note]
        types = {name: column.type for name, column in data.items()}
        shape = ", ".join(f"{quote_name(name)} {kind}" for name, kind in types.items())
        self._connection.execute(f"CREATE TABLE {quote_name(table)} ({shape})")
        insert = write_insert(table, list(data.values()))
        length = len(next(iter(data.values())).values)
        for start in range(0, length, INSERT_BATCH_ROWS):
            self._connection.execute(
                insert, [column.values[start : start + INSERT_BATCH_ROWS] for column in data.values()]
            )
        return types

    def _describe(self, table: str, name: str, kind: str, count: int, frame: rows.Frame) -> Column:
        cell, source = quote_name(name), quote_name(table)
        distinct = "count(DISTINCT {})" if count <= MAX_EXACT_COUNT_ROWS else "approx_count_distinct({})"
        mean = f"avg({cell})" if kind in ("BIGINT", "DOUBLE") else "NULL"
        ends = f"min({cell}), max({cell})" if kind != "JSON" else "NULL, NULL"
        known, different, low, high, middle = self._fetch_one(
            f"SELECT count({cell}), {distinct.format(cell)}, {ends}, {mean} FROM {source}"  # noqa: S608
        )
        few: list[tuple[str]] = []
        if kind == "VARCHAR" and 0 < different <= MAX_LISTED_VALUES:
            each = f"SELECT {cell} FROM {source} WHERE {cell} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1"  # noqa: S608
            few = self._connection.execute(each).fetchall()
        return Column(
            name=name,
            sql=self._sql_name(name),
            type=kind,
            original_name=frame.original_names.get(name, ""),
            nulls=count - known,
            distinct=different,
            low=truncate_cell(to_json_value(low), 60),
            high=truncate_cell(to_json_value(high), 60),
            mean=middle,
            values=tuple(str(truncate_cell(value, 60)) for (value,) in few),
        )

    def _sql_name(self, name: str) -> str:
        is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in self._reserved
        return name if is_plain else quote_name(name)

    def _fetch_one(self, sql: str) -> Any:
        return self._connection.execute(sql).fetchone()

    # Queries

    def query(self, request: SqlQuery) -> SqlResult:
        import duckdb

        try:
            with self._read_only_transaction():
                return self._select(request)
        except duckdb.InterruptException:
            raise BadQuery(f"The query took longer than {request.seconds:g} s. Request less data.") from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise OutOfMemory("The query needs more memory than allowed. Request less data.") from None
        except duckdb.Error as error:
            raise BadQuery(explain_error(error)) from None

    @contextlib.contextmanager
    def _interrupt_after(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._connection.interrupt)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextlib.contextmanager
    def _read_only_transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._connection.rollback()

    def _select(self, request: SqlQuery) -> SqlResult:
        text = self._check_select(request.sql)
        with self._interrupt_after(request.seconds):
            result = self._connection.execute(text)
            if any("TIME ZONE" in str(column[1]) for column in result.description):
                result = self._connection.execute(cast_zoned_times(text, result.description))
            names = tuple(str(column[0]) for column in result.description)
            fetched = result.fetchmany(request.rows + 1)
        kept, truncated_cells = fit_rows(fetched[: request.rows], request.characters)
        if len(fetched) <= request.rows:
            return SqlResult(names, kept, len(fetched), truncated_cells)
        return SqlResult(names, kept, self._count(text), truncated_cells)

    def _check_select(self, sql: str) -> str:
        import duckdb

        statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise BadQuery(f"Expected one SELECT, got {len(statements) or 'no'} statements.")
        kind = statements[0].type
        if kind == duckdb.StatementType.MULTI:
            raise BadQuery("Only SELECT is allowed. (PIVOT needs its values: PIVOT … ON column IN (…).)")
        if kind != duckdb.StatementType.SELECT:
            raise BadQuery(f"Only SELECT is allowed, not {kind.name}. Nothing was changed.")
        return statements[0].query.strip().removesuffix(";")

    def _count(self, select: str) -> int | None:
        """None if counting fails or takes too long: the rows matter more than their number."""
        import duckdb

        try:
            with self._interrupt_after(COUNT_TIMEOUT_S):
                (count,) = self._fetch_one(f"SELECT count(*) FROM (\n{select}\n)")  # noqa: S608  # it is one SELECT
        except duckdb.Error:
            return None
        return int(count)


def read_frame(request: AddTable, payload: bytes) -> rows.Frame:
    if request.sheet is not None:
        return rows.read_sheet(request.sheet)
    return rows.read_csv(payload.decode()) if request.kind == "csv" else rows.read_json(payload)


def cast_zoned_times(select: str, description: list[Any]) -> str:
    """Cast times with a zone to text: DuckDB would need another package to convert them to Python."""
    cells = [
        f"CAST(#{place} AS VARCHAR) AS {quote_name(column[0])}" if "TIME ZONE" in str(column[1]) else f"#{place}"
        for place, column in enumerate(description, 1)
    ]
    return f"SELECT {', '.join(cells)} FROM (\n{select}\n)"  # noqa: S608  # checked to be one SELECT


def write_insert(table: str, data: list[columns.ColumnData]) -> str:
    """Columns are passed as one list each; text formats are cast."""
    types = [column.type if column.cast == "{}" else "VARCHAR" for column in data]
    lists = ", ".join(f"unnest(${place}::{kind}[]) AS c{place}" for place, kind in enumerate(types, 1))
    cells = ", ".join(column.cast.format(f"c{place}") for place, column in enumerate(data, 1))
    return f"INSERT INTO {quote_name(table)} SELECT {cells} FROM (SELECT {lists})"  # noqa: S608  # names are quoted


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fit_rows(fetched: list[tuple[Any, ...]], characters: int) -> tuple[list[list[JsonValue]], int]:
    """As many rows as fit into `characters`, at least one, and the number of truncated cells."""
    kept: list[list[JsonValue]] = []
    truncated_cells = 0
    for row in fetched:
        values = [to_json_value(value) for value in row]
        cells = [truncate_cell(value, MAX_CELL_CHARS) for value in values]
        characters -= sum(len(str(cell)) + 1 for cell in cells)
        if characters < 0 and kept:
            break
        truncated_cells += sum(value is not cell for value, cell in zip(values, cells, strict=True))
        kept.append(cells)
    return kept, truncated_cells


def to_json_value(value: Any) -> JsonValue:
    """Convert to JSON; other types become text."""
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
            return [to_json_value(item) for item in value]
        case dict():
            return {str(key): to_json_value(item) for key, item in value.items()}
        case _:
            return str(value)


def truncate_cell(value: JsonValue, max_chars: int) -> JsonValue:
    """Truncate a long value to text, with its length."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else columns.to_json(value)
    return value if len(text) <= max_chars else truncate_with_length(text, max_chars)


def explain_error(error: Exception) -> str:
    """DuckDB's message in one line, with its suggestions for columns and functions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = re.sub(r"^[\w ]*Error: ", "", lines[0]) if lines else type(error).__name__
    hints = [line for line in lines[1:] if line.startswith("Candidate")]
    return " ".join([message.rstrip(".!") + ".", *hints])[:600]
