"""Data that is long or lies elsewhere: fetched, read, and shown to the model as far as there is room.

What reads files and runs SQL is large, so it is imported when the first such data comes.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import msgspec

from rightseat.core.errors import Misuse, Unreadable
from rightseat.core.messages import Image
from rightseat.faces.openbb.asking import Item
from rightseat.faces.openbb.sources import Source

if TYPE_CHECKING:
    from rightseat.data.documents import Document, Reader, Sheet
    from rightseat.data.tables import Source as Rows
    from rightseat.data.tables import Tables
    from rightseat.egress.fetching import Fetched, Fetcher

logger = logging.getLogger(__name__)

LEAST = 600
"""Bytes that are shown of anything, however little room is left."""

DATABASES = 16
"""Answers that may have tables at one time, each in a process of its own; others wait for their turn."""

DESCRIBED = 4_000
"""Characters that describe a table."""


@dataclass(slots=True)
class Shown:
    """`error` is a code where there is no data: then `text` says why."""

    text: str
    error: str | None = None
    images: list[Image] = field(default_factory=list)


class Library:
    """What fetches and reads files, one for all requests: it sees to it that few are read at once."""

    def __init__(self, addresses: tuple[str, ...] = ()) -> None:
        self._addresses = addresses
        self._places = asyncio.Semaphore(DATABASES)
        self._reader: Reader | None = None
        self._fetcher: Fetcher | None = None

    async def read(self, content: bytes | str, kind: str, name: str) -> "Document":
        """Raises `Unreadable`."""
        if self._reader is None:
            self._reader = import_module("rightseat.data.documents").Reader()
        return await self._reader.read(content, kind, name)

    def tables(self) -> "Tables":
        return cast("Tables", tables().Tables(places=self._places))

    async def fetch(self, url: str) -> "Fetched":
        """Raises `AddressForbidden` and `FetchFailed`."""
        if self._fetcher is None:
            fetching = import_module("rightseat.egress.fetching")
            self._fetcher = fetching.Fetcher(fetching.Policy(allow=self._addresses))
        return await self._fetcher.get(url)


class Files:
    """Shows the data of one request, and keeps the tables that are made of it.

    `room` is how many bytes of data the model can still be shown; `notes` gets what the user should know about it.
    """

    def __init__(self, library: Library, room: int, notes: list[str]) -> None:
        self.library = library
        self.room = room
        self.tables: Tables | None = None
        self._notes = notes
        self._whole = room // 8
        self._text = room // 3

    def is_short(self, text: str) -> bool:
        """Short enough to be read as it is; then it takes its room."""
        size = len(text.encode())
        if size > self._whole or size > self.room:
            return False
        self.room -= size
        return True

    async def show(self, item: Item, kind: str, source: Source) -> Shown:
        name = filename(item) or source.name
        if item.url is not None:
            fetched = await self.library.fetch(item.url)
            document = await self.library.read(fetched.content, kind or fetched.media_type, name)
        elif kind in ("", "object", "text", "json"):
            return await self._table_or_text(item.content or "", name)
        else:
            document = await self.library.read(item.content or "", kind, name)
        return await self.show_document(document, source)

    async def show_document(self, document: "Document", source: Source) -> Shown:
        source.documents.append(document)
        parts = [await self._sheet(sheet, document.name, source) for sheet in document.sheets]
        if document.pages:
            parts.append(self._cut(document.text, f"read_document gives them, for the document {document.name}"))
        images = [document.image] if document.image is not None else []
        if images:
            parts.append(f"The picture {document.name} follows.")
        notes = [f"({note})" for note in document.notes]
        return Shown("\n\n".join([*parts, *notes]) or "(empty)", images=images)

    async def _table_or_text(self, text: str, name: str) -> Shown:
        why = "they cannot be shown"
        if text.lstrip()[:1] in ("[", "{"):
            try:
                return Shown(await self._described(name, tables().JsonText(text), text))
            except Unreadable as error:
                why = error.message.rstrip(".")
        return Shown(self._cut(text, why))

    async def _sheet(self, sheet: "Sheet", name: str, source: Source) -> str:
        rows = [dict(zip(sheet.header, row, strict=False)) for row in sheet.rows]
        text = msgspec.json.encode(rows).decode()
        if self.is_short(text):
            source.texts.append(text)
            return text
        return await self._described(f"{name} {sheet.name}".strip(), sheet, text)

    async def _described(self, name: str, data: "Rows", text: str) -> str:
        """As a table; where what reads tables is not installed, as much of the text as there is room for."""
        if self.tables is None:
            self.tables = self.library.tables()
        try:
            table = await self.tables.add(name, data)
        except Misuse as error:
            logger.warning("the data of %s was cut: %s", name, error.message)
            self._notes.append(f"Only a part of {name} can be read. {error.message}")
            await self.aclose()
            self.tables = None
            return self._cut(text, error.message.rstrip("."))
        found: str = tables().describe(table, characters=max(min(DESCRIBED, self.room), LEAST))
        self.room -= len(found.encode())
        return found

    async def aclose(self) -> None:
        if self.tables is not None:
            await self.tables.aclose()

    def _cut(self, text: str, more: str) -> str:
        fitting = import_module("rightseat.data.fitting")
        found: str = fitting.cut(text, max(min(self._text, self.room), LEAST), more)
        self.room -= len(found.encode())
        return found


def tables() -> Any:
    return import_module("rightseat.data.tables")


def filename(item: Item) -> str:
    found = item.format.get("filename")
    return found if isinstance(found, str) else ""
