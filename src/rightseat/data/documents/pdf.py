"""PDF files: the text of each page, and each word with its box."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from rightseat.core.errors import Misuse, Unreadable
from rightseat.data.documents.limits import Limits
from rightseat.data.values import Document, Page, Word

Place = Callable[[float, float], tuple[float, float]]
"""From a point of the file (from the lower left, before the page is turned) to one of the page as it is shown."""

HYPHEN = "\ufffe"  # how PDFium writes a hyphen at the end of a line, and sometimes \x02


def read(data: bytes, name: str, limits: Limits) -> Document:
    try:
        import pypdfium2  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise Misuse("PDF files need pypdfium2: pip install 'rightseat[openbb]'.") from None
    try:
        with pypdfium2.PdfDocument(data) as file:
            return read_pages(file, name, limits)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise Unreadable("It is locked with a password.") from None
        raise Unreadable("It is broken, or no PDF at all.") from None


def read_pages(file: Any, name: str, limits: Limits) -> Document:
    pages: list[Page] = []
    notes: list[str] = []
    room = limits.characters
    for number in range(1, min(len(file), limits.pages) + 1):
        page = read_page(file[number - 1], number)
        room -= len(page.text)
        if room < 0:
            break
        pages.append(page)
    if len(pages) < len(file):
        notes.append(f"Only the first {len(pages):,} of {len(file):,} pages were read.")
    if not any(page.text.strip() for page in pages):
        notes.append("The file holds no text: its pages are pictures, most likely scans.")
    return Document(name, "pdf", pages=tuple(pages), notes=tuple(notes))


def read_page(page: Any, number: int) -> Page:
    text = page.get_textpage()
    try:
        return Page(number, plain(text.get_text_range()), tuple(words(text, placing(page))))
    finally:
        text.close()
        page.close()


def words(text: Any, place: Place) -> Iterator[Word]:
    """What stands between white space. A line's end is white space too, so no box goes around a corner."""
    from pypdfium2 import raw

    handle, count = text.raw, text.count_chars()
    letters: list[str] = []
    for index in range(count + 1):
        letter = chr(raw.FPDFText_GetUnicode(handle, index)) if index < count else " "
        if not (letter.isspace() or letter == "\0"):
            letters.append(letter)
        elif letters:
            if edges := box(raw, handle, index - len(letters), index - 1, place):
                yield Word(plain("".join(letters)), *edges)
            letters = []


def box(raw: Any, handle: Any, first: int, last: int, place: Place) -> list[float] | None:
    """Around the first and the last letter, and so around those between them. None for letters without a place."""
    corners: list[tuple[float, float]] = []
    rect = raw.FS_RECTF()
    for index in {first, last}:
        if raw.FPDFText_GetLooseCharBox(handle, index, ctypes.byref(rect)):
            corners += (place(rect.left, rect.bottom), place(rect.right, rect.top))
    if not corners:
        return None
    across, down = zip(*corners, strict=True)
    return [round(edge, 2) for edge in (min(across), min(down), max(across), max(down))]


def placing(page: Any) -> Place:
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


def plain(text: str) -> str:
    """With line breaks as one character, hyphens as hyphens, and letters of two halves joined."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(HYPHEN, "-").replace("\x02", "-").replace("\0", "")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
