"""The token of a page that opens a WebSocket: it is in the URL, because pages cannot send headers with it."""

from urllib.parse import parse_qs

from starlette.types import Scope

SCOPE_KEY = "rightseat.socket_token"
"""The key of an ASGI scope with the token."""
PARAMETER = "join_token"
MAX_FIELDS = 20


def hide_token(scope: Scope) -> str:
    """Take the token out of the scope, from which servers write the URL to their logs. Returns it, or an empty text."""
    if SCOPE_KEY not in scope:
        query = scope.get("query_string", b"").decode("latin-1")
        try:
            found = parse_qs(query, max_num_fields=MAX_FIELDS).get(PARAMETER, [])
        except ValueError:
            found = []
        scope[SCOPE_KEY] = found[0] if len(found) == 1 else ""
        scope["query_string"] = b""
    token: str = scope[SCOPE_KEY]
    return token
