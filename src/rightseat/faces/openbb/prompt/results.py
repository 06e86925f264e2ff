"""Renders results of Workspace for the model: short data unchanged, long data as a table."""

import asyncio
import logging
from typing import Any

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.types import JSON_ERRORS
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.prompt.files import RenderedData, RequestFiles
from rightseat.faces.openbb.request.types import CommandResult, DataFailure, DataItem, Datum

logger = logging.getLogger(__name__)

MAX_ITEMS = 100
"""Of one result. Each may become a table of its own, which takes some milliseconds."""
PLAIN_TYPES = ("", "object", "txt", "md", "html", "json", "text")
"""Data types that are shown unchanged if short."""


async def render(datum: Datum, source: CitationSource, files: RequestFiles) -> RenderedData:
    """Never fails: the model gets the error instead."""
    if isinstance(datum, DataFailure):
        source.has_failed = True
        return RenderedData(f"It could not be read: {datum.text}", "client_failed")
    if isinstance(datum, CommandResult):
        has_failed = datum.status == "error"
        return RenderedData(as_text(datum.value), "client_failed" if has_failed else None)
    parts = await asyncio.gather(*(render_item(item, source, files) for item in datum.items[:MAX_ITEMS]))
    source.citable = source.citable and any(item.citable for item in datum.items)
    source.extra_citations = datum.extra_citations
    source.has_failed = bool(parts) and all(part.error for part in parts)
    if left := len(datum.items) - len(parts):
        parts.append(RenderedData(f"({left:,} more items of this result are not shown: the limit is {MAX_ITEMS}.)"))
    return join(parts)


def fence(text: str) -> str:
    """Mark untrusted text as data, not instructions. The end tag is escaped inside it."""
    return "<data>\n{}\n</data>".format(text.replace("</data", "<\\/data"))


def join(parts: list[RenderedData]) -> RenderedData:
    if not parts:
        return RenderedData("There is no data.")
    errors = [part.error for part in parts if part.error]
    images = [image for part in parts for image in part.images]
    return RenderedData(
        "\n\n".join(part.text for part in parts), errors[0] if len(errors) == len(parts) else None, images
    )


async def render_item(item: DataItem, source: CitationSource, files: RequestFiles) -> RenderedData:
    if failure := embedded_error(item):
        return RenderedData(f"It failed: {failure}", "client_failed")
    kind = data_type_of(item)
    if item.url is None and kind in PLAIN_TYPES and files.reserve_if_short(item.content or ""):
        source.texts.append(item.content or "")
        return RenderedData(item.content or "(empty)")
    try:
        return await files.render(item, kind, source)
    except RightseatError as error:
        logger.info("cannot read the data of %s: %s", source.name, error)
        return RenderedData(f"It could not be read: {error.message}", error.code)


def embedded_error(item: DataItem) -> str | None:
    """Workspace reports the failure of an MCP tool inside the text of a result."""
    text = item.content
    if text is None or "error_type" not in text[:200] or not text.lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(text)
    except JSON_ERRORS:
        return None
    return as_text(found.get("content")) if isinstance(found, dict) and "error_type" in found else None


def data_type_of(item: DataItem) -> str:
    kind = item.format.get("data_type")
    return kind if isinstance(kind, str) else ""


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
