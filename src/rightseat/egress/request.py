"""Validates the URLs and headers of outbound requests."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from rightseat.config.urls import URL_TARGET, parse_base_url

__all__ = ["OutgoingRequest", "check_path", "parse_base_url", "write_headers"]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")


class OutgoingRequest(NamedTuple):
    """A request that is about to be sent, for the code that signs it. `headers` are those that may be signed."""

    method: str
    host: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def write_headers(headers: Mapping[str, str]) -> str:
    """Raises `ValueError` for a header that would be parsed as two. The message omits the value: it may be secret."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in ("content-length", "transfer-encoding"):
            raise ValueError(f"a header cannot be named {name!r}")
        if not _VALUE.fullmatch(value):
            raise ValueError(f"the header {name!r} should be one line of plain characters")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def check_path(path: str) -> None:
    if not URL_TARGET.fullmatch(path):
        raise ValueError(f"{path!r} is not a path: it must start with /.")
