"""Checks the `Host` header of requests against the names of this server, as protection from DNS rebinding.

A web page can resolve its own name to 127.0.0.1 and then call a local server as if it were its own. Its requests carry
the page's host name and are refused. An invalid `Host` is refused before any code builds an address from it.
"""

import re
from collections.abc import Iterable

from starlette.types import Scope

from rightseat.core.errors import BadRequest, HostNotAllowed

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
STATUS_PATHS = ("/health", "/ready")
WITHOUT_HOST = "rightseat.without_host"
"""The key in the scope of a request of HTTP/1.0 that has no Host header."""
_HOST_PATTERN = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z_.-]+))(?::[0-9]{1,5})?")


class Hosts:
    """`names` are allowed beside those of this machine, with any port; `*` allows every name.

    Load balancers check `/health` and `/ready` by HTTP/1.0 without a host. Such a request is marked in its scope, so
    that the response has one word: no browser sends one, and nothing in it depends on the name of the server.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {normalize(name) for name in (*LOCAL_NAMES, *names)}

    def check(self, scope: Scope) -> None:
        """Raises `BadRequest` (not exactly one valid host) or `HostNotAllowed`.

        The address that the connection came to is always allowed: a page's host name cannot be an IP address.
        """
        hosts = [value for key, value in scope["headers"] if key == b"host"]
        if not hosts and scope.get("http_version") == "1.0" and scope["path"] in STATUS_PATHS:
            scope[WITHOUT_HOST] = True
            return
        match = _HOST_PATTERN.fullmatch(hosts[0].decode("latin-1")) if len(hosts) == 1 else None
        if match is None:
            raise BadRequest("The request should have exactly one Host header, with a name or an address.")
        host = normalize(match[1] or match[2])
        if host not in self._names and "*" not in self._names and host != normalize(_address(scope)):
            raise HostNotAllowed(f"The host {host[:255]!r} is not allowed. An operator can add it to `server.hosts`.")


def normalize(name: str) -> str:
    return name.lower().strip("[]").removesuffix(".")


def _address(scope: Scope) -> str:
    """The local address of the connection; empty for a Unix socket."""
    host, port = scope.get("server") or ("", None)
    return str(host) if port is not None and is_ip_address(str(host)) else ""


def is_ip_address(host: str) -> bool:
    return re.fullmatch(r"[0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", host) is not None
