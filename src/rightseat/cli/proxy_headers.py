"""Takes the scheme and the client's address from the headers of trusted reverse proxies, and from nothing else."""

import ipaddress
import logging
from collections.abc import Awaitable, Iterable
from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

logger = logging.getLogger(__name__)

HEADERS = (b"x-forwarded-for", b"x-forwarded-proto")


class ProxyHeaders:
    """uvicorn's middleware for trusted proxies. The first ignored header of a private address is logged: such a client
    is usually a reverse proxy that the configuration does not name."""

    def __init__(self, app: ASGIApp, trusted: Iterable[str]) -> None:
        self._app = app
        self._middleware: Any = ProxyHeadersMiddleware(cast(Any, app), list(trusted))
        self._has_warned = False

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        sent = {name for name, _ in scope.get("headers", ()) if name in HEADERS}
        if not sent:
            return self._app(scope, receive, send)
        peer = (scope.get("client") or ("",))[0]
        if peer in self._middleware.trusted_hosts:
            forwarded: Awaitable[None] = self._middleware(scope, receive, send)
            return forwarded
        if not self._has_warned:
            self._warn(peer, sent)
        return self._app(scope, receive, send)

    def _warn(self, peer: str, sent: Iterable[bytes]) -> None:
        if is_private(peer):
            self._has_warned = True
            text = "Ignored %s of %s. If this is your reverse proxy, add its address to `server.trusted_proxies`."
            logger.warning(text, " and ".join(sorted(name.decode() for name in sent)), peer)


def is_private(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_private
    except ValueError:
        return False
