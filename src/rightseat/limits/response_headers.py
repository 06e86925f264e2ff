"""Headers that the core adds to the response of the current request: what is left of limits.

The application sets the dictionary for each request, and adds its content when the response begins. The task of a run
inherits it, so a run can add headers until then.
"""

from collections.abc import Mapping
from contextvars import ContextVar

RESPONSE_HEADERS: ContextVar[dict[str, str] | None] = ContextVar("rightseat_response_headers", default=None)


def add_response_headers(headers: Mapping[str, str]) -> None:
    if (found := RESPONSE_HEADERS.get()) is not None:
        found.update(headers)
