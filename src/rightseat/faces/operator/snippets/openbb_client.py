"""OpenBB Workspace, which is given an address and, where there are keys, a header."""

from collections.abc import Sequence
from urllib.parse import quote

from rightseat.core.types import JsonValue
from rightseat.faces.operator.snippet import (
    QUESTION,
    YOUR_KEY,
    Snippet,
    SnippetTarget,
    build_curl,
    build_curl_get,
)

NAME = "OpenBB Workspace"


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    headers = {"X-API-KEY": YOUR_KEY} if target.requires_key else {}
    address = [target.url, *(f"{name}: {value}" for name, value in headers.items())]
    question: JsonValue = {"messages": [{"role": "human", "content": QUESTION}]}
    listed = build_curl_get(target, "curl: agents.json", "/agents.json", headers)
    return (
        Snippet("Workspace", "text", "\n".join(address), listed.request),
        listed,
        build_curl(target, "curl: query", f"/v1/query/{quote(target.agent, safe='')}", headers, question),
    )
