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
TEST_NAMES = ("testserver", "testclient", "testserver")
"""Of the server, the client and the header."""
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
        is_known = host in self._names or "*" in self._names or host == normalize(_address(scope))
        if not is_known and not is_test_client(scope, host):
            raise HostNotAllowed(f"The host {host[:255]!r} is not allowed. An operator can add it to `server.hosts`.")


def normalize(name: str) -> str:
    return name.lower().strip("[]").removesuffix(".")


def _address(scope: Scope) -> str:
    """The local address of the connection; empty for a Unix socket."""
    host, port = scope.get("server") or ("", None)
    return str(host) if port is not None and is_ip_address(str(host)) else ""


def is_test_client(scope: Scope, host: str) -> bool:
    """Whether the request comes from Starlette's TestClient with its usual address.

    A request from a socket has an IP address as its server. Servers and proxies may take one of the three names from a
    header, but not all of them.
    """
    server, client = scope.get("server") or ("",), scope.get("client") or ("",)
    return (server[0], client[0], host) == TEST_NAMES


def is_ip_address(host: str) -> bool:
    return re.fullmatch(r"[0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", host) is not None
