"""Decides which addresses the server may connect to for untrusted URLs (SSRF protection). It resolves no names.

A client, a model or a document may supply a URL. Without a check, the server would fetch from its own network: a
database console, a cloud's keys. So an address must be public, or allowed by the operator.
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

MAX_URL_CHARS = 4096  # characters of an address
PUBLIC_ONLY = "only public addresses are allowed unless the operator allows others"

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

NAT64 = IPv6Network("64:ff9b::/96")
TUNNELS = tuple(map(ip_network, ("64:ff9b:1::/48", "::/96", "fec0::/10")))
"""They may embed another address that cannot be known, or are deprecated."""
UNICAST = IPv6Network("2000::/3")
"""All public IPv6 addresses; Python calls some others public as well."""
RESERVED = tuple(map(ip_network, ("192.88.99.0/24", "3fff::/20")))
"""Public only according to Python: deprecated relays, and documentation examples."""
PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")
"""Endings of names that are reserved for private networks (RFC 6761, 6762, 8375, and ICANN's `internal`)."""
PLATFORMS = frozenset(map(ip_address, ("168.63.129.16", "192.0.0.192")))
"""Cloud services for their own machines at addresses that look public."""


class Target(NamedTuple):
    """A URL, parsed once, so that the request uses what was checked. `host` is a normalised name or IP address."""

    scheme: str
    host: str
    port: int
    path: str
    ip: Address | None

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"


def parse_url(url: str, max_chars: int = MAX_URL_CHARS) -> Target:
    """Raises `AddressForbidden` for anything but a plain http(s) URL."""
    if len(url) > max_chars:
        raise AddressForbidden(f"The URL is longer than {max_chars:,} characters.")
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise AddressForbidden("The URL contains whitespace or a backslash.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressForbidden("The URL is invalid: check its host and port.") from None
    if parts.scheme not in ("http", "https"):
        raise AddressForbidden("The URL must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise AddressForbidden("The URL must not contain a user name or password.")
    host, ip = parse_host(parts.hostname or "")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = f"?{quote(parts.query, safe='/%:@!$&()*+,;=~-._?')}" if parts.query else ""
    return Target(parts.scheme, host, port or {"http": 80, "https": 443}[parts.scheme], path + query, ip)


def parse_host(host: str) -> tuple[str, Address | None]:
    """The normal form of a name, or of an IP address in any notation: `127.1`, `0x7f000001`, `[::ffff:127.0.0.1]`."""
    try:
        plain = host.rstrip(".") if ":" in host or host.isascii() else host.encode("idna").decode().rstrip(".")
    except UnicodeError:
        raise AddressForbidden("The URL has an invalid host name.") from None
    plain = plain.lower()
    if ":" in plain:
        return parse_ip(plain)
    labels = plain.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # a host name never ends with a number
        try:
            return parse_ip(socket.inet_ntoa(socket.inet_aton(plain)))
        except OSError:
            raise AddressForbidden("The URL has an invalid IP address.") from None
    if len(plain) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise AddressForbidden("The URL has an invalid host name.")
    return plain, None


def parse_ip(text: str) -> tuple[str, Address]:
    try:
        ip = ip_address(text)
    except ValueError:
        raise AddressForbidden("The URL has an invalid IP address.") from None
    if isinstance(ip, IPv6Address) and ip.scope_id:
        raise AddressForbidden("The URL must not contain an IPv6 zone id.")
    return str(ip), ip


def find_private_host_port(url: str) -> str | None:
    """The `host:port` of a URL that no public address can have; None for a public address and for other host names.

    No name is resolved, so of names only those count that public DNS does not have: `localhost`, names without a dot,
    and the endings in `PRIVATE_ENDINGS`.
    """
    try:
        target = parse_url(url)
    except AddressForbidden:
        return None
    if target.ip is not None:
        is_private = AddressPolicy().explain_refusal(target.ip) is not None
    else:
        is_private = "." not in target.host or target.host.endswith(PRIVATE_ENDINGS)
    return format_host_port(target) if is_private else None


def is_listed(place: str, places: Iterable[str]) -> bool:
    """Whether the `host:port` is in the list, in any notation of its host. Invalid entries match nothing."""

    def normalize(entry: str) -> tuple[str, int] | None:
        try:
            return parse_host_port(entry)
        except ValueError:
            return None

    wanted = normalize(place)
    return wanted is not None and wanted in map(normalize, places)


def check_host_port(entry: str) -> str:
    """Raises `ValueError` for anything but one host at one port."""
    if parse_host_port(entry) is None:
        raise ValueError(f"{entry!r} is not host:port: write one host at one port, such as 10.0.0.5:8080.")
    return entry


def format_host_port(target: Target) -> str:
    return f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"


class AddressPolicy:
    """Allows public addresses and `allow`: networks (`10.0.0.0/8`), host names, and `host:port`.

    An allowed host name may resolve to any address; `.example.com` matches all names with that ending. With `only`, no
    other hosts are allowed at all. Raises `ValueError` for an invalid entry.
    """

    def __init__(self, allow: Sequence[str] = (), only: Sequence[str] = ()) -> None:
        self._networks: list[Network] = []
        self._names: list[str] = []
        self._host_ports: set[tuple[str, int]] = set()
        for entry in allow:
            if host_port := parse_host_port(entry):
                self._host_ports.add(host_port)
            elif network := parse_network(entry):
                self._networks.append(network)
            else:
                self._names.append(parse_host_pattern(entry))
        self._only = [parse_host_pattern(entry) for entry in only]

    def check_host(self, target: Target) -> None:
        if self._only and not matches_host_pattern(target.host, self._only):
            raise AddressForbidden(f"{target.host} is not an allowed host.")

    def check_addresses(self, target: Target, addresses: Iterable[Address]) -> list[Address]:
        """All addresses of a host, if all are allowed: one private address among public ones is enough to refuse.

        Raises `AddressForbidden`, with the rule.
        """
        found = list(addresses)
        if matches_host_pattern(target.host, self._names) or (target.host, target.port) in self._host_ports:
            return found
        reason = next(filter(None, map(self.explain_refusal, found)), None if found else "no address")
        if reason is not None:
            message = f"{target.host} resolves to {reason}; {PUBLIC_ONLY}."
            raise AddressForbidden(message, blocked=format_host_port(target))
        return found

    def explain_refusal(self, address: Address) -> str | None:
        """The kind of a forbidden address; None if it is allowed."""
        if inside := embedded_ipv4(address):
            return next(filter(None, map(self.explain_refusal, inside)), None)
        return None if any(address in network for network in self._networks) else describe_non_public(address)


def embedded_ipv4(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address contains or leads to."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    return address.teredo or ()


def describe_non_public(address: Address) -> str | None:
    """The kind of a non-public address; None for a public one."""
    if address in PLATFORMS:
        return "a cloud metadata address"
    if any(address in network for network in TUNNELS) and not (address.is_loopback or address.is_unspecified):
        return "an address that embeds another one"
    sorts = {
        "a loopback address": address.is_loopback or address.is_unspecified,
        "a link-local address": address.is_link_local,
        "a multicast address": address.is_multicast,
        "a private address": address.is_private,
    }
    found = next((sort for sort, is_so in sorts.items() if is_so), None)
    return found or (None if is_public(address) else "a non-public address")


def is_public(address: Address) -> bool:
    if any(address in network for network in RESERVED):
        return False
    return address.is_global and (isinstance(address, IPv4Address) or address in UNICAST)


_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]/]+):([0-9]{1,5})")


def parse_host_port(entry: str) -> tuple[str, int] | None:
    """`host:port`, with an IPv6 address in brackets; None for anything else."""
    match = _PLACE.fullmatch(entry)
    if match is None:
        return None
    try:
        host, _ = parse_host(match[1].strip("[]"))
    except AddressForbidden as error:
        raise ValueError(f"{entry!r} is not a valid host:port: {error}") from None
    if not 0 < int(match[2]) < 65536:
        raise ValueError(f"{entry!r} is not a valid host:port: a port is a number from 1 to 65535.")
    return host, int(match[2])


def parse_network(entry: str) -> Network | None:
    """None for a host name."""
    try:
        return ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        if "/" in entry:
            raise ValueError(f"{entry!r} is not a network: write it as 10.0.0.0/8 or fd00::/8.") from None
        return None


def parse_host_pattern(entry: str) -> str:
    name = entry.lower().rstrip(".")
    if not all(map(_LABEL.fullmatch, name.removeprefix(".").split("."))):
        raise ValueError(f"{entry!r} is not a network or a host name: write 10.0.0.0/8, host.name or .host.name.")
    return name


def matches_host_pattern(host: str, names: Iterable[str]) -> bool:
    return any(host == name or (name.startswith(".") and f".{host}".endswith(name)) for name in names)
