"""Reads PDF files: the text of each page, and each word with its bounding box."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from rightseat.core.errors import NotConfigured, UnreadableFile
from rightseat.data.documents.limits import DocumentLimits
from rightseat.data.values import DocumentPage, ParsedDocument, Word
from rightseat.installation import missing_extra

PointMapper = Callable[[float, float], tuple[float, float]]
"""Maps PDF coordinates (from the lower left, unrotated) to those of the displayed page."""

HYPHEN = "\ufffe"  # PDFium's hyphen at the end of a line; sometimes \x02


def read(data: bytes, name: str, limits: DocumentLimits) -> ParsedDocument:
    try:
        import pypdfium2  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise NotConfigured(f"PDF files need pypdfium2: {missing_extra('openbb')}.") from None
    try:
        with pypdfium2.PdfDocument(data) as file:
            return read_pages(file, name, limits)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise UnreadableFile("It is password-protected.") from None
        raise UnreadableFile("It is damaged, or not a PDF.") from None


def read_pages(file: Any, name: str, limits: DocumentLimits) -> ParsedDocument:
    pages: list[DocumentPage] = []
    notes: list[str] = []
    remaining = limits.characters
    for number in range(1, min(len(file), limits.pages) + 1):
        page = read_page(file[number - 1], number)
        remaining -= len(page.text)
        if remaining < 0:
            break
        pages.append(page)
    if len(pages) < len(file):
        notes.append(f"Only the first {len(pages):,} of {len(file):,} pages were read.")
    if not any(page.text.strip() for page in pages):
        notes.append("The file has no text: its pages are images, most likely scans.")
    return ParsedDocument(name, "pdf", pages=tuple(pages), notes=tuple(notes))


def read_page(page: Any, number: int) -> DocumentPage:
    text = page.get_textpage()
    try:
        return DocumentPage(number, clean_text(text.get_text_range()), tuple(words(text, make_point_mapper(page))))
    finally:
        text.close()
        page.close()


def words(text: Any, map_point: PointMapper) -> Iterator[Word]:
    """Words are separated by white space, including line ends, so each box lies within one line."""
    from pypdfium2 import raw

    handle, count = text.raw, text.count_chars()
    letters: list[str] = []
    for index in range(count + 1):
        letter = chr(raw.FPDFText_GetUnicode(handle, index)) if index < count else " "
        if not (letter.isspace() or letter == "\0"):
            letters.append(letter)
        elif letters:
            if edges := bounding_box(raw, handle, index - len(letters), index - 1, map_point):
                yield Word(clean_text("".join(letters)), *edges)
            letters = []


def bounding_box(raw: Any, handle: Any, first: int, last: int, map_point: PointMapper) -> list[float] | None:
    """The box around the first and last letter. None for letters without a position."""
    corners: list[tuple[float, float]] = []
    rect = raw.FS_RECTF()
    for index in {first, last}:
        if raw.FPDFText_GetLooseCharBox(handle, index, ctypes.byref(rect)):
            corners += (map_point(rect.left, rect.bottom), map_point(rect.right, rect.top))
    if not corners:
        return None
    across, down = zip(*corners, strict=True)
    return [round(edge, 2) for edge in (min(across), min(down), max(across), max(down))]


def make_point_mapper(page: Any) -> PointMapper:
    left, low, right, high = page.get_cropbox()
    match page.get_rotation():
        case 90:
            return lambda x, y: (y - low, x - left)
        case 180:
            return lambda x, y: (right - x, y - low)
        case 270:
            return lambda x, y: (high - y, right - x)
        case _:
            return lambda x, y: (x - left, high - y)


def clean_text(text: str) -> str:
    """Normalise line breaks, hyphens and surrogate pairs."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(HYPHEN, "-").replace("\x02", "-").replace("\0", "")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
