"""Who may use this server: the keys by name and prefix, the issuer of tokens, and the web pages that may call."""

from typing import Any

from starlette.responses import Response

from rightseat.access.keys import prefix_of
from rightseat.config import ApiKey
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.health import ChecksNotSupported
from rightseat.faces.operator.permissions import forbid
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.own_server import OwnServer


class AccessRoute:
    def __init__(self, own_server: OwnServer | None) -> None:
        self._own_server = own_server

    def routes(self) -> Routes:
        return {("GET", "access"): self.describe}

    async def describe(self, request: OperatorRequest) -> Response:
        """Neither keys nor their hashes. Keys are for all agents, so the right to watch only some is not enough."""
        if request.rights.watch is not None:
            forbid("watch", "*")
        if self._own_server is None:
            raise ChecksNotSupported
        access, server = self._own_server.config.access, self._own_server.config.server
        return json_response(
            {
                "keys": [describe_key(key) for key in access.keys],
                "jwt": {"issuer": access.jwt.issuer, "audience": access.jwt.audience} if access.jwt else None,
                "cookie": access.cookie,
                "origins": server.origins,
                "hosts": server.hosts,
                "is_local": server.is_local,
                "file": str(self._own_server.file),
            }
        )


def describe_key(key: ApiKey) -> dict[str, Any]:
    """`prefix` is null for a secret that `rightseat keys new` did not create."""
    prefix = key.prefix or (prefix_of(key.key.get_secret_value()) if key.key else "")
    return {"name": key.name, "prefix": prefix or None, "user": key.user or f"key:{key.name}", "scopes": key.scopes}
