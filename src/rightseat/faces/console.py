"""The console face: the static files of the web console. They hold no data and are the same for everyone.

The page calls the face `operator`, which must be configured beside it.
"""

import gzip
import hashlib
import mimetypes
import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime

HASHED_NAME = re.compile(r"-[\w-]{8}\.\w+$")
"""The name of a file that changes with its content."""

SECURITY_HEADERS = {
    "content-security-policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "frame-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types rightseat",
        )
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = Field(default="/console", pattern="^/.")
    """The path of the page."""


class ConsoleFile(NamedTuple):
    content: bytes
    compressed: bytes
    media_type: str
    etag: str


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    router = APIRouter()
    path = options.path.rstrip("/")

    async def redirect(request: Request, principal: Principal) -> Response:
        """Relative, because a proxy may serve the console below another path."""
        return Response(status_code=307, headers={"location": f"{path.rpartition('/')[2]}/"})

    async def show(request: Request, principal: Principal) -> Response:
        return serve_file(request.path_params["file"] or "index.html", request)

    router.add_route(path, auth.publish(redirect), methods=["GET"])
    router.add_route(path + "/{file:path}", auth.publish(show), methods=["GET"])
    return router


def serve_file(name: str, request: Request) -> Response:
    found = read_file(name) if name in list_files() else None
    if found is None:
        return PlainTextResponse("There is no such file of the console.", 404)
    caching = "public, max-age=31536000, immutable" if HASHED_NAME.search(name) else "no-cache"
    headers = {**SECURITY_HEADERS, "etag": found.etag, "cache-control": caching, "vary": "accept-encoding"}
    if is_trustworthy(request):
        headers["cross-origin-opener-policy"] = "same-origin"
    if request.headers.get("if-none-match") == found.etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", "") and len(found.compressed) < len(found.content):
        return Response(found.compressed, headers={**headers, "content-encoding": "gzip"}, media_type=found.media_type)
    return Response(found.content, headers=headers, media_type=found.media_type)


def is_trustworthy(request: Request) -> bool:
    """Whether the browser treats the page as a secure context; elsewhere it reports the header as an error."""
    return request.url.scheme == "https" or request.url.hostname in ("localhost", "127.0.0.1", "::1")


@lru_cache
def list_files() -> frozenset[str]:
    root = files("rightseat") / "console"
    found: set[str] = set()
    folders = [("", root)]
    while folders:
        prefix, folder = folders.pop()
        for one in folder.iterdir():
            if one.is_dir():
                folders.append((f"{prefix}{one.name}/", one))
            else:
                found.add(prefix + one.name)
    return frozenset(found)


@lru_cache(maxsize=256)
def read_file(name: str) -> ConsoleFile:
    """Compressed once, at the first request."""
    content = (files("rightseat") / "console" / name).read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return ConsoleFile(content, gzip.compress(content, 9, mtime=0), media_type, etag)
