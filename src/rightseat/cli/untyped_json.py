"""JSON bodies of requests that do not say so, as `curl -d '{…}'` sends them: for `rightseat serve --model` alone.

Faces take bodies as `application/json` only, because a web page of another origin cannot send that unasked. A browser
adds `Origin` or `Sec-Fetch-Site` to every other body that a page can send, so a request with one of them, or with a
cookie, keeps its content type, and the face refuses it.
"""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

FORM = "application/x-www-form-urlencoded"
SENT_BY_BROWSERS = ("origin", "sec-fetch-site", "cookie")


class UntypedJson:
    """Labels such bodies as JSON where the path begins with `path`. Whether they are JSON is for the face to find."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._below = path.rstrip("/") + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(self._below):
            headers = Headers(scope=scope)
            if is_untyped(headers) and not any(name in headers for name in SENT_BY_BROWSERS):
                kept = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
                scope["headers"] = [*kept, (b"content-type", b"application/json")]
        await self._app(scope, receive, send)


def is_untyped(headers: Headers) -> bool:
    """No content type, or once the one that `curl -d` sends."""
    match headers.getlist("content-type"):
        case []:
            return True
        case [kind]:
            return kind.partition(";")[0].strip().lower() == FORM
    return False
