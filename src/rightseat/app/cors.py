"""CORS: which web pages may call, which headers they may send, and which they may read."""

import logging
from typing import Any
from urllib.parse import quote

from rightseat.access.origins import LOCAL_ORIGIN_PATTERN, AllowedOrigins
from rightseat.config import Server

STAINLESS_SUFFIXES = ("arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout")
"""The suffixes of the `x-stainless-…` headers that OpenAI's own clients send."""

REQUEST_HEADERS = (
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "openai-organization",
    "openai-project",
    "x-ai-sdk-version",
    "x-api-key",
    "x-request-id",
    "x-copilotcloud-public-api-key",
    "x-copilotkit-runtime-client-gql-version",
    *(f"x-stainless-{suffix}" for suffix in STAINLESS_SUFFIXES),
)
"""The request headers of our clients that a browser sends only after a preflight."""

METHODS = ("GET", "POST", "PATCH", "DELETE", "OPTIONS")
EXPOSED_HEADERS = ("x-rightseat-warnings", "x-request-id", "www-authenticate")


MAX_LOGGED_ORIGINS = 100
MAX_ORIGIN_CHARS = 255

logger = logging.getLogger(__name__)


class RefusedOrigins:
    """Logs each refused origin once, up to `MAX_LOGGED_ORIGINS`: a client can send any number of them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._logged: set[str] = set()

    def log(self, origin: str, path: str) -> None:
        if origin in self._logged or len(self._logged) >= MAX_LOGGED_ORIGINS or len(origin) > MAX_ORIGIN_CHARS:
            return
        self._logged.add(origin)
        shown = quote(origin, safe=":/[]")  # both are the client's: no line breaks in the log
        cure = explain_refusal(shown, self._server)
        logger.warning("A page of %s called %s; its origin is not allowed. %s", shown, quote(path), cure)
        if len(self._logged) == MAX_LOGGED_ORIGINS:
            logger.warning("%d origins were refused. Further ones are not logged.", MAX_LOGGED_ORIGINS)


def explain_refusal(origin: str, server: Server) -> str:
    """The line to write into the configuration."""
    if origin == "null":
        return "A file or a sandboxed frame has no origin that could be allowed: serve the page from a web server."
    listed = ", ".join(f'"{one}"' for one in (*(server.origins or ()), origin))
    default = " (it replaces the default, pages of this machine)" if server.origins is None and server.is_local else ""
    return f"To allow it, write under `server`: `origins: [{listed}]`{default}."


def cors_options(server: Server, allowed: AllowedOrigins | None = None) -> dict[str, Any]:
    """Arguments of `CORSMiddleware`. `allowed` are the origins that a face adds.

    Cookies are allowed only for origins that the configuration names one by one, and never for a face that adds some.
    """
    origins = server.origins or ()
    headers = (*REQUEST_HEADERS, *server.headers)
    rules: dict[str, Any] = {
        "allow_methods": METHODS,
        "allow_headers": headers,
        "allow_origins": origins,
        "expose_headers": EXPOSED_HEADERS,
    }
    if (server.origins is None and server.is_local) or (allowed and allowed.allow_local):
        rules["allow_origin_regex"] = LOCAL_ORIGIN_PATTERN
    if allowed is None:
        return rules | {"allow_credentials": bool(origins) and "*" not in origins}
    return rules | {
        "allow_origins": (*origins, *allowed.origins),
        "allow_headers": ("*",),
        "expose_headers": (*EXPOSED_HEADERS, *allowed.exposed_headers),
        "allow_private_network": True,
    }
