"""Caches a token: fetches it when it is first needed, and renews it before it expires.

until RENEW_BEFORE_S before expiry  it is used; a token of less than twice that lifetime, for half of it
from then on                        it is still used while a new one is fetched, at most every RETRY_INTERVAL_S
in its last EXPIRY_MARGIN_S         it is not used: requests wait for one common fetch
refused                             it is dropped, but not twice within RETRY_INTERVAL_S: age is not the cause then
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rightseat.concurrency import cancel_and_wait
from rightseat.core.errors import RightseatError
from rightseat.egress.request import OutgoingRequest

logger = logging.getLogger(__name__)

RENEW_BEFORE_S = 300.0  # seconds
EXPIRY_MARGIN_S = 30.0
RETRY_INTERVAL_S = 30.0
DEFAULT_LIFETIME_S = 300.0  # of tokens without a stated lifetime

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """`lifetime` is in seconds."""

    value: T = field(repr=False)
    lifetime: float


Fetch = Callable[[], Awaitable[Token[T]]]
"""Fetches a token. Raises a `RightseatError`."""


def is_sendable(token: str) -> bool:
    """Return whether the token is a valid header value, and long enough to be redacted."""
    return token.isascii() and token.isprintable() and len(token) >= 4


class TokenCache(Generic[T]):
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._token: T | None = None
        self._recent: deque[T] = deque(maxlen=4)  # for redaction: a server may still quote an earlier one
        self._ends = self._renew_at = 0.0
        self._refused_at: float | None = None
        self._fetching: asyncio.Task[T] | None = None

    @property
    def recent(self) -> Iterable[T]:
        return self._recent

    @property
    def is_expired(self) -> bool:
        """Whether the token has expired and no fetch is running."""
        return self._fetching is None and self._clock() >= self._ends

    async def get(self, fetch: Fetch[T]) -> T:
        """Return the cached token, or wait for the shared fetch. Raises the errors of `fetch`."""
        now = self._clock()
        if self._token is None or now >= self._ends:
            return await asyncio.shield(self._renewing(fetch))  # a cancelled caller does not cancel it for the others
        if now >= self._renew_at:
            _ = self._renewing(fetch)
        return self._token

    def discard(self, token: T) -> bool:
        """Drop a refused token. Returns false if a new one would be refused as well."""
        if token != self._token:
            return True
        now = self._clock()
        if self._refused_at is not None and now - self._refused_at < RETRY_INTERVAL_S:
            return False
        self._refused_at, self._token = now, None
        return True

    async def aclose(self) -> None:
        if self._fetching is not None:
            await cancel_and_wait(self._fetching)

    def _renewing(self, fetch: Fetch[T]) -> "asyncio.Task[T]":
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._renew(fetch))
            self._fetching.add_done_callback(self._renewed)
        return self._fetching

    async def _renew(self, fetch: Fetch[T]) -> T:
        token = await fetch()
        now = self._clock()
        self._recent.append(token.value)
        self._token, self._ends = token.value, now + token.lifetime - EXPIRY_MARGIN_S
        self._renew_at = now + max(token.lifetime - RENEW_BEFORE_S, token.lifetime / 2, RETRY_INTERVAL_S)
        return token.value

    def _renewed(self, done: "asyncio.Task[T]") -> None:
        self._fetching = None
        if done.cancelled() or (error := done.exception()) is None:
            return
        now = self._clock()
        self._renew_at = now + RETRY_INTERVAL_S
        if self._token is not None and now < self._ends:
            trace = None if isinstance(error, RightseatError) else error
            text = "No new token: %s The present one is valid for %d s more."
            logger.warning(text, error, self._ends - now, exc_info=trace)


class BearerCredentials:
    """A bearer token. Fetching it uses `secrets`."""

    def __init__(
        self,
        fetch: Fetch[str],
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token = TokenCache[str](clock)
        self._fetch = fetch
        self._secrets = tuple(secrets)

    @property
    def secrets(self) -> Iterable[str]:
        return (*self._secrets, *self._token.recent)

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:
        return {"authorization": f"Bearer {await self._token.get(self._fetch)}"}

    def is_expired(self, status: int, text: str) -> bool:
        return status == 401

    def discard_refused(self, refused: Mapping[str, str]) -> bool:
        return self._token.discard(refused["authorization"].removeprefix("Bearer "))

    async def aclose(self) -> None:
        await self._token.aclose()
