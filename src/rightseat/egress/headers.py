"""Builds the variable headers of a request to an agent or tool server: forwarded ones, and those of the header hook.

Forwarded headers come from the client's request, if the configuration lists them. The header hook is a function of the
operator's; its headers override forwarded ones.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rightseat import parts
from rightseat.core.ask import Ask
from rightseat.core.errors import HeaderHookFailed, RightseatError
from rightseat.egress.request import write_headers
from rightseat.egress.service import select_headers

logger = logging.getLogger(__name__)

HOOK_TIMEOUT_S = 10.0
MAX_HEADERS_BYTES = 16 * 1024  # names and values; many servers refuse more
RESERVED = frozenset(
    {"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host"}
    | {"keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"}
)

HeaderHook = Callable[[Ask], Awaitable[Mapping[str, str]]]


class RequestHeaders:
    """`fixed` are the names that the configuration sets: neither a client nor the hook overrides those."""

    def __init__(self, fixed: Mapping[str, Any], forward: tuple[str, ...], hook: str | None = None) -> None:
        self._fixed = {name.lower() for name in fixed}
        self._forward = forward
        self._name = hook
        self._hook: HeaderHook | None = None if hook is None else parts.require_async(parts.load(hook))

    @property
    def has_hook(self) -> bool:
        return self._hook is not None

    def select(self, ask: Ask) -> dict[str, str]:
        """The forwarded headers of the client's request."""
        return select_headers(ask.headers, self._forward)

    async def make(self, ask: Ask) -> dict[str, str]:
        """Raises `HeaderHookFailed`, or the `RightseatError` with which the hook refuses the request."""
        headers = {name.lower(): value for name, value in self.select(ask).items()}
        if self._hook is None:
            return headers
        try:
            async with asyncio.timeout(HOOK_TIMEOUT_S):
                returned = await self._hook(ask)
        except RightseatError:
            raise
        except TimeoutError as error:
            raise self._failed(f"it did not return within {HOOK_TIMEOUT_S:g} s") from error
        except Exception as error:
            logger.exception("run %s: the header hook %s failed", ask.run_id, self._name)
            raise self._failed(f"it raised {type(error).__name__}; the server's log has more") from error
        return headers | self._check(returned)

    def _check(self, returned: object) -> dict[str, str]:
        """Values are secrets, so no message contains one."""
        if not isinstance(returned, Mapping):
            raise self._failed(f"it returned {type(returned).__name__} instead of a mapping of header names to values")
        headers: dict[str, str] = {}
        for name, value in returned.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise self._failed(f"the name and the value of the header {name!r} must both be str")
            lower = name.lower()
            if lower in RESERVED:
                raise self._failed(f"the server sets the header {name!r} itself")
            if lower in self._fixed:
                raise self._failed(f"the header {name!r} is set in the configuration as well; remove it there or here")
            headers[lower] = value
        try:
            size = len(write_headers(headers))
        except ValueError as error:
            raise self._failed(str(error)) from None
        if size > MAX_HEADERS_BYTES:
            raise self._failed(f"its headers have {size:,} bytes; at most {MAX_HEADERS_BYTES:,} are sent")
        return headers

    def _failed(self, problem: str) -> HeaderHookFailed:
        return HeaderHookFailed(f"The header hook {self._name!r} failed, so no request was sent: {problem}.")
