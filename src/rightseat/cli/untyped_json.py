"""Accepts JSON bodies without a JSON content type, as `curl -d '{…}'` sends them: only for `rightseat serve --model`.

Faces require `application/json`, because a web page of another origin cannot send that without a preflight. A browser
adds `Origin` or `Sec-Fetch-Site` to every other body that a page can send, so a request with one of them, or with a
cookie, keeps its content type, and the face rejects it.
"""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

FORM = "application/x-www-form-urlencoded"
SENT_BY_BROWSERS = ("origin", "sec-fetch-site", "cookie")


class UntypedJson:
    """Sets the content type of such requests below `path`. The face validates the body."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._prefix = path.rstrip("/") + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(self._prefix):
            headers = Headers(scope=scope)
            if is_untyped(headers) and not any(name in headers for name in SENT_BY_BROWSERS):
                kept = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
                scope["headers"] = [*kept, (b"content-type", b"application/json")]
        await self._app(scope, receive, send)


def is_untyped(headers: Headers) -> bool:
    """No content type, or exactly one, the default of `curl -d`."""
    match headers.getlist("content-type"):
        case []:
            return True
        case [kind]:
            return kind.partition(";")[0].strip().lower() == FORM
    return False
