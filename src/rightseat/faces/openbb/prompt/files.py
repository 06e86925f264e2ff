"""Fetches and reads files and long data, and renders them for the model within a byte budget.

The parsers and the SQL engine are large, so they are imported on first use.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import msgspec

from rightseat.core.errors import NotConfigured, UnreadableFile
from rightseat.core.messages import Image
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.request.types import DataItem

if TYPE_CHECKING:
    from rightseat.data.documents import DocumentReader, ParsedDocument, Sheet
    from rightseat.data.tables import Tables, TableSource
    from rightseat.egress.fetch import FetchedFile, Fetcher

logger = logging.getLogger(__name__)

MIN_SHOWN_BYTES = 600
"""Bytes shown of any data, even if the budget is used up."""

MAX_DATABASES = 16
"""Concurrent answers with tables, each in its own process; others wait."""

MAX_TABLE_DESCRIPTION_CHARS = 4_000
"""Characters of the description of a table."""


@dataclass(slots=True)
class RenderedData:
    """Data as text for the model. `error` is an error code; then `text` has the reason."""

    text: str
    error: str | None = None
    images: list[Image] = field(default_factory=list)


class FileService:
    """Fetches and parses files, shared by all requests to limit concurrency."""

    def __init__(self, allow_private_hosts: tuple[str, ...] = ()) -> None:
        self._allow_private_hosts = allow_private_hosts
        self._database_slots = asyncio.Semaphore(MAX_DATABASES)
        self._reader: DocumentReader | None = None
        self._fetcher: Fetcher | None = None

    async def read(self, content: bytes | str, kind: str, name: str) -> "ParsedDocument":
        """Raises `UnreadableFile`."""
        if self._reader is None:
            self._reader = import_module("rightseat.data.documents").DocumentReader()
        return await self._reader.read(content, kind, name)

    def tables(self) -> "Tables":
        return cast("Tables", tables().Tables(slots=self._database_slots))

    async def fetch(self, url: str) -> "FetchedFile":
        """Raises `AddressForbidden` and `FetchFailed`."""
        if self._fetcher is None:
            fetch = import_module("rightseat.egress.fetch")
            self._fetcher = fetch.Fetcher(fetch.AddressPolicy(allow=self._allow_private_hosts))
        return await self._fetcher.get(url)


class RequestFiles:
    """Renders the data of one request and owns the tables made from it.

    `remaining_bytes` is how much data the model may still be shown; `notes` collects notes for the user.
    """

    def __init__(self, service: FileService, remaining_bytes: int, notes: list[str]) -> None:
        self.service = service
        self.remaining_bytes = remaining_bytes
        self.tables: Tables | None = None
        self._notes = notes
        self._max_inline_bytes = remaining_bytes // 8
        self._max_text_bytes = remaining_bytes // 3

    def reserve_if_short(self, text: str) -> bool:
        """Whether the text is short enough to be shown unchanged; if so, reserve its bytes."""
        size = len(text.encode())
        if size > self._max_inline_bytes or size > self.remaining_bytes:
            return False
        self.remaining_bytes -= size
        return True

    async def render(self, item: DataItem, kind: str, source: CitationSource) -> RenderedData:
        name = filename_of(item) or source.name
        if item.url is not None:
            fetched = await self.service.fetch(item.url)
            document = await self.service.read(fetched.content, kind or fetched.media_type, name)
        elif kind in ("", "object", "text", "json"):
            return await self._table_or_text(item.content or "", name)
        else:
            document = await self.service.read(item.content or "", kind, name)
        return await self.render_document(document, source)

    async def render_document(self, document: "ParsedDocument", source: CitationSource) -> RenderedData:
        source.documents.append(document)
        parts = [await self._render_sheet(sheet, document.name, source) for sheet in document.sheets]
        if document.pages:
            parts.append(self._truncate(document.text, f"read_document gives them, for the document {document.name}"))
        images = [document.image] if document.image is not None else []
        if images:
            parts.append(f"The picture {document.name} follows.")
        notes = [f"({note})" for note in document.notes]
        return RenderedData("\n\n".join([*parts, *notes]) or "(empty)", images=images)

    async def _table_or_text(self, text: str, name: str) -> RenderedData:
        reason = "they cannot be shown"
        if text.lstrip()[:1] in ("[", "{"):
            try:
                return RenderedData(await self._describe_table(name, tables().JsonText(text), text))
            except UnreadableFile as error:
                reason = error.message.rstrip(".")
        return RenderedData(self._truncate(text, reason))

    async def _render_sheet(self, sheet: "Sheet", name: str, source: CitationSource) -> str:
        rows = [dict(zip(sheet.header, row, strict=False)) for row in sheet.rows]
        text = msgspec.json.encode(rows).decode()
        if self.reserve_if_short(text):
            source.texts.append(text)
            return text
        return await self._describe_table(f"{name} {sheet.name}".strip(), sheet, text)

    async def _describe_table(self, name: str, data: "TableSource", text: str) -> str:
        """Describe the data as a table; without DuckDB, truncate the text instead."""
        if self.tables is None:
            self.tables = self.service.tables()
        try:
            table = await self.tables.add(name, data)
        except NotConfigured as error:
            logger.warning("truncated the data of %s: %s", name, error.message)
            self._notes.append(f"Only a part of {name} can be read. {error.message}")
            await self.aclose()
            self.tables = None
            return self._truncate(text, error.message.rstrip("."))
        found: str = tables().describe_table(
            table, max_chars=max(min(MAX_TABLE_DESCRIPTION_CHARS, self.remaining_bytes), MIN_SHOWN_BYTES)
        )
        self.remaining_bytes -= len(found.encode())
        return found

    async def aclose(self) -> None:
        if self.tables is not None:
            await self.tables.aclose()

    def _truncate(self, text: str, more: str) -> str:
        token_budget = import_module("rightseat.data.token_budget")
        found: str = token_budget.truncate_middle(
            text, max(min(self._max_text_bytes, self.remaining_bytes), MIN_SHOWN_BYTES), more
        )
        self.remaining_bytes -= len(found.encode())
        return found


def tables() -> Any:
    return import_module("rightseat.data.tables")


def filename_of(item: DataItem) -> str:
    found = item.format.get("filename")
    return found if isinstance(found, str) else ""
