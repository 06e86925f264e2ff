"""What came back from Workspace → what the model reads of it: short data as it is, long data as a table."""

import asyncio
import logging
from typing import Any

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.values import JSON_ERRORS
from rightseat.faces.openbb.asking import Datum, Done, Failure, Item
from rightseat.faces.openbb.files import Files, Shown
from rightseat.faces.openbb.sources import Source

logger = logging.getLogger(__name__)

PLAIN = ("", "object", "txt", "md", "html", "json", "text")
"""Kinds of data that are read as they are, where they are short."""


async def show(datum: Datum, source: Source, files: Files) -> Shown:
    """Never fails: what cannot be read is told to the model."""
    if isinstance(datum, Failure):
        source.failed = True
        return Shown(f"It could not be read: {datum.text}", "client_failed")
    if isinstance(datum, Done):
        failed = datum.status == "error"
        return Shown(as_text(datum.value), "client_failed" if failed else None)
    parts = await asyncio.gather(*(show_item(item, source, files) for item in datum.items))
    source.citable = source.citable and any(item.citable for item in datum.items)
    source.passed_on = datum.passed_on
    source.failed = bool(parts) and all(part.error for part in parts)
    return joined(parts)


def fenced(text: str) -> str:
    """What others wrote, between marks: the model is told that it is data, and no order of the user's.

    So the end mark must not stand in it.
    """
    return "<data>\n{}\n</data>".format(text.replace("</data", "<\\/data"))


def joined(parts: list[Shown]) -> Shown:
    if not parts:
        return Shown("There is no data.")
    errors = [part.error for part in parts if part.error]
    images = [image for part in parts for image in part.images]
    return Shown("\n\n".join(part.text for part in parts), errors[0] if len(errors) == len(parts) else None, images)


async def show_item(item: Item, source: Source, files: Files) -> Shown:
    if failure := hidden_failure(item):
        return Shown(f"It failed: {failure}", "client_failed")
    kind = kind_of(item)
    if item.url is None and kind in PLAIN and files.is_short(item.content or ""):
        source.texts.append(item.content or "")
        return Shown(item.content or "(empty)")
    try:
        return await files.show(item, kind, source)
    except RightseatError as error:
        logger.info("the data of %s cannot be read: %s", source.name, error)
        return Shown(f"It could not be read: {error.message}", error.code)


def hidden_failure(item: Item) -> str | None:
    """Workspace puts the failure of an MCP tool into the text of a result."""
    text = item.content
    if text is None or "error_type" not in text[:200] or not text.lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(text)
    except JSON_ERRORS:
        return None
    return as_text(found.get("content")) if isinstance(found, dict) and "error_type" in found else None


def kind_of(item: Item) -> str:
    kind = item.format.get("data_type")
    return kind if isinstance(kind, str) else ""


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
