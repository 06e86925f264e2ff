"""One file to one document: runs in a child process, except for short text."""

from collections.abc import Callable

import msgspec

from rightseat.core.errors import Unreadable
from rightseat.data import rows
from rightseat.data.documents import docx, html, pdf, xlsx
from rightseat.data.documents.encoding import read_text
from rightseat.data.documents.limits import Limits
from rightseat.data.values import Document, Page, Sheet


class Read(msgspec.Struct):
    """The payload is the file."""

    kind: str
    name: str
    limits: Limits


def build() -> Callable[[bytes, bytes], Document]:
    return lambda request, payload: parse(msgspec.msgpack.decode(request, type=Read), payload)


def parse(wanted: Read, data: bytes) -> Document:
    """Raises `Unreadable`, with the file's name."""
    try:
        match wanted.kind:
            case "pdf":
                return pdf.read(data, wanted.name, wanted.limits)
            case "xlsx":
                return xlsx.read(data, wanted.name, wanted.limits)
            case "docx":
                return in_parts(wanted, docx.read(data, wanted.limits))
            case "csv":
                return read_csv(wanted, data)
            case "html":
                text, note = read_text(data)
                return in_parts(wanted, html.read(text), note)
            case _:
                return in_parts(wanted, *read_text(data))
    except Unreadable as error:
        raise Unreadable(f"{wanted.name or 'The file'} cannot be read. {error.message}") from None


def read_csv(wanted: Read, data: bytes) -> Document:
    text, note = read_text(data)
    frame = rows.read_csv(text)
    cells = [list(row) for row in zip(*frame.columns.values(), strict=True)]
    notes = [*([note] if note else []), *frame.notes]
    return Document(wanted.name, "csv", sheets=(Sheet(wanted.name, list(frame.columns), cells),), notes=tuple(notes))


def in_parts(wanted: Read, text: str, note: str = "") -> Document:
    """Text without pages of its own, in parts that end where a paragraph or at least a line does."""
    notes = [note] if note else []
    if len(text) > wanted.limits.characters:
        notes.append(f"Only the first {wanted.limits.characters:,} of {len(text):,} characters were read.")
        text = text[: wanted.limits.characters]
    pages = tuple(Page(number, part) for number, part in enumerate(split(text, wanted.limits.part), 1))
    return Document(wanted.name, wanted.kind, pages=pages, notes=tuple(notes))


def split(text: str, size: int) -> list[str]:
    parts: list[str] = []
    start = 0
    while len(text) - start > size:
        window = text[start : start + size]
        end = next((cut for mark in ("\n\n", "\n", " ") if (cut := window.rfind(mark) + len(mark)) > size // 2), size)
        parts.append(text[start : start + end].strip("\n"))
        start += end
    return [*parts, text[start:].strip("\n")]
