"""Builds the citations of `copilotCitationCollection` events."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import msgspec

from rightseat.faces.openbb.citations.sources import CitationSource

KINDS = ("widget", "web", "artifact", "direct retrieval")
HIDDEN_DETAILS = frozenset(
    {
        "lastupdated",
        "source",
        "id",
        "uuid",
        "storedfileuuid",
        "datakey",
        "originalfilename",
        "extension",
        "category",
        "subcategory",
        "transcript_url",
    }
)
"""Keys that Workspace hides in the details of a citation."""


class Quote(msgspec.Struct, frozen=True):
    """A quotation found in a source: one group of bounding boxes per place, as Workspace draws them."""

    label: str
    text: str
    pages: tuple[int, ...]
    boxes: list[Any]


def is_citable_source(source: CitationSource) -> bool:
    return source.citable and not source.has_failed


def write_citations(source: CitationSource, quotes: Sequence[Quote] = ()) -> list[dict[str, Any]]:
    """The citations of one source at one position of the answer."""
    return [write_citation(source, arguments, quotes) for arguments in split_param(source)]


def split_param(source: CitationSource) -> list[Mapping[str, Any]]:
    """The arguments to cite: one set, or one per value of the argument that Workspace wants split."""
    arguments = source.arguments or {}
    values = arguments.get(source.split_param) if source.split_param else None
    if source.split_param is None or not isinstance(values, list) or len(values) < 2:
        return [arguments]
    return [{**arguments, source.split_param: value} for value in values]


def forward_citations(source: CitationSource) -> list[dict[str, Any]]:
    """Forward the citations that came with the data of the widget."""
    return [{**one, "id": str(uuid4())} for one in source.extra_citations if is_source_info(one.get("source_info"))]


def is_source_info(info: Any) -> bool:
    return isinstance(info, dict) and info.get("type") in KINDS and isinstance(info.get("metadata", {}), dict)


def write_citation(source: CitationSource, arguments: Mapping[str, Any], quotes: Sequence[Quote]) -> dict[str, Any]:
    citation: dict[str, Any] = {"id": str(uuid4()), "source_info": write_source(source, arguments)}
    if details := write_details(source, arguments, quotes):
        citation["details"] = [details]
    if boxes := [group for quote in quotes for group in quote.boxes]:
        citation["quote_bounding_boxes"] = boxes
    return citation


def write_source(source: CitationSource, arguments: Mapping[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = {"type": source.kind}
    metadata: dict[str, Any] = {"input_args": dict(arguments)} if arguments or source.kind == "widget" else {}
    if source.kind == "artifact" and is_uuid(source.uuid):
        info["uuid"] = source.uuid
    info |= {"origin": source.origin, "widget_id": source.widget_id}
    info |= {"name": source.name, "description": source.description}
    return {name: value for name, value in info.items() if value} | {"metadata": metadata, "citable": True}


def write_details(source: CitationSource, arguments: Mapping[str, Any], quotes: Sequence[Quote]) -> dict[str, Any]:
    if source.link:
        return {"title": source.name, "link": source.link}
    details: dict[str, Any] = {"Name": source.name}
    details |= {name: value for name, value in arguments.items() if name.lower() not in HIDDEN_DETAILS}
    if quotes:
        pages = list(dict.fromkeys(page for quote in quotes for page in quote.pages))
        details["Page"] = pages[0] if len(pages) == 1 else ", ".join(map(str, pages))
        details["Reference"] = " … ".join(quote.text for quote in quotes)
    return details


def is_uuid(text: str | None) -> bool:
    try:
        return text is not None and bool(UUID(text))
    except ValueError:
        return False
