"""First versions of plugins: an empty one, and one made of an OpenAPI document."""

import json
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import yaml

from rightseat.core.errors import AddressForbidden, RightseatError
from rightseat.egress.addresses import Policy, read_url
from rightseat.plugins import loading
from rightseat.plugins.loading import Limits, reading
from rightseat.plugins.loading.metadata import ID, MOST_DESCRIPTION, ORIGINAL_NAME
from rightseat.plugins.loading.notes import Notes

_OPENAPI = """\
openapi: 3.1.0
info:
  title: {id}
  version: 1.0.0
servers:
  - url: https://api.example.com
paths:
  /hello/{{name}}:
    get:
      operationId: hello
      description: Greets one person. Takes a name, returns one sentence.
      parameters:
        - name: name
          in: path
          required: true
          description: The name of the person, as the user wrote it.
          schema: {{ type: string, minLength: 1, maxLength: 40 }}
      responses:
        '200':
          description: The greeting.
          content:
            application/json:
              schema:
                type: object
                required: [text]
                properties:
                  text: {{ type: string, description: The greeting }}
"""
_FLOW = """\
name: greet
description: Greets one person. Takes a name, answers with a friendly sentence.
steps:
  - name: start
    call_type: api
    params:
      endpoint: GET /hello/{name}
    next: end
  - name: end
    call_type: llm
    params:
      system_prompt: You are friendly and brief.
      user_prompt: |-
        The question: {question}
        The greeting: {data}
        Answer with one sentence.
"""


class NotADocument(RightseatError):
    """What should become a plugin is no OpenAPI document."""

    code = "not_a_document"
    status = 422


@dataclass(frozen=True, slots=True)
class Draft:
    id: str
    files: dict[str, bytes]


def blank(id: str) -> Draft:
    """A plugin with one operation and one flow, to be changed."""
    check_id(id)
    about = {
        "id": id,
        "name": id[: ORIGINAL_NAME - 1],
        "description": "Greets people by their names. Takes a name, returns one sentence.",
        "version": "0.1.0",
        "predefined_question": "Say hello to Ada",
        "automatic_flow": False,
    }
    texts = {reading.METADATA: _json(about), "openapi.yaml": _OPENAPI.format(id=id), "flows/greet.yaml": _FLOW}
    return Draft(id, {path: text.encode() for path, text in texts.items()})


def of_document(content: bytes, *, id: str | None = None, origin: str = "", server: str | None = None) -> Draft:
    """A plugin whose flows are the operations of a document. `origin` is where it was found: relative servers are so.

    Raises `NotADocument`.
    """
    file = "openapi.json" if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "openapi.yaml"
    document = _read(file, content)
    info = _mapping(document.get("info"))
    title = str(info.get("title") or "").strip()
    id = id or re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_0123456789")[:40]
    check_id(id)
    about = {
        "id": id,
        "name": textwrap.shorten(title, ORIGINAL_NAME - 1, placeholder="") or (title or id)[: ORIGINAL_NAME - 1],
        "description": (str(info.get("description") or "").strip() or title or id)[:MOST_DESCRIPTION],
        "version": "0.1.0",
        "automatic_flow": True,
    }
    auth = [found for name, one in _schemes(document) if (found := _auth(id, name, one))]
    if auth:
        about["auth"] = auth[0]
    servers = _servers(document, origin, server)
    if place := _private_place(servers or document.get("servers")):
        about["network"] = {"allow_private": [place]}
    if servers is not None:
        document["servers"] = servers
        content = (_json(document) if file.endswith(".json") else _yaml(document)).encode()
    return Draft(id, {reading.METADATA: _json(about).encode(), file: content})


def check_id(id: str) -> None:
    if not re.fullmatch(ID, id):
        rule = "a lower-case letter, then lower-case letters, digits, _ and -, at most 63 in all"
        raise NotADocument(f"{id!r} cannot be the id of a plugin: {rule}. Name one.")


def _read(file: str, content: bytes) -> dict[str, Any]:
    notes = Notes("compat")
    node = reading.read(file, {file: content}, Limits(file_size=loading.LIMITS.size), notes)
    if node is None or not isinstance(node.value, dict):
        raise NotADocument(str(notes.found[0]) if notes.found else "The document should be a mapping.")
    if "openapi" not in node.value and "swagger" not in node.value:
        raise NotADocument("This is no OpenAPI document: it has no `openapi` at its top.")
    return dict(node.value)


def _servers(document: dict[str, Any], origin: str, server: str | None) -> list[dict[str, str]] | None:
    """None where the document's own will do."""
    if server is not None:
        return [{"url": server}]
    own = document.get("servers")
    urls = [one.get("url") for one in own if isinstance(one, dict)] if isinstance(own, list) else []
    first = str(urls[0]) if urls else "/"
    if urlsplit(first).scheme or not origin.startswith(("http://", "https://")):
        return None
    return [{"url": urljoin(origin, first).rstrip("/")}]


def _private_place(servers: Any) -> str | None:
    """The `host:port` that the operator has to confirm. A name may lead anywhere, except `localhost`."""
    first = servers[0] if isinstance(servers, list) and servers else None
    try:
        target = read_url(str(_mapping(first).get("url")))
    except AddressForbidden:
        return None
    is_private = target.host == "localhost" if target.number is None else Policy().refusal(target.number) is not None
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{host}:{target.port}" if is_private else None


def _schemes(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    schemes = _mapping(_mapping(document.get("components")).get("securitySchemes"))
    return [(name, one) for name, one in schemes.items() if isinstance(one, dict)]


def _auth(id: str, name: str, scheme: dict[str, Any]) -> dict[str, Any] | None:
    """What a security scheme is in plugin.json; None where it has no word for it."""
    secret = re.sub(r"[^A-Z0-9]+", "_", f"{id}_{name}".upper()).strip("_")
    value = f"${{secret:{secret}}}"
    match scheme:
        case {"type": "apiKey", "in": "header" | "query" | "cookie" as place, "name": str(key)}:
            return {"type": "param" if place == "query" else place, "args": {key: value}}
        case {"type": "http", "scheme": str(kind)} if kind.lower() in ("bearer", "basic"):
            return {"type": "header", "args": {"Authorization": f"{kind.capitalize()} {value}"}}
        case {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": str(url)}}}:
            args = {"token_url": url, "client_id": "", "client_secret": value}
            return {"type": "oidc", "args": args}
    return None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _yaml(value: Any) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))


def write(draft: Draft, into: Path) -> Path:
    """Raises `FileExistsError` where the folder is there already."""
    place = into / draft.id
    place.mkdir(parents=True)
    for path, content in draft.files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    return place
