"""How Workspace is told what an answer rests on: the citations of `copilotCitationCollection`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import msgspec

from rightseat.faces.openbb.sources import Source

KINDS = ("widget", "web", "artifact", "direct retrieval")
UNSHOWN = frozenset(
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
"""What Workspace leaves out of a citation's details."""


class Quote(msgspec.Struct, frozen=True):
    """Words that stand in a source, and where: a group of boxes for each place, as Workspace draws them."""

    label: str
    text: str
    pages: tuple[int, ...]
    boxes: list[Any]


def may_be_cited(source: Source) -> bool:
    return source.citable and not source.failed


def cite(source: Source, quotes: Sequence[Quote] = ()) -> list[dict[str, Any]]:
    """The citations of one source at one place of the answer."""
    return [write_citation(source, arguments, quotes) for arguments in split(source)]


def split(source: Source) -> list[Mapping[str, Any]]:
    """The arguments to cite: once, or once for each value of the argument that Workspace wants taken apart."""
    arguments = source.arguments or {}
    values = arguments.get(source.split) if source.split else None
    if source.split is None or not isinstance(values, list) or len(values) < 2:
        return [arguments]
    return [{**arguments, source.split: value} for value in values]


def pass_on(source: Source) -> list[dict[str, Any]]:
    """The citations that came with the data, of whatever the widget itself rests on."""
    return [{**one, "id": str(uuid4())} for one in source.passed_on if is_source(one.get("source_info"))]


def is_source(info: Any) -> bool:
    return isinstance(info, dict) and info.get("type") in KINDS and isinstance(info.get("metadata", {}), dict)


def write_citation(source: Source, arguments: Mapping[str, Any], quotes: Sequence[Quote]) -> dict[str, Any]:
    citation: dict[str, Any] = {"id": str(uuid4()), "source_info": write_source(source, arguments)}
    if details := write_details(source, arguments, quotes):
        citation["details"] = [details]
    if boxes := [group for quote in quotes for group in quote.boxes]:
        citation["quote_bounding_boxes"] = boxes
    return citation


def write_source(source: Source, arguments: Mapping[str, Any]) -> dict[str, Any]:
    info: dict[str, Any] = {"type": source.kind}
    metadata: dict[str, Any] = {"input_args": dict(arguments)} if arguments or source.kind == "widget" else {}
    if source.kind == "artifact" and is_uuid(source.uuid):
        info["uuid"] = source.uuid
    info |= {"origin": source.origin, "widget_id": source.widget_id}
    info |= {"name": source.name, "description": source.description}
    return {name: value for name, value in info.items() if value} | {"metadata": metadata, "citable": True}


def write_details(source: Source, arguments: Mapping[str, Any], quotes: Sequence[Quote]) -> dict[str, Any]:
    if source.link:
        return {"title": source.name, "link": source.link}
    details: dict[str, Any] = {"Name": source.name}
    details |= {name: value for name, value in arguments.items() if name.lower() not in UNSHOWN}
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
