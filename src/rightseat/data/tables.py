"""Tables of a conversation, and SQL over them.

    async with Tables() as tables:
        table = await tables.add("Tick Data", JsonText(text))
        answer = await tables.query(f"SELECT max(price) FROM {table.name}")

They live in a child process (see `child` and `database`), started with the first table. A runaway query ends that
process; the next use loads the tables again.
"""

import asyncio
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import msgspec

from rightseat.core.errors import BadQuery, UnreadableFile
from rightseat.core.types import JsonValue
from rightseat.data.child import Child, ChildFailed
from rightseat.data.database import COUNT_TIMEOUT_S, AddTable, SqlQuery
from rightseat.data.rows import unique_name
from rightseat.data.token_budget import json_size
from rightseat.data.values import Column, DataTable, Sheet, SqlResult
from rightseat.text import truncate

MEMORY_BYTES = 1024 * 2**20  # of address space; DuckDB may use 384 MB of it
MAX_SOURCE_CHARS = 32 * 2**20  # of one table
MAX_QUERY_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class JsonText:
    text: str


@dataclass(frozen=True, slots=True)
class CsvText:
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    rows: Sequence[Mapping[str, JsonValue]]


TableSource = JsonText | CsvText | Rows | Sheet


@dataclass(frozen=True, slots=True)
class TableLimits:
    """`rows` and `max_chars` of one result, and timeouts in seconds."""

    rows: int = 200
    max_chars: int = 16_000
    query: float = 10.0
    load_timeout: float = 30.0


class Tables:
    """The first `add` starts the process; `aclose` ends it.

    `slots` is shared by all conversations: each acquires one with its first table, or waits.
    """

    def __init__(self, limits: TableLimits = TableLimits(), slots: asyncio.Semaphore | None = None) -> None:  # noqa: B008  # frozen
        self.limits = limits
        self._slots = slots
        self._has_slot = False
        self._added: list[tuple[AddTable, str]] = []
        self._tables: dict[str, DataTable] = {}
        self._used_names: set[str] = set()
        self._child = Child("rightseat.data.database", MEMORY_BYTES)
        self._busy = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def tables(self) -> tuple[DataTable, ...]:
        return tuple(self._tables.values())

    async def add(self, name: str, source: TableSource) -> DataTable:
        """`name` is a suggestion; the table's `name` needs no quoting in SQL. Raise `UnreadableFile`."""
        sheet, kind, text = read_source(source)
        async with self._busy:
            await self._acquire_slot()
            await self._reload()
            request = AddTable(unique_name(make_table_name(name), self._used_names), name, kind, sheet)
            try:
                table = await self._load(request, text)
            except UnreadableFile:
                self._used_names.discard(request.name)
                raise
            self._added.append((request, text))
            self._tables[table.name] = table
            return table

    async def query(self, sql: str, limits: TableLimits | None = None) -> SqlResult:
        """Run one SELECT. Raise `BadQuery`, with the names of tables and columns if helpful.

        `limits` are for results that no model reads.
        """
        if len(sql) > MAX_QUERY_CHARS:
            raise BadQuery(f"The query has {len(sql):,} characters; up to {MAX_QUERY_CHARS:,} are read.")
        limits = limits or self.limits
        request = SqlQuery(sql, limits.rows, limits.max_chars, limits.query)
        async with self._busy:
            await self._reload()
            try:
                return await self._child.ask(request, SqlResult, limits.query + COUNT_TIMEOUT_S)
            except BadQuery as error:
                raise BadQuery(f"{error.message} {list_tables(self.tables)}") from None
            except ChildFailed as error:
                raise BadQuery(f"The query was stopped, because it {error}. Request less data.") from None

    async def aclose(self) -> None:
        self._added.clear()
        self._tables.clear()
        self._used_names.clear()
        await self._child.aclose()
        if self._slots is not None and self._has_slot:
            self._has_slot = False
            self._slots.release()

    async def _acquire_slot(self) -> None:
        if self._slots is None or self._has_slot:
            return
        try:
            async with asyncio.timeout(self.limits.load_timeout):
                await self._slots.acquire()
        except TimeoutError:
            raise UnreadableFile("The server is busy with other data. Try again in a moment.") from None
        self._has_slot = True

    async def _load(self, request: AddTable, text: str) -> DataTable:
        try:
            return await self._child.ask(request, DataTable, self.limits.load_timeout, text)
        except ChildFailed as error:
            raise UnreadableFile(f"The table {request.title!r} cannot be read: it {error}.") from None

    async def _reload(self) -> None:
        if not self._child.is_running:
            for request, text in self._added:
                await self._load(request, text)


