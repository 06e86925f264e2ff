"""Which names a server answers for: those that a browser may have called it by.

A page of anyone's can have its own name point to 127.0.0.1, and then talk to what listens there as if it were its own
server (DNS rebinding). Its requests carry the page's name, so they are told from ours. And what is no name at all never
gets as far as code that would make an address of it.
"""

import re
from collections.abc import Iterable

from starlette.types import Scope

from rightseat.core.errors import BadAsk, WrongHost

LOCAL = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z_.-]+))(?::[0-9]{1,5})?")


class Hosts:
    """`names` beside those of this machine, with any port; `*` is every name."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {normal(name) for name in (*LOCAL, *names)}

    def check(self, scope: Scope) -> None:
        """Raises `BadAsk` (no host, two, or what is none) or `WrongHost` (one that is not ours).

        The address that the connection came to is always ours: a page cannot have a number for its name.
        """
        named = [value for key, value in scope["headers"] if key == b"host"]
        match = _HOST.fullmatch(named[0].decode("latin-1")) if len(named) == 1 else None
        if match is None:
            raise BadAsk("The request should have one Host header, with a name or an address.")
        host = normal(match[1] or match[2])
        if host not in self._names and "*" not in self._names and host != normal(_address(scope)):
            raise WrongHost(f"This server does not answer for {host[:255]!r}. If it should, add it to server.hosts.")


def normal(name: str) -> str:
    return name.lower().strip("[]").removesuffix(".")


def _address(scope: Scope) -> str:
    """Where the connection came to, if that is an address of the network and not the path of a socket."""
    host, port = scope.get("server") or ("", None)
    return str(host) if port is not None and is_number(str(host)) else ""


def is_number(host: str) -> bool:
    return re.fullmatch(r"[0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", host) is not None
