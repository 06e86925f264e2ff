"""What a request brings along for the model to know: data that the user picked, pages that the user named, skills."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightseat.core.ask import Context
from rightseat.core.errors import RightseatError
from rightseat.core.text import truncate
from rightseat.core.values import JSON_ERRORS, JsonValue
from rightseat.faces.openbb import skills
from rightseat.faces.openbb.asking import Data, Fact, Item, Query
from rightseat.faces.openbb.results import fenced, show
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.sources import Source

logger = logging.getLogger(__name__)

METADATA_CHARACTERS = 500
PATIENCE = 8.0  # seconds for all pages together: the user waits for the first word


async def of(session: Session, controls: Mapping[str, str]) -> tuple[Context, ...]:
    """`controls` are the operator's own settings that the user may change, with what they are called."""
    query = session.query
    found = [*settings(query, controls), *skills.context(session)]
    for fact in query.context:
        session.names.append(fact.name)
        found.append(await known(fact, session))
    if query.urls:
        found += await asyncio.gather(*(page(url, session) for url in query.urls))
    return tuple(found)


def settings(query: Query, controls: Mapping[str, str]) -> Iterator[Context]:
    chosen = {label: query.options[name] for name, label in controls.items() if name in query.options}
    if chosen:
        words = {True: "on", False: "off"}
        lines = [f"{label}: {value if isinstance(value, str) else words[value]}" for label, value in chosen.items()]
        yield Context("What the user has set for this chat", "; ".join(lines))


def properties(query: Query) -> dict[str, JsonValue]:
    """For hooks and tools: what the user has set."""
    return {"openbb": {"options": dict(query.options)}}


async def known(fact: Fact, session: Session) -> Context:
    source = session.add(
        Source(kind="artifact", name=fact.name, uuid=fact.uuid, description=fact.description, fresh=False)
    )
    shown = await show(Data(tuple(map(plain, fact.data.items))), source, session.files)
    title = f"Source [{source.label}]: {fact.name}" + (f" ({fact.description})" if fact.description else "")
    return Context(title, fenced(describe(fact.metadata) + shown.text))


def describe(metadata: Mapping[str, Any]) -> str:
    """One line of the widget's own facts, such as its symbol, period and source, above its data."""
    facts = [
        f"{name}={value}" for name, value in metadata.items() if isinstance(value, str | int | float) and value != ""
    ]
    return f"{truncate(', '.join(facts), METADATA_CHARACTERS)}\n" if facts else ""


def plain(item: Item) -> Item:
    """A text that an answer made comes back as JSON."""
    text = item.content
    if item.format.get("parse_as") not in ("html", "text") or text is None or not text.startswith('"'):
        return item
    try:
        found = msgspec.json.decode(text)
    except JSON_ERRORS:
        return item
    return msgspec.structs.replace(item, content=found) if isinstance(found, str) else item


async def page(url: str, session: Session) -> Context:
    """A page that cannot be had is no reason not to answer."""
    source, files = session.add(Source(kind="web", name=url, link=url)), session.files
    try:
        async with asyncio.timeout(PATIENCE):
            fetched = await files.library.fetch(url)
            document = await files.library.read(fetched.content, fetched.media_type, url)
        shown = await files.show_document(document, source)
    except TimeoutError:
        return unopened(source, url, "it takes too long")
    except RightseatError as error:
        logger.info("chat %s: a page could not be opened: %s", session.query.trace_id, error)
        return unopened(source, url, error.message)
    return Context(f"Source [{source.label}]: the page {url}", fenced(shown.text))


def unopened(source: Source, url: str, why: str) -> Context:
    source.failed = True
    return Context(f"The page {url}", f"It could not be opened: {why}")
