"""Headers that the core adds to the response of the current request: what is left of limits.

The application sets the dictionary for each request, and adds its content when the response begins. The task of a run
inherits it, so a run can add headers until then. The names and forms are those of OpenAI, unless a face sets
`LIMIT_HEADERS` for its requests.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import NamedTuple

from rightseat.limits.windows import format_seconds


class LimitLevel(NamedTuple):
    """What is left of a limit. `counted` is `requests` or `tokens`; `opens_at` (unix seconds) is when more is free."""

    counted: str
    most: int
    left: int
    opens_at: float
    now: float


def write_openai_headers(level: LimitLevel) -> dict[str, str]:
    return {
        f"x-ratelimit-limit-{level.counted}": str(level.most),
        f"x-ratelimit-remaining-{level.counted}": str(level.left),
        f"x-ratelimit-reset-{level.counted}": format_seconds(max(1, level.opens_at - level.now)),
    }


RESPONSE_HEADERS: ContextVar[dict[str, str] | None] = ContextVar("rightseat_response_headers", default=None)
LIMIT_HEADERS: ContextVar[Callable[[LimitLevel], Mapping[str, str]]] = ContextVar(
    "rightseat_limit_headers", default=write_openai_headers
)


def add_response_headers(headers: Mapping[str, str]) -> None:
    if (found := RESPONSE_HEADERS.get()) is not None:
        found.update(headers)
