"""Code that connects a client to a face, and what it is written from.

Each face has a module in `snippets`, `FACE_client.py`, with `NAME` (of the clients) and `build_snippets(target)`. Code
holds `YOUR_KEY` where a key belongs; where the face requires none, it has no key.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Literal

import msgspec

from rightseat.core.types import JsonValue

YOUR_KEY = "YOUR_KEY"
NEW_ID = "NEW_ID"
"""In the body of a request: an id that is new each time. Commands make one up."""
QUESTION = "Hello"

Language = Literal["bash", "python", "javascript", "tsx", "json", "toml", "yaml", "text"]


class SnippetTarget(msgspec.Struct, frozen=True):
    """`url` is the address of the face as clients reach it, and `path` the same without the address of the server."""

    url: str
    path: str
    agent: str
    requires_key: bool

    @property
    def bearer(self) -> dict[str, str]:
        """The header with the key."""
        return {"authorization": f"Bearer {YOUR_KEY}"} if self.requires_key else {}


class SnippetRequest(msgspec.Struct, frozen=True):
    """The request of a snippet, for a page that sends it. `path` is relative to the address of the server."""

    method: Literal["GET", "POST"]
    path: str
    headers: Mapping[str, str] = {}
    body: str | None = None


class Snippet(msgspec.Struct, frozen=True):
    title: str
    language: Language
    code: str
    request: SnippetRequest | None = None


def build_curl(target: SnippetTarget, title: str, path: str, headers: Mapping[str, str], body: JsonValue) -> Snippet:
    """A command that posts JSON to a path below the face, and prints the response as it arrives."""
    request = build_post(target, path, headers, body)
    lines = [f"curl -sSN {shlex.quote(target.url + path)}"]
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in request.headers.items()]
    lines.append(f"-d {shlex.quote(request.body or '')}")
    command = " \\\n  ".join(lines)
    if NEW_ID in command:
        command = "id=$(date +%s)-$RANDOM\n" + command.replace(NEW_ID, "'\"$id\"'")
    return Snippet(title, "bash", command, request)


def build_post(target: SnippetTarget, path: str, headers: Mapping[str, str], body: JsonValue) -> SnippetRequest:
    known = {"content-type": "application/json", **headers}
    return SnippetRequest("POST", target.path + path, known, json.dumps(body, ensure_ascii=False))


def build_curl_get(target: SnippetTarget, title: str, path: str, headers: Mapping[str, str]) -> Snippet:
    lines = [f"curl -sS {shlex.quote(target.url + path)}"]
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    return Snippet(title, "bash", " \\\n  ".join(lines), SnippetRequest("GET", target.path + path, headers))


def quote_code(text: str) -> str:
    """A string literal of Python, JavaScript and JSON."""
    return json.dumps(text, ensure_ascii=False)
