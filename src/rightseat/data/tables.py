"""Tables of a conversation, and SQL over them.

    async with Tables() as tables:
        table = await tables.add("Tick Data", JsonText(text))
        answer = await tables.query(f"SELECT max(price) FROM {table.name}")

They are in a child process (see `child` and `database`), which is started with the first table. A query that runs away
ends that process; the tables are then loaded again with the next use.
"""

import asyncio
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import msgspec

from rightseat.core.errors import BadQuery, Unreadable
from rightseat.core.text import truncate
from rightseat.core.values import JsonValue
from rightseat.data.child import Child, Lost
from rightseat.data.database import COUNTING, Add, Query
from rightseat.data.fitting import size
from rightseat.data.rows import unique
from rightseat.data.values import Answer, Column, Sheet, Table

MEMORY = 1024 * 2**20  # bytes of address space; DuckDB itself may use 384 MB of it for data
LARGEST = 32 * 2**20  # characters of one table's source
LONGEST_QUERY = 20_000


@dataclass(frozen=True, slots=True)
class JsonText:
    text: str


@dataclass(frozen=True, slots=True)
class CsvText:
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    rows: Sequence[Mapping[str, JsonValue]]


Source = JsonText | CsvText | Rows | Sheet


@dataclass(frozen=True, slots=True)
class Limits:
    """`rows` and `characters` of one result; seconds of one query, and of loading one table."""

    rows: int = 200
    characters: int = 16_000
    query: float = 10.0
    load: float = 30.0


class Tables:
    """Nothing is started before the first `add`. `aclose` gives everything back.

    `places` is shared by all conversations: each takes one with its first table, or waits for it.
    """

    def __init__(self, limits: Limits = Limits(), places: asyncio.Semaphore | None = None) -> None:  # noqa: B008  # frozen
        self.limits = limits
        self._places = places
        self._has_place = False
        self._added: list[tuple[Add, str]] = []
        self._tables: dict[str, Table] = {}
        self._taken: set[str] = set()
        self._child = Child("rightseat.data.database", MEMORY)
        self._busy = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(self._tables.values())

    async def add(self, name: str, source: Source) -> Table:
        """`name` is a wish; the table's own `name` is one that needs no quotation marks. Raises `Unreadable`."""
        sheet, kind, text = take_apart(source)
        async with self._busy:
            await self._take_place()
            await self._load_again()
            wanted = Add(unique(plain_name(name), self._taken), name, kind, sheet)
            try:
                table = await self._load(wanted, text)
            except Unreadable:
                self._taken.discard(wanted.name)
                raise
            self._added.append((wanted, text))
            self._tables[table.name] = table
            return table

    async def query(self, sql: str, limits: Limits | None = None) -> Answer:
        """One SELECT. Raises `BadQuery`, with the names of tables and columns where they may help.

        `limits` are for rows that no model has to read.
        """
        if len(sql) > LONGEST_QUERY:
            raise BadQuery(f"The query has {len(sql):,} characters; up to {LONGEST_QUERY:,} are read.")
        limits = limits or self.limits
        request = Query(sql, limits.rows, limits.characters, limits.query)
        async with self._busy:
            await self._load_again()
            try:
                return await self._child.ask(request, Answer, limits.query + COUNTING)
            except BadQuery as error:
                raise BadQuery(f"{error.message} {known(self.tables)}") from None
            except Lost as error:
                raise BadQuery(f"The query was ended, because it {error}. Ask for less.") from None

    async def aclose(self) -> None:
        self._added.clear()
        self._tables.clear()
        self._taken.clear()
        await self._child.aclose()
        if self._places is not None and self._has_place:
            self._has_place = False
            self._places.release()

    async def _take_place(self) -> None:
        if self._places is None or self._has_place:
            return
        try:
            async with asyncio.timeout(self.limits.load):
                await self._places.acquire()
        except TimeoutError:
            raise Unreadable("The server works on as much data as it can. Try again in a moment.") from None
        self._has_place = True

    async def _load(self, wanted: Add, text: str) -> Table:
        try:
            return await self._child.ask(wanted, Table, self.limits.load, text)
        except Lost as error:
            raise Unreadable(f"The table {wanted.title!r} cannot be read: it {error}.") from None

    async def _load_again(self) -> None:
        if not self._child.is_running:
            for wanted, text in self._added:
                await self._load(wanted, text)


