"""The URL of this server as its clients know it, for addresses in documents and messages."""

from functools import lru_cache

from starlette.requests import HTTPConnection, Request

PUBLIC_URL = "rightseat.public_url"
"""The key of an ASGI scope with `server.public_url`. Without it, the request decides."""
BASE_PATH = "rightseat.base_path"
"""The key of an ASGI scope with the path before the paths of faces, inside of another application: its root path, and
where the copilot is mounted or included."""


def base_url(request: Request) -> str:
    """Without a trailing slash."""
    scope = request.scope
    if public := scope.get(PUBLIC_URL):
        return str(public)
    root = scope.get(BASE_PATH)
    if root is None:
        root = scope.get("app_root_path", scope.get("root_path", ""))
    server = scope.get("server")  # a list from some servers, such as Starlette's TestClient
    return _build_url(scope["scheme"], request.headers.get("host"), tuple(server) if server else None, root)


def base_path(request: Request) -> str:
    """The path before the paths of faces, for addresses without a host; empty on a server of its own."""
    found: str = request.scope.get(BASE_PATH, "")
    return found


@lru_cache(maxsize=64)
def _build_url(scheme: str, host: str | None, server: tuple[str, int | None] | None, root: str) -> str:
    """`request.base_url`, cached: building it is slow, and few servers have many names."""
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    scope = {"type": "http", "scheme": scheme, "headers": headers, "server": server, "root_path": root, "path": ""}
    return str(HTTPConnection(scope).base_url).rstrip("/")
