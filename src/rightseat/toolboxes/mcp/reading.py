"""What an MCP server says of its tools, and what they give → ours."""

import json
import re
from collections.abc import Iterable, Iterator

import mcp_types as types
from pydantic import JsonValue

UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST = 64  # of a name that every provider accepts


def names(tools: Iterable[types.Tool], prefix: str) -> dict[str, types.Tool]:
    """The tools by names that every provider accepts, no two alike."""
    named: dict[str, types.Tool] = {}
    for tool in tools:
        name = wanted = fit(prefix + tool.name)
        number = 2
        while name in named:
            name = f"{wanted[: LONGEST - 4]}_{number}"
            number += 1
        named[name] = tool
    return named


def fit(name: str) -> str:
    return UNFIT.sub("_", name)[:LONGEST] or "_"


def is_read_only(tool: types.Tool) -> bool:
    return tool.annotations is not None and tool.annotations.read_only_hint is True


def is_repeatable(tool: types.Tool) -> bool:
    return is_read_only(tool) or (tool.annotations is not None and tool.annotations.idempotent_hint is True)


def resource_of(tool: types.Tool) -> str | None:
    """The page that shows what the tool gives: MCP Apps."""
    meta = tool.meta or {}
    ui = meta.get("ui")
    uri = ui.get("resourceUri") if isinstance(ui, dict) else meta.get("ui/resourceUri")
    return uri if isinstance(uri, str) else None


def visibility_of(tool: types.Tool) -> tuple[str, ...] | None:
    """Who may see the tool, the model or its page, where the server says so."""
    ui = (tool.meta or {}).get("ui")
    given = ui.get("visibility") if isinstance(ui, dict) else None
    return tuple(map(str, given)) if isinstance(given, list) else None


def is_for_model(tool: types.Tool) -> bool:
    visibility = visibility_of(tool)
    return visibility is None or "model" in visibility


def is_for_pages(tool: types.Tool) -> bool:
    visibility = visibility_of(tool)
    if visibility is not None:
        return "app" in visibility
    return resource_of(tool) is not None or is_read_only(tool)


def text_of(result: types.CallToolResult) -> str:
    """What the model reads: the texts, words for what is no text, and the structured content if no text has it."""
    pieces = [write_block(block) for block in result.content]
    structured: JsonValue = result.structured_content
    if structured is not None and not any(repeats(piece, structured) for piece in [*pieces, "\n".join(pieces)]):
        pieces.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(pieces)


def write_block(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(mime_type=kind, data=data):
            return unread("picture", kind, data)
        case types.AudioContent(mime_type=kind, data=data):
            return unread("recording", kind, data)
        case types.ResourceLink(name=name, uri=uri):
            return f"[a resource, {name}: {uri}]"
        case types.EmbeddedResource(resource=resource):
            return write_contents([resource])


def unread(what: str, kind: str | None, data: str) -> str:
    return f"[a {what} ({kind or 'of unknown kind'}, {len(data) * 3 // 4} bytes), which is not shown here]"


def write_contents(contents: Iterable[types.TextResourceContents | types.BlobResourceContents]) -> str:
    return "\n".join(_written(contents))


def _written(contents: Iterable[types.TextResourceContents | types.BlobResourceContents]) -> Iterator[str]:
    for one in contents:
        if isinstance(one, types.TextResourceContents):
            yield one.text
        else:
            yield unread(f"file, {one.uri}", one.mime_type, one.blob)


def repeats(text: str, structured: JsonValue) -> bool:
    """Is the text that same content? SDKs write it as text too, and wrap what is no object as `result`."""
    inner = structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else structured
    if text == inner:
        return True
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return read in (structured, inner)
