"""Tables and documents as values, exchanged between the server and its child processes."""

import msgspec

from rightseat.core.messages import Image
from rightseat.core.types import JsonValue


class Column(msgspec.Struct, frozen=True):
    """`sql` is the name for queries, quoted if necessary."""

    name: str
    sql: str
    type: str
    original_name: str = ""
    """Its name in the data, if that was changed."""
    nulls: int = 0
    distinct: int | None = None
    low: JsonValue = None
    high: JsonValue = None
    mean: float | None = None
    values: tuple[str, ...] = ()
    """All distinct values, if there are few."""


class DataTable(msgspec.Struct, frozen=True):
    """`title` is its original name, `name` that in SQL."""

    name: str
    title: str
    rows: int
    columns: tuple[Column, ...]
    sample: list[list[JsonValue]]
    notes: tuple[str, ...] = ()
    """Conversions made while reading."""


class SqlResult(msgspec.Struct, frozen=True):
    """The result of a query. `total` is None if there are more rows and counting took too long."""

    columns: tuple[str, ...]
    rows: list[list[JsonValue]]
    total: int | None
    truncated_cells: int = 0
    """The number of truncated cells."""


class Word(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A word and its box, in points from the upper left corner of its page."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float


class DocumentPage(msgspec.Struct, frozen=True):
    """Only PDFs have `words`. Numbers start at 1."""

    number: int
    text: str
    words: tuple[Word, ...] = ()


class Sheet(msgspec.Struct, frozen=True):
    name: str
    header: list[str]
    rows: list[list[JsonValue]]


class ParsedDocument(msgspec.Struct, frozen=True):
    """A parsed file: `pages` of text, `sheets` of rows, or an `image`. `notes` tell what is missing."""

    name: str
    kind: str
    pages: tuple[DocumentPage, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    image: Image | None = None
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The word for its pages: only PDFs have real pages."""
        return "page" if self.kind == "pdf" else "part"

    @property
    def text(self) -> str:
        if len(self.pages) == 1:
            return self.pages[0].text
        return "\n\n".join(f"[{self.unit} {page.number}]\n{page.text}" for page in self.pages)
