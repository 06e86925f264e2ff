"""Reads Excel files: each non-empty sheet, with its first non-empty row as the header."""

import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from rightseat.core.errors import NotConfigured, UnreadableFile
from rightseat.core.types import JsonValue
from rightseat.data.documents import archives
from rightseat.data.documents.limits import DocumentLimits
from rightseat.data.values import ParsedDocument, Sheet
from rightseat.installation import missing_extra


def read(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Formulas have the values saved in the file."""
    archives.check_archive(data, limits, "xl/")
    try:
        import openpyxl  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise NotConfigured(f"Excel files need openpyxl: {missing_extra('openbb')}.") from None
    notes: list[str] = []
    sheets: list[Sheet] = []
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        remaining_cells = limits.cells
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # the declared size may be wrong
            parsed, remaining_cells = read_sheet(sheet.title, sheet.iter_rows(values_only=True), remaining_cells, notes)
            if parsed.header:
                sheets.append(parsed)
    except MemoryError:
        raise
    except Exception as error:  # damaged XML can raise anything
        raise UnreadableFile(f"It is damaged: {type(error).__name__}.") from error
    if not sheets:
        raise UnreadableFile("All sheets are empty.")
    return ParsedDocument(name, "xlsx", sheets=tuple(sheets), notes=tuple(notes))


def read_sheet(
    title: str, source_rows: Iterable[tuple[Any, ...]], remaining_cells: int, notes: list[str]
) -> tuple[Sheet, int]:
    rows_with_data = skip_empty(source_rows)
    header = ["" if cell is None else str(to_json_value(cell)) for cell in next(rows_with_data, [])]
    rows: list[list[JsonValue]] = []
    for row in rows_with_data:
        remaining_cells -= len(row)
        if remaining_cells < 0:
            notes.append(f"Of the sheet {title!r} only the first {len(rows):,} rows were read.")
            break
        rows.append([to_json_value(cell) for cell in row])
    return Sheet(title, header, rows), max(remaining_cells, 0)


def skip_empty(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[Any]]:
    """Non-empty rows without trailing empty cells."""
    for row in rows:
        end = len(row)
        while end and row[end - 1] in (None, ""):
            end -= 1
        if end:
            yield list(row[:end])


def to_json_value(cell: Any) -> JsonValue:
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
