"""Which addresses this server visits for somebody else. Pure: no name is looked up here.

A client, a model or a document may name an address. Left alone, the server would fetch from its own network whatever
they like: a database's console, a cloud's keys. So an address is public, or the operator has allowed it.
"""

import re
import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from rightseat.core.errors import AddressForbidden

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LONGEST = 4096  # characters of an address
PUBLIC_ONLY = "only public addresses are visited, unless the operator allows others"

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

NAT64 = IPv6Network("64:ff9b::/96")
TUNNELS = tuple(map(ip_network, ("64:ff9b:1::/48", "::/96", "fec0::/10")))
"""Another address may stand inside, and nobody can say which; or the network is no more."""
UNICAST = IPv6Network("2000::/3")
"""Where all public addresses of IPv6 are; Python calls some others public as well."""
RESERVED = tuple(map(ip_network, ("192.88.99.0/24", "3fff::/20")))
"""Public to Python, and to nobody else: relays that are no more, and examples in books."""
PLATFORMS = frozenset(map(ip_address, ("168.63.129.16", "192.0.0.192")))
"""What clouds serve to their own machines at addresses that look public."""


class Target(NamedTuple):
    """An address, taken apart once: what was checked is what is asked. `host` is a name or a number, as usual."""

    scheme: str
    host: str
    port: int
    path: str
    number: Address | None

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"


def read_url(url: str, longest: int = LONGEST) -> Target:
    """Raises `AddressForbidden` for what is no plain address of the web, however it is spelt."""
    if len(url) > longest:
        raise AddressForbidden(f"The address is longer than {longest:,} characters.")
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise AddressForbidden("The address has white space or a backslash in it.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressForbidden("The address cannot be understood: its host or its port is wrong.") from None
    if parts.scheme not in ("http", "https"):
        raise AddressForbidden("Only addresses that begin with http:// or https:// are visited.")
    if "@" in parts.netloc:
        raise AddressForbidden("An address with a user or a password in it is not visited.")
    host, number = read_host(parts.hostname or "")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = f"?{quote(parts.query, safe='/%:@!$&()*+,;=~-._?')}" if parts.query else ""
    return Target(parts.scheme, host, port or {"http": 80, "https": 443}[parts.scheme], path + query, number)


def read_host(host: str) -> tuple[str, Address | None]:
    """The usual form of a name, or of a number in any of its spellings: `127.1`, `0x7f000001`, `[::ffff:127.0.0.1]`."""
    try:
        plain = host.rstrip(".") if ":" in host or host.isascii() else host.encode("idna").decode().rstrip(".")
    except UnicodeError:
        raise AddressForbidden("The host of the address is no name of a host.") from None
    plain = plain.lower()
    if ":" in plain:
        return read_number(plain)
    labels = plain.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # a name never ends with a number
        try:
            return read_number(socket.inet_ntoa(socket.inet_aton(plain)))
        except OSError:
            raise AddressForbidden("The host of the address is a number, and a wrong one.") from None
    if len(plain) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise AddressForbidden("The host of the address is no name of a host.")
    return plain, None


def read_number(text: str) -> tuple[str, Address]:
    try:
        number = ip_address(text)
    except ValueError:
        raise AddressForbidden("The host of the address is a number, and a wrong one.") from None
    if isinstance(number, IPv6Address) and number.scope_id:
        raise AddressForbidden("An address that names a network card is not visited.")
    return str(number), number


class Policy:
    """What may be visited: public addresses, and what is in `allow`: networks (`10.0.0.0/8`), names of hosts, and
    single places (`host:port`).

    A name of a host is allowed wherever it leads; `.example.com` stands for all names that end so. Where `only` is
    given, no other hosts than those are visited at all. Raises `ValueError` for what is none of these.
    """

    def __init__(self, allow: Sequence[str] = (), only: Sequence[str] = ()) -> None:
        self._networks: list[Network] = []
        self._names: list[str] = []
        self._places: set[tuple[str, int]] = set()
        for entry in allow:
            if place := read_place(entry):
                self._places.add(place)
            elif network := read_network(entry):
                self._networks.append(network)
            else:
                self._names.append(read_name(entry))
        self._only = [read_name(entry) for entry in only]

    def check_host(self, target: Target) -> None:
        if self._only and not is_named(target.host, self._only):
            raise AddressForbidden(f"{target.host} is not one of the hosts that may be visited.")

    def choose(self, target: Target, addresses: Iterable[Address]) -> list[Address]:
        """All addresses of a host, if all may be visited; a public one does not excuse a private one beside it.

        Raises `AddressForbidden`, with the rule.
        """
        found = list(addresses)
        if is_named(target.host, self._names) or (target.host, target.port) in self._places:
            return found
        reason = next(filter(None, map(self.refusal, found)), None if found else "no address")
        if reason is not None:
            raise AddressForbidden(f"{target.host} leads to {reason}; {PUBLIC_ONLY}.")
        return found

    def refusal(self, address: Address) -> str | None:
        """What sort of address it is, where that sort is not visited."""
        if inside := embedded(address):
            return next(filter(None, map(self.refusal, inside)), None)
        return None if any(address in network for network in self._networks) else sort_of(address)


def embedded(address: Address) -> tuple[IPv4Address, ...]:
    """The addresses of IPv4 that one of IPv6 is only another way to write, or leads to."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    return address.teredo or ()


def sort_of(address: Address) -> str | None:
    """None for a public one."""
    if address in PLATFORMS:
        return "an address of a cloud's own services"
    if any(address in network for network in TUNNELS) and not (address.is_loopback or address.is_unspecified):
        return "an address that hides another"
    sorts = {
        "this very machine": address.is_loopback or address.is_unspecified,
        "a link-local address": address.is_link_local,
        "a multicast address": address.is_multicast,
        "a private network": address.is_private,
    }
    found = next((sort for sort, is_so in sorts.items() if is_so), None)
    return found or (None if is_public(address) else "an address that is not public")


def is_public(address: Address) -> bool:
    if any(address in network for network in RESERVED):
        return False
    return address.is_global and (isinstance(address, IPv4Address) or address in UNICAST)


_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]/]+):([0-9]{1,5})")


def read_place(entry: str) -> tuple[str, int] | None:
    """`host:port`, with an IPv6 address in brackets; None for what is neither."""
    match = _PLACE.fullmatch(entry)
    if match is None:
        return None
    try:
        host, _ = read_host(match[1].strip("[]"))
    except AddressForbidden as error:
        raise ValueError(f"{entry!r} is no place: {error}") from None
    if not 0 < int(match[2]) < 65536:
        raise ValueError(f"{entry!r} is no place: a port is a number from 1 to 65535.")
    return host, int(match[2])


def read_network(entry: str) -> Network | None:
    """None for a name."""
    try:
        return ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        if "/" in entry:
            raise ValueError(f"{entry!r} is no network: write it as 10.0.0.0/8 or fd00::/8.") from None
        return None


def read_name(entry: str) -> str:
    name = entry.lower().rstrip(".")
    if not all(map(_LABEL.fullmatch, name.removeprefix(".").split("."))):
        raise ValueError(f"{entry!r} is no network and no name of a host: write 10.0.0.0/8, host.name or .host.name.")
    return name


def is_named(host: str, names: Iterable[str]) -> bool:
    return any(host == name or (name.startswith(".") and f".{host}".endswith(name)) for name in names)
