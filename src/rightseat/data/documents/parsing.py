"""Parses one file into a document, in a child process except for short text."""

from collections.abc import Callable

import msgspec

from rightseat.core.errors import UnreadableFile
from rightseat.data import rows
from rightseat.data.documents import docx, html, pdf, xlsx
from rightseat.data.documents.charset import read_text
from rightseat.data.documents.limits import DocumentLimits
from rightseat.data.values import DocumentPage, ParsedDocument, Sheet


class ParseRequest(msgspec.Struct):
    """The payload is the file."""

    kind: str
    name: str
    limits: DocumentLimits


def build() -> Callable[[bytes, bytes], ParsedDocument]:
    return lambda request, payload: parse(msgspec.msgpack.decode(request, type=ParseRequest), payload)


def parse(request: ParseRequest, data: bytes) -> ParsedDocument:
    """Raise `UnreadableFile` with the file's name."""
    try:
        match request.kind:
            case "pdf":
                return pdf.read(data, request.name, request.limits)
            case "xlsx":
                return xlsx.read(data, request.name, request.limits)
            case "docx":
                return split_into_pages(request, docx.read(data, request.limits))
            case "csv":
                return read_csv(request, data)
            case "html":
                text, note = read_text(data)
                return split_into_pages(request, html.read(text), note)
            case _:
                return split_into_pages(request, *read_text(data))
    except UnreadableFile as error:
        raise UnreadableFile(f"{request.name or 'The file'} cannot be read. {error.message}") from None


def read_csv(request: ParseRequest, data: bytes) -> ParsedDocument:
    text, note = read_text(data)
    frame = rows.read_csv(text)
    cells = [list(row) for row in zip(*frame.columns.values(), strict=True)]
    notes = [*([note] if note else []), *frame.notes]
    return ParsedDocument(
        request.name, "csv", sheets=(Sheet(request.name, list(frame.columns), cells),), notes=tuple(notes)
    )


def split_into_pages(request: ParseRequest, text: str, note: str = "") -> ParsedDocument:
    """Split text without pages into parts that end at a paragraph or line."""
    notes = [note] if note else []
    if len(text) > request.limits.characters:
        notes.append(f"Only the first {request.limits.characters:,} of {len(text):,} characters were read.")
        text = text[: request.limits.characters]
    pages = tuple(DocumentPage(number, part) for number, part in enumerate(split_text(text, request.limits.part), 1))
    return ParsedDocument(request.name, request.kind, pages=pages, notes=tuple(notes))


def split_text(text: str, size: int) -> list[str]:
    parts: list[str] = []
    start = 0
    while len(text) - start > size:
        window = text[start : start + size]
        end = next((cut for mark in ("\n\n", "\n", " ") if (cut := window.rfind(mark) + len(mark)) > size // 2), size)
        parts.append(text[start : start + end].strip("\n"))
        start += end
    return [*parts, text[start:].strip("\n")]
