"""Converts the tools of MCP servers, and the results of their calls."""

import json
import re
from collections.abc import Iterable, Iterator

import mcp_types as types
from pydantic import JsonValue

INVALID_CHARS = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME_CHARS = 64  # of a name that every provider accepts


def names(tools: Iterable[types.Tool], prefix: str) -> dict[str, types.Tool]:
    """The tools by names that every provider accepts, no two alike."""
    tools_by_name: dict[str, types.Tool] = {}
    for tool in tools:
        name = wanted = clean_name(prefix + tool.name)
        number = 2
        while name in tools_by_name:
            name = f"{wanted[: MAX_NAME_CHARS - 4]}_{number}"
            number += 1
        tools_by_name[name] = tool
    return tools_by_name


def clean_name(name: str) -> str:
    return INVALID_CHARS.sub("_", name)[:MAX_NAME_CHARS] or "_"


def is_read_only(tool: types.Tool) -> bool:
    return tool.annotations is not None and tool.annotations.read_only_hint is True


def is_repeatable(tool: types.Tool) -> bool:
    return is_read_only(tool) or (tool.annotations is not None and tool.annotations.idempotent_hint is True)


def resource_of(tool: types.Tool) -> str | None:
    """The page that shows the result of the tool (MCP Apps)."""
    meta = tool.meta or {}
    ui = meta.get("ui")
    uri = ui.get("resourceUri") if isinstance(ui, dict) else meta.get("ui/resourceUri")
    return uri if isinstance(uri, str) else None


def visibility_of(tool: types.Tool) -> tuple[str, ...] | None:
    """Whether the model or its page may see the tool, if the server declares it."""
    ui = (tool.meta or {}).get("ui")
    values = ui.get("visibility") if isinstance(ui, dict) else None
    return tuple(map(str, values)) if isinstance(values, list) else None


def is_for_model(tool: types.Tool) -> bool:
    visibility = visibility_of(tool)
    return visibility is None or "model" in visibility


def is_for_pages(tool: types.Tool) -> bool:
    visibility = visibility_of(tool)
    if visibility is not None:
        return "app" in visibility
    return resource_of(tool) is not None or is_read_only(tool)


def text_of(result: types.CallToolResult) -> str:
    """The result for the model: texts, notes for other content, and structured content unless a text repeats it."""
    pieces = [write_block(block) for block in result.content]
    structured: JsonValue = result.structured_content
    if structured is not None and not any(is_same_content(piece, structured) for piece in [*pieces, "\n".join(pieces)]):
        pieces.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(pieces)


def write_block(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(mime_type=kind, data=data):
            return describe_binary("picture", kind, data)
        case types.AudioContent(mime_type=kind, data=data):
            return describe_binary("recording", kind, data)
        case types.ResourceLink(name=name, uri=uri):
            return f"[a resource, {name}: {uri}]"
        case types.EmbeddedResource(resource=resource):
            return write_contents([resource])


def describe_binary(what: str, kind: str | None, data: str) -> str:
    return f"[a {what} ({kind or 'of unknown kind'}, {len(data) * 3 // 4} bytes), which is not shown here]"


def write_contents(contents: Iterable[types.TextResourceContents | types.BlobResourceContents]) -> str:
    return "\n".join(_write_each(contents))


def _write_each(contents: Iterable[types.TextResourceContents | types.BlobResourceContents]) -> Iterator[str]:
    for one in contents:
        if isinstance(one, types.TextResourceContents):
            yield one.text
        else:
            yield describe_binary(f"file, {one.uri}", one.mime_type, one.blob)


def is_same_content(text: str, structured: JsonValue) -> bool:
    """Whether the text repeats the structured content. SDKs do, and wrap non-objects as `result`."""
    inner = structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else structured
    if text == inner:
        return True
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return read in (structured, inner)