def make_table_name(title: str) -> str:
    """Lower-case letters, digits and `_`; never an SQL keyword."""
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:48].strip("_")
    return name if re.match("[a-z].*_", name) else f"data_{name}" if name else "data"


def read_source(source: TableSource) -> tuple[Sheet | None, Literal["csv", "json"], str]:
    sheet: Sheet | None = None
    kind: Literal["csv", "json"] = "json"
    text = ""
    match source:
        case JsonText(text):
            pass
        case CsvText(text):
            kind = "csv"
        case Rows(rows):
            text = msgspec.json.encode(rows).decode()
        case Sheet():
            sheet = source
    if len(text) > MAX_SOURCE_CHARS:
        raise UnreadableFile(f"The data has {len(text):,} characters; up to {MAX_SOURCE_CHARS:,} are read.")
    return sheet, kind, text


def list_tables(tables: Sequence[DataTable], max_bytes: int = 600) -> str:
    """List the tables and their columns in one line."""
    if not tables:
        return "There are no tables."
    notes = "; ".join(f"{table.name}({', '.join(column.sql for column in table.columns)})" for table in tables)
    return f"Tables: {truncate(notes, max_bytes)}."


def describe_table(table: DataTable, max_chars: int = 4000) -> str:
    """Describe a table for a model. If it does not fit into `max_chars`, the text lists the omissions."""
    head = f"table: {table.name}\n{table.rows:,} rows, {len(table.columns)} columns"
    if table.title and table.title != table.name:
        head += f", from {table.title!r}"
    tail = f"This is a part only. Ask for the rest with SQL: SELECT … FROM {table.name}"  # noqa: S608  # words
    remaining = max_chars - len(head) - len(tail)
    columns = join_lines(
        [f"- {describe_column(column, table.rows)}" for column in table.columns], remaining // 2, "columns"
    )
    remaining -= len(columns)
    width = columns.count("\n- ") + 1  # the sample shows only described columns
    sample = write_csv(
        [column.name for column in table.columns[:width]], [row[:width] for row in table.sample]
    ).splitlines()
    rows = join_lines(sample, remaining * 2 // 3, "lines of the sample")
    notes = join_lines([f"- {note}" for note in table.notes], remaining // 3, "notes")
    parts = [head, f"columns:\n{columns}", f"first {len(table.sample)} rows as csv:\n{rows}"]
    return "\n".join([*parts, *([f"read so:\n{notes}"] if notes else []), tail])


def describe_column(column: Column, rows: int) -> str:
    notes = [f"{column.sql} {column.type}"]
    if column.original_name and column.original_name != column.name:
        notes.append(f"called {column.original_name[:60]!r} in the data")
    if column.values:
        notes.append(f"is one of {', '.join(column.values)}")
    elif column.low is not None and column.high is not None:
        notes.append(f"{write_cell(column.low)} to {write_cell(column.high)}")
    if column.mean is not None:
        notes.append(f"mean {column.mean:.6g}")
    if column.distinct is not None and not column.values:
        notes.append(f"{column.distinct:,} distinct" if column.distinct != rows else "all distinct")
    if column.nulls:
        notes.append(f"{column.nulls:,} NULL")
    return ", ".join(notes)


def join_lines(lines: Sequence[str], remaining: int, what: str) -> str:
    """Join as many lines as fit, and count the rest."""
    kept: list[str] = []
    for line in lines:
        remaining -= len(line) + 1
        if remaining < 0 and kept:
            return "\n".join([*kept, f"… {len(lines) - len(kept):,} more {what}"])
        kept.append(line)
    return "\n".join(kept)


def write_result(result: SqlResult, max_bytes: int | None = None) -> str:
    """As CSV, with a last line about rows that are not shown; within `max_bytes`, if one row fits."""
    lines = [write_csv([], [row]) for row in result.rows]
    shown = (
        len(lines) if max_bytes is None else count_fitting(lines, max_bytes - len(write_csv(result.columns, [])) - 80)
    )
    notes = []
    if result.total is None:
        notes.append(f"first {shown:,} rows of more; they were not counted")
    elif result.total > shown:
        notes.append(f"first {shown:,} of {result.total:,} rows")
    if result.truncated_cells:
        notes.append(f"{result.truncated_cells:,} long values are cut")
    text = write_csv(result.columns, result.rows[:shown])
    return f"{text}({'; '.join(notes)})" if notes else text


def count_fitting(lines: Sequence[str], remaining: int) -> int:
    """How many lines fit; at least one, if there is one."""
    for count, line in enumerate(lines):
        remaining -= json_size(line)
        if remaining < 0 and count:
            return count
    return len(lines)


def write_csv(header: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(header)
    writer.writerows([write_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def write_cell(value: JsonValue) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return msgspec.json.encode(value).decode()
