"""From what a client sent to columns: JSON in its many shapes, csv, and sheets."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from rightseat.core.errors import Unreadable
from rightseat.core.values import JSON_ERRORS
from rightseat.data.values import Sheet

MOST_COLUMNS = 1000
MOST_CELLS = 20_000_000
LONGEST_NAME = 100


class Frame(NamedTuple):
    """Columns by name, all of the same length. `was` has the names that had to be changed."""

    columns: dict[str, list[Any]]
    was: dict[str, str]
    notes: list[str]


def read_json(text: str | bytes) -> Frame:
    """A list of objects, of lists or of values; an object of lists, of objects, or of values; or a list within one."""
    try:
        value = msgspec.json.decode(text)
    except JSON_ERRORS:
        value = read_loosely(text)
    notes: list[str] = []
    return read_value(value, notes)


def read_loosely(text: str | bytes) -> Any:
    """Python's own reader knows `NaN` and `Infinity`, which many a server writes."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"The data is no JSON: {error}.") from None


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
        check(len(parts), len(parts[0]))
        return named(value.keys(), parts, notes)
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
    check(len(names), len(rows))
    return named(names, ([row.get(name) for row in rows] for name in names), notes)


def read_lists(rows: Sequence[Sequence[Any]], notes: list[str]) -> Frame:
    """The first is a header if it has names only, each once, and something follows."""
    head = rows[0]
    if len(rows) > 1 and head and all(isinstance(name, str) and name for name in head) and len(set(head)) == len(head):
        return read_table(list(head), rows[1:], notes)
    return read_table([], rows, notes)


def read_table(header: Sequence[str], rows: Sequence[Sequence[Any]], notes: list[str]) -> Frame:
    width = max(map(len, rows), default=0)
    check(max(width, len(header)), len(rows))
    if uneven := sum(len(row) != len(header) for row in rows) if header else 0:
        notes.append(f"{uneven} rows are longer or shorter than the header")
    names = [*header, *[""] * (width - len(header))]
    columns = ([row[place] if place < len(row) else None for row in rows] for place in range(len(names)))
    return named(names, columns, notes)


def read_csv(text: str) -> Frame:
    """The first row is the header. Empty lines are nothing."""
    text = text.removeprefix("\ufeff")
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))  # of the whole process, so it only grows
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text)) if row]
    except csv.Error as error:
        raise Unreadable(f"The csv cannot be read: {error}.") from None
    if not rows:
        raise Unreadable("The csv is empty.")
    return read_table(rows[0], rows[1:], [])


def delimiter(text: str) -> str:
    """Which of the usual ones makes rows of one width; among those, the one that makes the widest."""
    head = "\n".join(text[:16384].splitlines()[:20])
    best, widest = ",", 1
    for mark in ",;\t|":
        widths = {len(row) for row in csv.reader(io.StringIO(head, newline=""), delimiter=mark) if row}
        if len(widths) == 1 and (width := widths.pop()) > widest:
            best, widest = mark, width
    return best


def read_sheet(sheet: Sheet) -> Frame:
    return read_table(sheet.header, sheet.rows, [])


def check(columns: int, rows: int) -> None:
    if columns > MOST_COLUMNS:
        raise Unreadable(f"The table has {columns:,} columns; up to {MOST_COLUMNS:,} are read.")
    if columns * rows > MOST_CELLS:
        raise Unreadable(f"The table has {columns * rows:,} cells; up to {MOST_CELLS:,} are read.")


def named(names: Iterable[Any], columns: Iterable[list[Any]], notes: list[str]) -> Frame:
    """Each name once, also where case is ignored, as SQL does; and none that is empty or has line breaks."""
    frame = Frame({}, {}, notes)
    taken: set[str] = set()
    for place, (given, values) in enumerate(zip(names, columns, strict=True), 1):
        plain = re.sub(r"[\s\x00-\x1f\x7f]+", " ", str(given)).strip()[:LONGEST_NAME] or f"column_{place}"
        name = unique(plain, taken)
        if name != given:
            frame.was[name] = str(given)
        frame.columns[name] = values
    return frame


def unique(name: str, taken: set[str]) -> str:
    """The name itself, or with the first number that makes it new; it is taken then. Case makes no difference."""
    found, number = name, 1
    while found.lower() in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found.lower())
    return found
