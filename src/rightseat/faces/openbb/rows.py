"""The rows of a table or a chart: as the model gives them, as it has read them, or as its query finds them."""

import math
import re
from collections.abc import Iterable

import msgspec

from rightseat.core.errors import BadAsk
from rightseat.core.values import JSON_ERRORS, JsonValue
from rightseat.data.tables import Limits, Tables
from rightseat.faces.openbb.sources import Source

Row = dict[str, JsonValue]

MOST = 5000
"""Rows that one artifact may have."""
NAME = re.compile(r"[A-Za-z_]\w*")
LIMITS = Limits(rows=MOST, characters=2_000_000)


def given(data: JsonValue) -> list[Row]:
    if isinstance(data, str):
        data = unpacked(data)
    if not isinstance(data, list) or not data:
        raise BadAsk('data must be a list of at least one row, as in [{"symbol": "AAPL", "price": 233.85}].')
    if len(data) > MOST:
        raise BadAsk(f"data has {len(data):,} rows; at most {MOST:,} can be shown. Give an aggregate, or use sql.")
    return [read_row(row, number) for number, row in enumerate(data, 1)]


def shown(label: JsonValue, sources: Iterable[Source]) -> list[Row]:
    """The rows that the model has read under this label."""
    named = {source.label: source for source in sources}
    found = named.get(str(label).strip("[]"))
    if found is None:
        raise BadAsk(f"There is no source {label!r}. There are: {', '.join(named) or 'none'}.")
    for text in found.texts:
        data = unpacked(text)
        rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
        if rows:
            return given([{column: flat(value) for column, value in row.items()} for row in rows])
    raise BadAsk(f"{found.label} holds no rows that can be used again. Use sql if you were told of a table, or data.")


def unpacked(text: str) -> JsonValue:
    """Some models write a list as the JSON text of it."""
    try:
        value: JsonValue = msgspec.json.decode(text)
    except JSON_ERRORS:
        return None
    return value


def read_row(row: JsonValue, number: int) -> Row:
    if not isinstance(row, dict) or not row:
        raise BadAsk(f"Row {number} of data is not an object of column names and values.")
    for column, value in row.items():
        if isinstance(value, dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            raise BadAsk(f"Row {number} has a {column!r} that is no text, number, boolean or null.")
    return row


async def asked(tables: Tables | None, sql: str) -> tuple[list[Row], list[str]]:
    """The result of a query, or a whole table by its name; and what must be said about it."""
    if tables is None or not tables.tables:
        raise BadAsk("There is no table to query in this chat. Give the rows in data.")
    answer = await tables.query(f"SELECT * FROM {sql}" if NAME.fullmatch(sql) else sql, LIMITS)  # noqa: S608
    rows: list[Row] = [dict(zip(answer.columns, map(flat, row), strict=True)) for row in answer.rows[:MOST]]
    if not rows:
        raise BadAsk("The query found no rows, so there is nothing to show.")
    notes = []
    if answer.total is None or answer.total > len(rows):
        found = "more" if answer.total is None else f"{answer.total:,}"
        notes.append(f"These are the first {len(rows):,} of {found} rows that the query found.")
    if answer.shortened:
        notes.append(f"{answer.shortened:,} long cells were cut.")
    return rows, notes


def flat(value: JsonValue) -> JsonValue:
    """A cell that a table can show: a nested value as its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, dict | list) else value