def plain_name(wish: str) -> str:
    """Small letters, digits and `_`; never a word that SQL would read as its own."""
    name = re.sub(r"[^a-z0-9]+", "_", wish.lower()).strip("_")[:48].strip("_")
    return name if re.match("[a-z].*_", name) else f"data_{name}" if name else "data"


def take_apart(source: Source) -> tuple[Sheet | None, Literal["csv", "json"], str]:
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
    if len(text) > LARGEST:
        raise Unreadable(f"The data has {len(text):,} characters; up to {LARGEST:,} are read.")
    return sheet, kind, text


def known(tables: Sequence[Table], most: int = 600) -> str:
    """One line about what can be asked of."""
    if not tables:
        return "There are no tables."
    said = "; ".join(f"{table.name}({', '.join(column.sql for column in table.columns)})" for table in tables)
    return f"Tables: {truncate(said, most)}."


def describe(table: Table, characters: int = 4000) -> str:
    """What a model has to know to ask. Where not all goes into `characters`, it says what is left out."""
    head = f"table: {table.name}\n{table.rows:,} rows, {len(table.columns)} columns"
    if table.title and table.title != table.name:
        head += f", from {table.title!r}"
    tail = f"This is a part only. Ask for the rest with SQL: SELECT … FROM {table.name}"  # noqa: S608  # words
    room = characters - len(head) - len(tail)
    columns = within([f"- {describe_column(column, table.rows)}" for column in table.columns], room // 2, "columns")
    room -= len(columns)
    wide = columns.count("\n- ") + 1  # of columns that are not described, nothing is shown either
    sample = write_csv(
        [column.name for column in table.columns[:wide]], [row[:wide] for row in table.sample]
    ).splitlines()
    rows = within(sample, room * 2 // 3, "lines of the sample")
    notes = within([f"- {note}" for note in table.notes], room // 3, "notes")
    parts = [head, f"columns:\n{columns}", f"first {len(table.sample)} rows as csv:\n{rows}"]
    return "\n".join([*parts, *([f"read so:\n{notes}"] if notes else []), tail])


def describe_column(column: Column, rows: int) -> str:
    said = [f"{column.sql} {column.type}"]
    if column.was and column.was != column.name:
        said.append(f"called {column.was[:60]!r} in the data")
    if column.values:
        said.append(f"is one of {', '.join(column.values)}")
    elif column.low is not None and column.high is not None:
        said.append(f"{write_cell(column.low)} to {write_cell(column.high)}")
    if column.mean is not None:
        said.append(f"mean {column.mean:.6g}")
    if column.distinct is not None and not column.values:
        said.append(f"{column.distinct:,} distinct" if column.distinct != rows else "all distinct")
    if column.nulls:
        said.append(f"{column.nulls:,} NULL")
    return ", ".join(said)


def within(lines: Sequence[str], room: int, what: str) -> str:
    """As many lines as fit, and a word about the rest."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0 and kept:
            return "\n".join([*kept, f"… {len(lines) - len(kept):,} more {what}"])
        kept.append(line)
    return "\n".join(kept)


def write_answer(answer: Answer, most: int | None = None) -> str:
    """As csv, with a last line about what is not shown; in `most` bytes, if one row goes into them."""
    lines = [write_csv([], [row]) for row in answer.rows]
    shown = len(lines) if most is None else fitting(lines, most - len(write_csv(answer.columns, [])) - 80)
    said = []
    if answer.total is None:
        said.append(f"first {shown:,} rows of more; they were not counted")
    elif answer.total > shown:
        said.append(f"first {shown:,} of {answer.total:,} rows")
    if answer.shortened:
        said.append(f"{answer.shortened:,} long values are cut")
    text = write_csv(answer.columns, answer.rows[:shown])
    return f"{text}({'; '.join(said)})" if said else text


def fitting(lines: Sequence[str], room: int) -> int:
    """How many of the lines go into the room; at least one, if there is one."""
    for count, line in enumerate(lines):
        room -= size(line)
        if room < 0 and count:
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
