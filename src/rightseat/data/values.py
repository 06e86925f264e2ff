"""Tables and documents as values: they go between the server and the child that makes them."""

import msgspec

from rightseat.core.messages import Image
from rightseat.core.values import JsonValue


class Column(msgspec.Struct, frozen=True):
    """`sql` is the name as it is written in a query, with quotation marks where it needs them."""

    name: str
    sql: str
    type: str
    was: str = ""
    """What the data calls it, where that could not be the name of a column."""
    nulls: int = 0
    distinct: int | None = None
    low: JsonValue = None
    high: JsonValue = None
    mean: float | None = None
    values: tuple[str, ...] = ()
    """All of them, where there are few."""


class Table(msgspec.Struct, frozen=True):
    """`title` is what it was called; `name` is what SQL calls it."""

    name: str
    title: str
    rows: int
    columns: tuple[Column, ...]
    sample: list[list[JsonValue]]
    notes: tuple[str, ...] = ()
    """What was read otherwise than it was written."""


class Answer(msgspec.Struct, frozen=True):
    """The result of a query. `total` is None where there are more rows and nobody has counted them."""

    columns: tuple[str, ...]
    rows: list[list[JsonValue]]
    total: int | None
    shortened: int = 0
    """How many cells were cut."""


class Word(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A word and its box, in points from the upper left corner of its page."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float


class Page(msgspec.Struct, frozen=True):
    """`words` are known of a PDF only. Numbers begin with 1."""

    number: int
    text: str
    words: tuple[Word, ...] = ()


class Sheet(msgspec.Struct, frozen=True):
    name: str
    header: list[str]
    rows: list[list[JsonValue]]


class Document(msgspec.Struct, frozen=True):
    """A file that was read: `pages` of text, `sheets` of rows, or an `image`. `notes` say what is lacking."""

    name: str
    kind: str
    pages: tuple[Page, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    image: Image | None = None
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What its pages are called: only a PDF has pages of its own."""
        return "page" if self.kind == "pdf" else "part"

    @property
    def text(self) -> str:
        if len(self.pages) == 1:
            return self.pages[0].text
        return "\n\n".join(f"[{self.unit} {page.number}]\n{page.text}" for page in self.pages)
