"""MCP clients, which use the agents' tools over streamable HTTP."""

import json
from collections.abc import Sequence

from rightseat.core.types import JsonValue
from rightseat.faces.operator.snippet import Snippet, SnippetTarget, build_curl, build_post

NAME = "MCP"

ACCEPT = {"accept": "application/json, text/event-stream"}
LIST_TOOLS: JsonValue = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    server: dict[str, JsonValue] = {"type": "http", "url": target.url}
    if key := target.bearer.get("authorization"):
        server["headers"] = {"Authorization": key}
    sent = ACCEPT | target.bearer
    return (
        Snippet(
            "mcp.json",
            "json",
            json.dumps({"mcpServers": {"rightseat": server}}, indent=2, ensure_ascii=False),
            build_post(target, "", sent, LIST_TOOLS),
        ),
        build_curl(target, "curl", "", sent, LIST_TOOLS),
    )
