"""Validates the URLs of servers that the operator names."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

LOOPBACK_NAMES = ("localhost", "localhost.localdomain")
URL_TARGET = re.compile(r"[!-~]*")
_HOST = re.compile(r"[0-9A-Za-z_:%-]{1,63}(\.[0-9A-Za-z_-]{1,63})*\.?")


def parse_base_url(base_url: str) -> SplitResult:
    """Raises `ValueError`, with a message for the operator."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("the address should begin with http:// or https:// and the name of a host")
    if "@" in parts.netloc:
        raise ValueError("the address should hold no user and no password; send them in a header")
    if not URL_TARGET.fullmatch(parts.path + parts.query):
        raise ValueError("the address should hold plain characters only, others as %-escapes")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("the port of the address should be a number up to 65535") from None
    return parts


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK_NAMES
