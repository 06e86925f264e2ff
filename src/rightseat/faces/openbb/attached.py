"""Files that the user attached, for an agent that takes them as they are: asked for, and put beside the question.

A model asks for what it wants to read. An agent without one cannot, so what is attached is fetched before it begins.
"""

import base64
import logging
import mimetypes
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightseat.core.errors import RightseatError, Unreadable
from rightseat.core.ids import new_id
from rightseat.core.messages import File, Image, Message
from rightseat.data.documents.encoding import decode
from rightseat.data.documents.kinds import find_kind
from rightseat.faces.openbb.asking import Called, Data, Item, Query, Returned, Widget
from rightseat.faces.openbb.files import Library, filename
from rightseat.faces.openbb.history import PICTURES
from rightseat.faces.openbb.results import hidden_failure
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.state import Made
from rightseat.faces.openbb.widgets import READ

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Where a file is from, and its id there."""


def missing(session: Session) -> list[Made]:
    """Calls that read the attached files which the chat has not brought yet, as a model would make them."""
    query = session.query
    if session.legacy or isinstance(query.messages[-1], Returned):
        return []
    known = {key for key, _ in brought(query)}
    reads = [one for one in session.catalogue.reads if is_file(one.widget) and key_of(one.widget) not in known]
    return [Made(new_id("call"), one.name, "{}") for one in reads]


def is_file(widget: Widget) -> bool:
    """Workspace gives an attached file no uuid; one that lies on the dashboard says what it was called."""
    return widget.group == "primary" and (not widget.raw.get("uuid") or "originalFilename" in widget.metadata)


def key_of(widget: Widget) -> Key:
    return widget.origin, widget.widget_id


def brought(query: Query) -> Iterator[tuple[Key, Any]]:
    """What was read in this chat, and what came of it."""
    called: Called | None = None
    for entry in query.messages:
        if isinstance(entry, Returned) and entry.function == READ:
            arguments = entry.arguments or (called.arguments if called else {})
            for number, source in enumerate(sources(arguments)):
                datum = entry.data[number] if number < len(entry.data) else None
                yield (str(source.get("origin") or ""), str(source.get("id") or "")), datum
        called = entry if isinstance(entry, Called) else None


def sources(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = arguments.get("data_sources")
    return [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else []


async def beside(messages: tuple[Message, ...], session: Session) -> tuple[Message, ...]:
    """The conversation with the files at its last question, and without the calls that brought them."""
    files = {key_of(widget): widget for widget in session.query.widgets if is_file(widget)}
    parts: list[File | Image] = []
    for key, datum in brought(session.query):
        if key in files and isinstance(datum, Data):
            parts += [part for item in datum.items if (part := await read(item, files[key], session))]
    said = [one for one in messages if one.role != "tool" and one.text and one.text != PICTURES]
    place = next((at for at in range(len(said) - 1, -1, -1) if said[at].role == "user"), None)
    if place is None or not parts:
        return messages
    said[place] = msgspec.structs.replace(said[place], parts=(*said[place].parts, *parts))
    return tuple(said)


async def read(item: Item, widget: Widget, session: Session) -> File | Image | None:
    """None where it cannot be had: the user is told."""
    name = filename(item) or str(widget.metadata.get("originalFilename") or widget.name)
    try:
        content, media_type = await content_of(item, name, session.files.library)
    except RightseatError as error:
        logger.info("chat %s: the file %s cannot be read: %s", session.query.trace_id, name, error)
        session.notes.append(f"The file {name} could not be read. {error.message}")
        return None
    data = base64.b64encode(content).decode()
    if media_type.startswith("image/"):
        return Image(media_type, data, name=name)
    return File("document", media_type, data, name=name)


async def content_of(item: Item, name: str, library: Library) -> tuple[bytes, str]:
    guess = mimetypes.guess_type(name)[0]
    if item.url is not None:
        fetched = await library.fetch(item.url)
        return fetched.content, guess or fetched.media_type
    if failure := hidden_failure(item):
        raise Unreadable(failure)
    kind = item.format.get("data_type")
    return decode(item.content or "", find_kind(kind if isinstance(kind, str) else "", name)), guess or "text/plain"
