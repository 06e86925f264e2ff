"""The network that a client's address belongs to, for whatever counts clients by their address.

A provider gives each customer an IPv6 network of 64 bits or more, so every client there has as many addresses as it
wants.
"""

import ipaddress
from functools import lru_cache

IPV6_PREFIX_BITS = 64


@lru_cache(maxsize=4096)
def find_client_network(address: str) -> str:
    """An IPv4 address, also one written as IPv6, or the network of an IPv6 address. Other text stays as it is."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), IPV6_PREFIX_BITS), strict=False))
