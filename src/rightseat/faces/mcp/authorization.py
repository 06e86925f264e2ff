"""Tells MCP clients where to sign in: the metadata of this resource (RFC 9728), and the challenge that leads there.

A client without a credential receives 401 with the address of the metadata, reads there which identity provider signs
its users in, requests a token for this resource, and calls again.
"""

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.credentials import BEARER
from rightseat.access.route_auth import RouteAuth, write_plain_challenge
from rightseat.access.trusted_issuer import TrustedIssuer
from rightseat.core.ask import Principal
from rightseat.core.errors import InsufficientScope, RightseatError
from rightseat.faces._shared.base_url import base_url
from rightseat.faces._shared.responses import json_response

WELL_KNOWN = "/.well-known/oauth-protected-resource"
ALL_AGENTS = "mcp:*"


class SignInDirections:
    """The metadata and the challenge of the face at `path`. `scopes` are what clients request; None decides by itself.

    The resource is `resource` if the identity provider signs tokens for that address, or else what the client called.
    """

    def __init__(self, issuer: TrustedIssuer, path: str, scopes: Sequence[str] | None, resource: str | None) -> None:
        self._issuer = issuer
        self._path = path.rstrip("/")
        self._resource = resource if resource and resource.startswith(("https://", "http://")) else None
        self._scopes = tuple(scopes) if scopes is not None else (ALL_AGENTS,) if issuer.has_scopes else ()

    @property
    def metadata_path(self) -> str:
        return f"{WELL_KNOWN}{self._path}"

    async def respond(self, request: Request, principal: Principal) -> Response:
        metadata: dict[str, object] = {
            "resource": self._resource or f"{base_url(request)}{self._path}",
            "authorization_servers": [self._issuer.url],
            "bearer_methods_supported": ["header"],
            "resource_name": "rightseat",
        }
        if self._scopes:
            metadata["scopes_supported"] = list(self._scopes)
        response = json_response(metadata, 200)
        response.headers["access-control-allow-origin"] = "*"  # the same for everyone, and clients in browsers read it
        return response

    def challenge(self, request: Request, error: RightseatError) -> str:
        if error.status not in (401, 403):
            return ""
        fields: dict[str, str] = {}
        if isinstance(error, InsufficientScope):
            fields = {"error": "insufficient_scope", "error_description": error.message}
        elif request.headers.get("authorization", "").lower().startswith(BEARER):
            fields = {"error": "invalid_token", "error_description": error.message}
        fields["resource_metadata"] = f"{base_url(request)}{self.metadata_path}"
        if self._scopes:
            fields["scope"] = " ".join(self._scopes)
        return "Bearer " + ", ".join(f'{name}="{quote(value)}"' for name, value in fields.items())


def find_challenge(directions: SignInDirections | None) -> Callable[[Request, RightseatError], str]:
    return write_plain_challenge if directions is None else directions.challenge


def build_directions(
    auth: RouteAuth, path: str, scopes: Sequence[str] | None, resource: str | None
) -> SignInDirections | None:
    """None if the face accepts no tokens of an identity provider."""
    return None if auth.token_issuer is None else SignInDirections(auth.token_issuer, path, scopes, resource)


def quote(value: str) -> str:
    """The text inside of a quoted string: printable ASCII, in which a quotation mark is an apostrophe."""
    return "".join(one if " " <= one <= "~" else "?" for one in value.replace("\\", "/").replace('"', "'"))
