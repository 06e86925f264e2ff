"""Rows of tables and charts: given by the model, taken from a source, or selected by SQL."""

import math
import re
from collections.abc import Iterable

import msgspec

from rightseat.core.errors import BadRequest
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.data.tables import TableLimits, Tables
from rightseat.faces.openbb.citations.sources import CitationSource

Row = dict[str, JsonValue]

MAX_ROWS = 5000
"""Rows of one artifact."""
TABLE_NAME = re.compile(r"[A-Za-z_]\w*")
QUERY_LIMITS = TableLimits(rows=MAX_ROWS, max_chars=2_000_000)


def read_rows(data: JsonValue) -> list[Row]:
    if isinstance(data, str):
        data = parse_json_text(data)
    if not isinstance(data, list) or not data:
        raise BadRequest('data must be a list of at least one row, as in [{"symbol": "AAPL", "price": 233.85}].')
    if len(data) > MAX_ROWS:
        raise BadRequest(
            f"data has {len(data):,} rows; at most {MAX_ROWS:,} can be shown. Give an aggregate, or use sql."
        )
    return [read_row(row, number) for number, row in enumerate(data, 1)]


def rows_of_source(label: JsonValue, sources: Iterable[CitationSource]) -> list[Row]:
    """The rows of the source with this label."""
    named = {source.label: source for source in sources}
    found = named.get(str(label).strip("[]"))
    if found is None:
        raise BadRequest(f"There is no source {label!r}. There are: {', '.join(named) or 'none'}.")
    for text in found.texts:
        data = parse_json_text(text)
        rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
        if rows:
            return read_rows([{column: flatten(value) for column, value in row.items()} for row in rows])
    raise BadRequest(
        f"{found.label} holds no rows that can be used again. Use sql if the conversation has a table, or data."
    )


def parse_json_text(text: str) -> JsonValue:
    """Some models write a list as a JSON string."""
    try:
        value: JsonValue = msgspec.json.decode(text)
    except JSON_ERRORS:
        return None
    return value


def read_row(row: JsonValue, number: int) -> Row:
    if not isinstance(row, dict) or not row:
        raise BadRequest(f"Row {number} of data is not an object of column names and values.")
    for column, value in row.items():
        if isinstance(value, dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            raise BadRequest(f"Row {number} has a {column!r} that is no text, number, boolean or null.")
    return row


async def query_rows(tables: Tables | None, sql: str) -> tuple[list[Row], list[str]]:
    """The rows of a query, or of a table given by name, with notes for the model."""
    if tables is None or not tables.tables:
        raise BadRequest("There is no table to query in this chat. Give the rows in data.")
    result = await tables.query(f"SELECT * FROM {sql}" if TABLE_NAME.fullmatch(sql) else sql, QUERY_LIMITS)  # noqa: S608
    rows: list[Row] = [dict(zip(result.columns, map(flatten, row), strict=True)) for row in result.rows[:MAX_ROWS]]
    if not rows:
        raise BadRequest("The query found no rows, so there is nothing to show.")
    notes = []
    if result.total is None or result.total > len(rows):
        found = "more" if result.total is None else f"{result.total:,}"
        notes.append(f"These are the first {len(rows):,} of {found} rows that the query found.")
    if result.truncated_cells:
        notes.append(f"{result.truncated_cells:,} long cells were cut.")
    return rows, notes


def flatten(value: JsonValue) -> JsonValue:
    """Convert a cell to a value that a table can show."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, dict | list) else value
