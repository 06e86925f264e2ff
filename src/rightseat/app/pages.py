"""Which pages may call from a browser, and what they may send and read."""

from typing import Any

from rightseat.access.pages import THIS_MACHINE, Pages
from rightseat.config import Server

STAINLESS = ("arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout")
"""What OpenAI's own clients say of themselves."""

HEADERS = (
    "authorization",
    "content-type",
    "last-event-id",
    "openai-organization",
    "openai-project",
    "x-api-key",
    "x-request-id",
    "x-copilotcloud-public-api-key",
    "x-copilotkit-runtime-client-gql-version",
    *(f"x-stainless-{what}" for what in STAINLESS),
)
"""The request headers that a browser must ask leave for, and our clients send."""

METHODS = ("GET", "POST", "PATCH", "DELETE", "OPTIONS")
EXPOSED = ("x-rightseat-warnings", "x-request-id")


def cors(server: Server, pages: Pages | None = None) -> dict[str, Any]:
    """A closed list. Cookies and such only for origins that were named one by one, and never where a face adds some."""
    origins = server.origins or ()
    headers = (*HEADERS, *server.headers)
    rules: dict[str, Any] = {
        "allow_methods": METHODS,
        "allow_headers": headers,
        "allow_origins": origins,
        "expose_headers": EXPOSED,
    }
    if (server.origins is None and server.is_local) or (pages and pages.this_machine):
        rules["allow_origin_regex"] = THIS_MACHINE
    if pages is None:
        return rules | {"allow_credentials": bool(origins) and "*" not in origins}
    return rules | {
        "allow_origins": (*origins, *pages.origins),
        "allow_headers": ("*",),
        "expose_headers": (*EXPOSED, *pages.exposed),
        "allow_private_network": True,
    }
