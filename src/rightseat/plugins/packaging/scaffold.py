"""Creates new plugins: from a template, or from an OpenAPI document."""

import json
import re
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import yaml

from rightseat.core.errors import RightseatError
from rightseat.egress.addresses import find_private_host_port
from rightseat.plugins import loading
from rightseat.plugins.loading import PluginLimits, yaml_json
from rightseat.plugins.loading.metadata import ID_PATTERN, MAX_DESCRIPTION_CHARS, ORIGINAL_NAME_CHARS
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.packaging.versions import write_files

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
_LOCAL_FLOW = """\
name: introduce
description: Says what this plugin can do. Takes nothing, answers with one sentence.
steps:
  - name: start
    call_type: llm
    params:
      system_prompt: You are friendly and brief.
      user_prompt: |-
        The question: {question}
        Say in one sentence that you can greet people by their names.
    next: end
  - name: end
    call_type: none
"""
_CASES = """\
- name: the greeting of the API is in the answer
  flow: greet
  question: Say hello to Ada
  model:
    start: { name: Ada }
    end: Hello, Ada!
  http:
    - request: { method: GET, url: "https://api.example.com/hello/Ada" }
      reply: { status: 200, json: { text: "Hello, Ada!" } }
  expect: { status: succeeded, path: [start, end], answer_contains: Ada }
- name: introduces itself without a request
  flow: introduce
  question: What can you do?
  model:
    start: I greet people by their names.
  expect: { status: succeeded, path: [start, end], answer_contains: greet }
"""


class InvalidOpenApiDocument(RightseatError):
    """The input is not an OpenAPI document that a plugin can be created from."""

    code = "not_a_document"
    status = 422


@dataclass(frozen=True, slots=True)
class PluginDraft:
    id: str
    files: dict[str, bytes]


def create_blank(id: str) -> PluginDraft:
    """Create a plugin as a starting point: a flow with a request, a flow that runs as it stands, and a case of each."""
    check_id(id)
    about = {
        "id": id,
        "name": id[: ORIGINAL_NAME_CHARS - 1],
        "description": "Greets people by their names. Takes a name, returns one sentence.",
        "version": "0.1.0",
        "predefined_question": "Say hello to Ada",
        "automatic_flow": False,
    }
    texts = {
        yaml_json.METADATA: _to_json(about),
        "openapi.yaml": _OPENAPI.format(id=id),
        "flows/greet.yaml": _FLOW,
        "flows/introduce.yaml": _LOCAL_FLOW,
        "tests/cases.yaml": _CASES,
    }
    return PluginDraft(id, {path: text.encode() for path, text in texts.items()})


def create_from_openapi(
    content: bytes, *, id: str | None = None, origin: str = "", server: str | None = None
) -> PluginDraft:
    """Create a plugin with one flow per operation. Relative servers are resolved against the document's `origin`.

    Raises `InvalidOpenApiDocument`.
    """
    if id is not None:
        check_id(id)
    file = "openapi.json" if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "openapi.yaml"
    document = _read(file, content)
    info = _as_mapping(document.get("info"))
    title = str(info.get("title") or "").strip()
    if id is None:
        id = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_0123456789")[:40]
        check_id(id)
    about = {
        "id": id,
        "name": textwrap.shorten(title, ORIGINAL_NAME_CHARS - 1, placeholder="")
        or (title or id)[: ORIGINAL_NAME_CHARS - 1],
        "description": (str(info.get("description") or "").strip() or title or id)[:MAX_DESCRIPTION_CHARS],
        "version": "0.1.0",
        "automatic_flow": True,
    }
    auth = [found for name, one in _list_security_schemes(document) if (found := _convert_scheme(id, name, one))]
    if auth:
        about["auth"] = auth[0]
    servers = _build_servers(document, origin, server)
    if place := _find_private_address(servers or document.get("servers")):
        about["network"] = {"allow_private": [place]}
    if servers is not None:
        document["servers"] = servers
        content = (_to_json(document) if file.endswith(".json") else _to_yaml(document)).encode()
    return PluginDraft(id, {yaml_json.METADATA: _to_json(about).encode(), file: content})


def check_id(id: str) -> None:
    if not re.fullmatch(ID_PATTERN, id):
        rule = "a lower-case letter, then lower-case letters, digits, _ and -, at most 63 in all"
        raise InvalidOpenApiDocument(f"{id!r} is not a valid plugin id: {rule}. Choose an id.")


def _read(file: str, content: bytes) -> dict[str, Any]:
    report = DiagnosticReport("compat")
    node = yaml_json.read(file, {file: content}, PluginLimits(max_file_bytes=loading.LIMITS.max_bytes), report)
    if node is None or not isinstance(node.value, dict):
        raise InvalidOpenApiDocument(
            str(report.diagnostics[0]) if report.diagnostics else "The document should be a mapping."
        )
    if "openapi" not in node.value and "swagger" not in node.value:
        raise InvalidOpenApiDocument("This is not an OpenAPI document: it has no `openapi` key at the top level.")
    return dict(node.value)


def _build_servers(document: dict[str, Any], origin: str, server: str | None) -> list[dict[str, str]] | None:
    """None if the document's own servers can be used."""
    if server is not None:
        return [{"url": server}]
    own = document.get("servers")
    urls = [one.get("url") for one in own if isinstance(one, dict)] if isinstance(own, list) else []
    first = str(urls[0]) if urls else "/"
    try:
        if urlsplit(first).scheme or not origin.startswith(("http://", "https://")):
            return None
        return [{"url": urljoin(origin, first).rstrip("/")}]
    except ValueError:
        return None  # it is no address: the report on the plugin says so


def _find_private_address(servers: Any) -> str | None:
    """Return the private `host:port` that the operator has to allow."""
    first = servers[0] if isinstance(servers, list) and servers else None
    return find_private_host_port(str(_as_mapping(first).get("url")))


def _list_security_schemes(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    schemes = _as_mapping(_as_mapping(document.get("components")).get("securitySchemes"))
    return [(name, one) for name, one in schemes.items() if isinstance(one, dict)]


def _convert_scheme(id: str, name: str, scheme: dict[str, Any]) -> dict[str, Any] | None:
    """Convert a security scheme to `auth` of plugin.json; None if there is no equivalent."""
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


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _to_yaml(value: Any) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))


def write(draft: PluginDraft, into: Path) -> Path:
    """Nothing is left of a folder that cannot be written whole. Raises `OSError`, or `FileExistsError`."""
    place = into / draft.id
    place.mkdir(parents=True)
    try:
        write_files(draft.files, place)
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return place
