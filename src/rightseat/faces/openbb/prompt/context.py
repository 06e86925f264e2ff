"""Context for the model from a request: data and skills that the user selected, settings, and web pages."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightseat.core.ask import Context
from rightseat.core.errors import RightseatError
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.prompt.results import fence, render
from rightseat.faces.openbb.request.types import ContextItem, Data, DataItem, Query
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import skills
from rightseat.text import truncate

logger = logging.getLogger(__name__)

MAX_METADATA_CHARS = 500
PAGES_TIMEOUT_S = 8.0  # for all pages together, before the first text


async def collect_context(session: Session, controls: Mapping[str, str]) -> tuple[Context, ...]:
    """`controls` are labels of the operator's custom settings."""
    query = session.query
    found = [*settings(query, controls), *skills.selected_skills_context(session)]
    for item in query.context:
        session.artifact_names.append(item.name)
        found.append(await render_context_item(item, session))
    if query.urls:
        found += await asyncio.gather(*(fetch_page(url, session) for url in query.urls))
    return tuple(found)


def settings(query: Query, controls: Mapping[str, str]) -> Iterator[Context]:
    chosen = {label: query.options[name] for name, label in controls.items() if name in query.options}
    if chosen:
        words = {True: "on", False: "off"}
        lines = [f"{label}: {value if isinstance(value, str) else words[value]}" for label, value in chosen.items()]
        yield Context("What the user has set for this chat", "; ".join(lines))


def properties(query: Query) -> dict[str, JsonValue]:
    """The user's settings, for hooks and tools."""
    return {"openbb": {"options": dict(query.options)}}


async def render_context_item(item: ContextItem, session: Session) -> Context:
    source = session.add_source(
        CitationSource(kind="artifact", name=item.name, uuid=item.uuid, description=item.description, is_fresh=False)
    )
    rendered = await render(Data(tuple(map(decode_text, item.data.items))), source, session.files)
    title = f"Source [{source.label}]: {item.name}" + (f" ({item.description})" if item.description else "")
    return Context(title, fence(describe(item.metadata) + rendered.text))


def describe(metadata: Mapping[str, Any]) -> str:
    """One line with the metadata of the widget, such as symbol, period and source."""
    facts = [
        f"{name}={value}" for name, value in metadata.items() if isinstance(value, str | int | float) and value != ""
    ]
    return f"{truncate(', '.join(facts), MAX_METADATA_CHARS)}\n" if facts else ""


def decode_text(item: DataItem) -> DataItem:
    """Decode a text artifact, which comes back as a JSON string."""
    text = item.content
    if item.format.get("parse_as") not in ("html", "text") or text is None or not text.startswith('"'):
        return item
    try:
        found = msgspec.json.decode(text)
    except JSON_ERRORS:
        return item
    return msgspec.structs.replace(item, content=found) if isinstance(found, str) else item


async def fetch_page(url: str, session: Session) -> Context:
    """Fetch a page. A failure becomes context and does not fail the run."""
    source, files = session.add_source(CitationSource(kind="web", name=url, link=url)), session.files
    try:
        async with asyncio.timeout(PAGES_TIMEOUT_S):
            fetched = await files.service.fetch(url)
            document = await files.service.read(fetched.content, fetched.media_type, url)
        rendered = await files.render_document(document, source)
    except TimeoutError:
        return failed_page(source, url, "it takes too long")
    except RightseatError as error:
        logger.info("chat %s: cannot open a page: %s", session.query.trace_id, error)
        return failed_page(source, url, error.message)
    return Context(f"Source [{source.label}]: the page {url}", fence(rendered.text))


def failed_page(source: CitationSource, url: str, reason: str) -> Context:
    source.has_failed = True
    return Context(f"The page {url}", f"It could not be opened: {reason}")
