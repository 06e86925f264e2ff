"""`/`: shows that rightseat is running and how to connect to each face, as a page for people and as JSON for programs.

A browser is redirected to the console if the server has one.

Anyone may read it, so faces that require a key are not listed. The page has no scripts and loads nothing.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Match, Route

from rightseat.config import ConfiguredPart
from rightseat.faces._shared.base_url import base_url
from rightseat.faces._shared.responses import json_response

PROTOCOLS = {
    "console": ("Web console", "Open {url}/ in a browser."),
    "copilotkit": ("CopilotKit and AG-UI", '<CopilotKit runtimeUrl="{url}">'),
    "ai_sdk": ("Vercel AI SDK", 'useChat({ transport: new DefaultChatTransport({ api: "{url}" }) })'),
    "openai": ("OpenAI-compatible API", 'OpenAI(base_url="{url}", api_key="none")'),
    "anthropic": ("Anthropic's Messages API", 'ANTHROPIC_BASE_URL="{url}"'),
    "openbb": ("OpenBB Workspace", "Add {url} as a custom agent."),
    "mcp": ("MCP server, streamable HTTP", "Add {url} to your MCP client."),
    "metrics": ("Prometheus metrics", "Scrape {url}."),
    "usage": ("Usage report", "GET {url}?by=user,model"),
    "operator": ("API of the console", ""),
}
"""The name of each built-in face, and how a client connects to it."""

STYLE = """
:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
body { max-width: 42rem; margin: 12vh auto 4rem; padding: 0 1.5rem }
h1 { font-size: 1.6rem; margin: 0 }
h1::before { content: ""; display: inline-block; width: .7rem; height: .7rem; margin-right: .6rem; border-radius: 50%;
  background: #2da44e }
h2 { font-size: 1rem; margin: 0 }
p { margin: .25rem 0 }
.note, .version { color: light-dark(#57606a, #9198a1) }
section { margin: 1.25rem 0; padding: 1rem 1.25rem; border: 1px solid light-dark(#d0d7de, #3d444d);
  border-radius: .6rem }
code { font: .875rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
pre { margin: .6rem 0 0; padding: .6rem .8rem; border-radius: .4rem; background: light-dark(#f6f8fa, #212830);
  white-space: pre-wrap }
"""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
    ),
    "cache-control": "no-store",
    "vary": "accept",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class ListedFace:
    type: str
    name: str
    url: str
    connect: str


def routes(version: str, faces: Sequence[ConfiguredPart], *, has_keys: bool, taken: Sequence[BaseRoute]) -> list[Route]:
    """No route if one of `taken` matches `/`."""
    listed = [face for face in faces if face.access == "open" or not has_keys]
    is_partial = len(listed) < len(faces)
    console = next((path_of(face) for face in faces if face.type == "console"), None)

    async def home(request: Request) -> Response:
        found = list(describe(listed, base_url(request)))
        is_browser = "text/html" in request.headers.get("accept", "")
        if is_browser and console is not None:  # relative, because a proxy may serve it below another path
            return Response(status_code=303, headers={"location": f"{console.lstrip('/')}/", "vary": "accept"})
        if is_browser:
            return HTMLResponse(write_page(version, found, is_partial=is_partial), headers=HEADERS)
        body = {"name": "rightseat", "version": version, "faces": [asdict(face) for face in found]}
        return json_response(body, headers={"vary": "accept"})

    scope = {"type": "http", "path": "/", "method": "GET"}
    is_taken = any(route.matches(scope)[0] is not Match.NONE for route in taken)
    return [] if is_taken else [Route("/", home, methods=["GET"])]


def describe(faces: Sequence[ConfiguredPart], base: str) -> Iterator[ListedFace]:
    for face in faces:
        url = base + path_of(face)
        name, connect = PROTOCOLS.get(face.type, (face.type, ""))
        yield ListedFace(face.type, name, url, connect.replace("{url}", url))


def path_of(face: ConfiguredPart) -> str:
    return str(getattr(face.options, "path", "")).rstrip("/")


def write_page(version: str, faces: Sequence[ListedFace], *, is_partial: bool) -> str:
    sections = "\n".join(map(write_section, faces))
    note = "<p class=note>Addresses that require a key are not listed here. " if is_partial else "<p class=note>"
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>rightseat is running</title>
<style>{STYLE}</style>
<h1>rightseat is running</h1>
<p class=version>Version {escape(version)}
{sections}
{note}The command <code>rightseat serve</code> prints every address, with its agents and models.
<p class=note>Documentation: <code>docs/quickstart.md</code> in the repository, and <code>docs/how-to</code> for each
client.
"""


def write_section(face: ListedFace) -> str:
    connect = f"<pre><code>{escape(face.connect)}</code></pre>" if face.connect else ""
    return f"<section><h2>{escape(face.name)}</h2><p><code>{escape(face.url)}</code></p>{connect}</section>"
