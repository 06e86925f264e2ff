"""Excel files: each sheet that holds something, its first row with something in it as the header."""

import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from rightseat.core.errors import Misuse, Unreadable
from rightseat.core.values import JsonValue
from rightseat.data.documents import archives
from rightseat.data.documents.limits import Limits
from rightseat.data.values import Document, Sheet


def read(data: bytes, name: str, limits: Limits) -> Document:
    """Formulas count as the values they had when the file was saved."""
    archives.check(data, limits, "xl/")
    try:
        import openpyxl  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise Misuse("Excel files need openpyxl: pip install 'rightseat[openbb]'.") from None
    notes: list[str] = []
    sheets: list[Sheet] = []
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        left = limits.cells
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what the file says of its size need not be true
            made, left = read_sheet(sheet.title, sheet.iter_rows(values_only=True), left, notes)
            if made.header:
                sheets.append(made)
    except MemoryError:
        raise
    except Exception as error:  # whatever the XML makes of the library
        raise Unreadable(f"It is broken: {type(error).__name__}.") from error
    if not sheets:
        raise Unreadable("It has no sheet with anything in it.")
    return Document(name, "xlsx", sheets=tuple(sheets), notes=tuple(notes))


def read_sheet(title: str, given: Iterable[tuple[Any, ...]], left: int, notes: list[str]) -> tuple[Sheet, int]:
    filled = without_empty(given)
    header = ["" if cell is None else str(plain(cell)) for cell in next(filled, [])]
    rows: list[list[JsonValue]] = []
    for row in filled:
        left -= len(row)
        if left < 0:
            notes.append(f"Of the sheet {title!r} only the first {len(rows):,} rows were read.")
            break
        rows.append([plain(cell) for cell in row])
    return Sheet(title, header, rows), max(left, 0)


def without_empty(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[Any]]:
    """Rows that hold something, without the empty cells at their ends."""
    for row in rows:
        end = len(row)
        while end and row[end - 1] in (None, ""):
            end -= 1
        if end:
            yield list(row[:end])


def plain(cell: Any) -> JsonValue:
    match cell:
        case None | bool() | int() | float() | str():
            return cell
        case datetime() if cell.time() == time():
            return cell.date().isoformat()
        case datetime():
            return cell.isoformat(sep=" ", timespec="seconds")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell)
        case _:
            return str(cell)
