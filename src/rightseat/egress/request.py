"""Validates the URLs and headers of outbound requests."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

_TARGET = re.compile(r"[!-~]*")
_HOST = re.compile(r"[0-9A-Za-z_:%-]{1,63}(\.[0-9A-Za-z_-]{1,63})*\.?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")


class OutgoingRequest(NamedTuple):
    """A request that is about to be sent, for the code that signs it. `headers` are those that may be signed."""

    method: str
    host: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def parse_base_url(base_url: str) -> SplitResult:
    """Raises `ValueError`, with a message for the operator."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("the address should begin with http:// or https:// and the name of a host")
    if "@" in parts.netloc:
        raise ValueError("the address should hold no user and no password; send them in a header")
    if not _TARGET.fullmatch(parts.path + parts.query):
        raise ValueError("the address should hold plain characters only, others as %-escapes")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("the port of the address should be a number up to 65535") from None
    return parts


def write_headers(headers: Mapping[str, str]) -> str:
    """Raises `ValueError` for a header that would be parsed as two. The message omits the value: it may be secret."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in ("content-length", "transfer-encoding"):
            raise ValueError(f"a header cannot be named {name!r}")
        if not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} should be one line of plain characters")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def check_path(path: str) -> None:
    if not _TARGET.fullmatch(path):
        raise ValueError(f"{path!r} is not a path: it must start with /.")
