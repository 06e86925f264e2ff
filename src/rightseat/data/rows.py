"""Reads JSON in its many shapes, CSV and spreadsheets into columns."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from rightseat.core.errors import UnreadableFile
from rightseat.core.types import JSON_ERRORS
from rightseat.data.values import Sheet

MAX_COLUMNS = 1000
MAX_CELLS = 20_000_000
MAX_NAME_CHARS = 100
MAX_TRIED_NUMBERS = 100


class Frame(NamedTuple):
    """Columns by name, all of the same length. `original_names` has the names that were changed."""

    columns: dict[str, list[Any]]
    original_names: dict[str, str]
    notes: list[str]


def read_json(text: str | bytes) -> Frame:
    """Accepts a list of objects, lists or values; an object of lists, objects or values; or a list inside one."""
    try:
        value = msgspec.json.decode(text)
    except JSON_ERRORS:
        value = read_lenient_json(text)
    notes: list[str] = []
    return read_value(value, notes)


def read_lenient_json(text: str | bytes) -> Any:
    """Python's parser accepts `NaN` and `Infinity`, which some servers write."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"The data is not valid JSON: {error}.") from None


def read_value(value: Any, notes: list[str]) -> Frame:
    match value:
        case dict():
            return read_object(value, notes)
        case [list(), *_] if all(isinstance(row, list) for row in value):
            return read_lists(value, notes)
        case list():
            rows = [row if isinstance(row, dict) else {"value": row} for row in value]
            return read_records(rows, notes)
        case _:
            return read_records([{"value": value}], notes)


def read_object(value: dict[str, Any], notes: list[str]) -> Frame:
    parts = list(value.values())
    if are_columns(parts):
        check_size(len(parts), len(parts[0]))
        return make_frame(value.keys(), parts, notes)
    lists = [name for name, part in value.items() if isinstance(part, list) and part and isinstance(part[0], dict)]
    if len(lists) == 1:
        if others := [name for name in value if name != lists[0]]:
            notes.append(f"only the list {lists[0]!r} was read, not {', '.join(map(repr, others[:10]))}")
        return read_value(value[lists[0]], notes)
    if len(parts) > 1 and all(isinstance(part, dict) for part in parts):
        return read_records([{"key": name, **part} for name, part in value.items()], notes)
    return read_records([value], notes)


def are_columns(parts: Sequence[Any]) -> bool:
    if not parts or not all(isinstance(part, list) for part in parts) or len(set(map(len, parts))) != 1:
        return False
    return len(parts) > 1 or not any(isinstance(item, dict) for item in parts[0])


def read_records(rows: Sequence[Mapping[str, Any]], notes: list[str]) -> Frame:
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    check_size(len(names), len(rows))
    return make_frame(names, ([row.get(name) for row in rows] for name in names), notes)


def read_lists(rows: Sequence[Sequence[Any]], notes: list[str]) -> Frame:
    """The first row is a header if it has only unique names, and more rows follow."""
    header_row = rows[0]
    if (
        len(rows) > 1
        and header_row
        and all(isinstance(name, str) and name for name in header_row)
        and len(set(header_row)) == len(header_row)
    ):
        return read_table(list(header_row), rows[1:], notes)
    return read_table([], rows, notes)


def read_table(header: Sequence[str], rows: Sequence[Sequence[Any]], notes: list[str]) -> Frame:
    width = max(map(len, rows), default=0)
    check_size(max(width, len(header)), len(rows))
    if uneven := sum(len(row) != len(header) for row in rows) if header else 0:
        notes.append(f"{uneven} rows are longer or shorter than the header")
    names = [*header, *[""] * (width - len(header))]
    columns = ([row[place] if place < len(row) else None for row in rows] for place in range(len(names)))
    return make_frame(names, columns, notes)


def read_csv(text: str) -> Frame:
    """The first row is the header. Empty lines are skipped."""
    text = text.removeprefix("\ufeff")
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))  # process-wide, so it only grows
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=detect_delimiter(text)) if row]
    except csv.Error as error:
        raise UnreadableFile(f"The CSV cannot be parsed: {error}.") from None
    if not rows:
        raise UnreadableFile("The CSV is empty.")
    return read_table(rows[0], rows[1:], [])


def detect_delimiter(text: str) -> str:
    """The usual delimiter that gives rows of equal width; the widest wins."""
    header_row = "\n".join(text[:16384].splitlines()[:20])
    best, widest = ",", 1
    for mark in ",;\t|":
        widths = {len(row) for row in csv.reader(io.StringIO(header_row, newline=""), delimiter=mark) if row}
        if len(widths) == 1 and (width := widths.pop()) > widest:
            best, widest = mark, width
    return best


def read_sheet(sheet: Sheet) -> Frame:
    return read_table(sheet.header, sheet.rows, [])


def check_size(columns: int, rows: int) -> None:
    if columns > MAX_COLUMNS:
        raise UnreadableFile(f"The table has {columns:,} columns; up to {MAX_COLUMNS:,} are read.")
    if columns * rows > MAX_CELLS:
        raise UnreadableFile(f"The table has {columns * rows:,} cells; up to {MAX_CELLS:,} are read.")


def make_frame(names: Iterable[Any], columns: Iterable[list[Any]], notes: list[str]) -> Frame:
    """Make names unique (ignoring case, as SQL does), non-empty and without line breaks."""
    frame = Frame({}, {}, notes)
    used_names: set[str] = set()
    for place, (original, values) in enumerate(zip(names, columns, strict=True), 1):
        clean_name = re.sub(r"[\s\x00-\x1f\x7f]+", " ", str(original)).strip()[:MAX_NAME_CHARS] or f"column_{place}"
        name = unique_name(clean_name, used_names)
        if name != original:
            frame.original_names[name] = str(original)
        frame.columns[name] = values
    return frame


def unique_name(name: str, used_names: set[str]) -> str:
    """Reserve the name, with a number if it is used already. Case is ignored.

    Numbers are left out where very many names are equal: to try each of them takes 10 s for 10,000.
    """
    found, number = name, 1
    while found.lower() in used_names:
        number += 1 if number < MAX_TRIED_NUMBERS else len(used_names)
        found = f"{name}_{number}"
    used_names.add(found.lower())
    return found
