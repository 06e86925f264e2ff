"""A token that is renewed: fetched when it is first needed, and anew before it ends.

until EARLY before its end  it is used; of one that lasts less than two EARLY, for half of its time
from then on                it is used still, while a new one is fetched, not more often than every PAUSE
its last MARGIN             nobody uses it: whoever needs one waits for the new one, one fetch for all of them
refused                     it is thrown away; a second one that is refused within PAUSE is not: it is not its age
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rightseat.core.errors import RightseatError
from rightseat.egress.request import OutgoingRequest

logger = logging.getLogger(__name__)

EARLY = 300.0  # seconds
MARGIN = 30.0
PAUSE = 30.0
UNSAID = 300.0  # seconds that a token lasts whose server does not say it

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """`lasts` is in seconds from now."""

    value: T = field(repr=False)
    lasts: float


Fetch = Callable[[], Awaitable[Token[T]]]
"""Raises our errors."""


def is_sendable(token: str) -> bool:
    """Whether it can stand in a header, and is long enough to be taken out of texts."""
    return token.isascii() and token.isprintable() and len(token) >= 4


class Renewed(Generic[T]):
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._token: T | None = None
        self._known: deque[T] = deque(maxlen=4)  # the last ones: a server may still speak of the one before
        self._ends = self._renew_at = 0.0
        self._refused_at: float | None = None
        self._fetching: asyncio.Task[T] | None = None

    @property
    def known(self) -> Iterable[T]:
        return self._known

    @property
    def is_over(self) -> bool:
        """It has ended, and none is on its way."""
        return self._fetching is None and self._clock() >= self._ends

    async def get(self, fetch: Fetch[T]) -> T:
        """Where one is fetched already, that one is waited for. Raises what `fetch` raises."""
        now = self._clock()
        if self._token is None or now >= self._ends:
            return await asyncio.shield(self._renewing(fetch))  # who gives up does not end it for the others
        if now >= self._renew_at:
            _ = self._renewing(fetch)
        return self._token

    def discard(self, token: T) -> bool:
        """It was refused. False where a new one would be as well."""
        if token != self._token:
            return True
        now = self._clock()
        if self._refused_at is not None and now - self._refused_at < PAUSE:
            return False
        self._refused_at, self._token = now, None
        return True

    async def aclose(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    def _renewing(self, fetch: Fetch[T]) -> "asyncio.Task[T]":
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._renew(fetch))
            self._fetching.add_done_callback(self._renewed)
        return self._fetching

    async def _renew(self, fetch: Fetch[T]) -> T:
        token = await fetch()
        now = self._clock()
        self._known.append(token.value)
        self._token, self._ends = token.value, now + token.lasts - MARGIN
        self._renew_at = now + max(token.lasts - EARLY, token.lasts / 2, PAUSE)
        return token.value

    def _renewed(self, done: "asyncio.Task[T]") -> None:
        self._fetching = None
        if done.cancelled() or (error := done.exception()) is None:
            return
        now = self._clock()
        self._renew_at = now + PAUSE
        if self._token is not None and now < self._ends:
            trace = None if isinstance(error, RightseatError) else error
            text = "No new token: %s The present one is valid for %d s more."
            logger.warning(text, error, self._ends - now, exc_info=trace)


class Bearer:
    """Credentials that are such a token. `secrets` is what it is fetched with."""

    def __init__(
        self,
        fetch: Fetch[str],
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token = Renewed[str](clock)
        self._fetch = fetch
        self._secrets = tuple(secrets)

    @property
    def secrets(self) -> Iterable[str]:
        return (*self._secrets, *self._token.known)

    async def headers(self, asked: OutgoingRequest) -> Mapping[str, str]:
        return {"authorization": f"Bearer {await self._token.get(self._fetch)}"}

    def is_expired(self, status: int, text: str) -> bool:
        return status == 401

    def renews(self, refused: Mapping[str, str]) -> bool:
        return self._token.discard(refused["authorization"].removeprefix("Bearer "))

    async def aclose(self) -> None:
        await self._token.aclose()
