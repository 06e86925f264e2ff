"""Fetches attached files for an agent that takes files directly, and adds them to the question.

A model requests the files that it wants to read. An agent without function calls cannot, so the files are fetched
before it starts.
"""

import base64
import logging
import mimetypes
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightseat.core.errors import RightseatError, UnreadableFile
from rightseat.core.ids import new_id
from rightseat.core.messages import File, Image, Message
from rightseat.data.documents.charset import decode
from rightseat.data.documents.kinds import find_kind
from rightseat.faces.openbb.prompt.files import FileService, filename_of
from rightseat.faces.openbb.prompt.history import IMAGES_NOTE
from rightseat.faces.openbb.prompt.results import embedded_error
from rightseat.faces.openbb.request.state import CarriedCall
from rightseat.faces.openbb.request.types import Data, DataItem, FunctionCall, FunctionResult, Query, Widget
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools.widgets import GET_WIDGET_DATA

logger = logging.getLogger(__name__)

AttachmentKey = tuple[str, str]
"""Origin and id of a file."""


def missing_files(session: Session) -> list[CarriedCall]:
    """Tool calls, as a model would make them, for the attached files that are not in the chat yet."""
    query = session.query
    if session.is_legacy or isinstance(query.messages[-1], FunctionResult):
        return []
    known = {key for key, _ in read_results(query)}
    tools = [one for one in session.catalog.widget_tools if is_file(one.widget) and key_of(one.widget) not in known]
    return [CarriedCall(new_id("call"), one.name, "{}") for one in tools]


def is_file(widget: Widget) -> bool:
    """Attached files have no uuid; files on the dashboard have `originalFilename`."""
    return widget.group == "primary" and (not widget.raw.get("uuid") or "originalFilename" in widget.metadata)


def key_of(widget: Widget) -> AttachmentKey:
    return widget.origin, widget.widget_id


def read_results(query: Query) -> Iterator[tuple[AttachmentKey, Any]]:
    """The files read in this chat, with their data."""
    called: FunctionCall | None = None
    for entry in query.messages:
        if isinstance(entry, FunctionResult) and entry.function == GET_WIDGET_DATA:
            arguments = entry.arguments or (called.arguments if called else {})
            for number, source in enumerate(sources(arguments)):
                datum = entry.data[number] if number < len(entry.data) else None
                yield (str(source.get("origin") or ""), str(source.get("id") or "")), datum
        called = entry if isinstance(entry, FunctionCall) else None


def sources(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = arguments.get("data_sources")
    return [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else []


async def attach_files(messages: tuple[Message, ...], session: Session) -> tuple[Message, ...]:
    """Add the files to the last question, and remove the calls that fetched them."""
    files = {key_of(widget): widget for widget in session.query.widgets if is_file(widget)}
    parts: list[File | Image] = []
    for key, datum in read_results(session.query):
        if key in files and isinstance(datum, Data):
            parts += [part for item in datum.items if (part := await read_file(item, files[key], session))]
    chat = [one for one in messages if one.role != "tool" and one.text and one.text != IMAGES_NOTE]
    place = next((at for at in range(len(chat) - 1, -1, -1) if chat[at].role == "user"), None)
    if place is None or not parts:
        return messages
    chat[place] = msgspec.structs.replace(chat[place], parts=(*chat[place].parts, *parts))
    return tuple(chat)


async def read_file(item: DataItem, widget: Widget, session: Session) -> File | Image | None:
    """None if the file cannot be read; the user gets a note."""
    name = filename_of(item) or str(widget.metadata.get("originalFilename") or widget.name)
    try:
        content, media_type = await content_of(item, name, session.files.service)
    except RightseatError as error:
        logger.info("chat %s: cannot read the file %s: %s", session.query.trace_id, name, error)
        session.notes.append(f"The file {name} could not be read. {error.message}")
        return None
    data = base64.b64encode(content).decode()
    if media_type.startswith("image/"):
        return Image(media_type, data, name=name)
    return File("document", media_type, data, name=name)


async def content_of(item: DataItem, name: str, service: FileService) -> tuple[bytes, str]:
    guess = mimetypes.guess_type(name)[0]
    if item.url is not None:
        fetched = await service.fetch(item.url)
        return fetched.content, guess or fetched.media_type
    if failure := embedded_error(item):
        raise UnreadableFile(failure)
    kind = item.format.get("data_type")
    return decode(item.content or "", find_kind(kind if isinstance(kind, str) else "", name)), guess or "text/plain"
