"""A token that is renewed: fetched when it is first needed, and anew before it ends.

until EARLY before its end  it is used
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

from rightseat.egress.http import Asked

logger = logging.getLogger(__name__)

EARLY = 300.0  # seconds
MARGIN = 10.0
PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Token:
    """`lasts` is in seconds from now."""

    value: str = field(repr=False)
    lasts: float


class Renewed:
    """`fetch` raises our errors, and says in the log what is wrong: whoever waits gets its error."""

    def __init__(self, fetch: Callable[[], Awaitable[Token]], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._token: str | None = None
        self._known: deque[str] = deque(maxlen=4)  # the last ones: a server may still speak of the one before
        self._ends = self._renew_at = 0.0
        self._refused_at: float | None = None
        self._fetching: asyncio.Task[str] | None = None

    @property
    def known(self) -> Iterable[str]:
        return self._known

    async def get(self) -> str:
        now = self._clock()
        if self._token is None or now >= self._ends:
            return await asyncio.shield(self._renewing())  # who gives up does not end it for the others
        if now >= self._renew_at:
            _ = self._renewing()
        return self._token

    def discard(self, token: str) -> bool:
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

    def _renewing(self) -> "asyncio.Task[str]":
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._renew())
            self._fetching.add_done_callback(self._renewed)
        return self._fetching

    async def _renew(self) -> str:
        token = await self._fetch()
        now = self._clock()
        self._known.append(token.value)
        self._token, self._ends = token.value, now + token.lasts - MARGIN
        self._renew_at = max(now + token.lasts - EARLY, now + PAUSE)
        return token.value

    def _renewed(self, done: "asyncio.Task[str]") -> None:
        self._fetching = None
        if done.cancelled() or done.exception() is None:
            return
        now = self._clock()
        self._renew_at = now + PAUSE
        if self._token is not None and now < self._ends:
            logger.warning("there is no new token yet; the one that we have is good for %d s more", self._ends - now)


class Bearer:
    """Credentials that are such a token. `secrets` is what it is fetched with."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Token]],
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token = Renewed(fetch, clock)
        self._secrets = tuple(secrets)

    @property
    def secrets(self) -> Iterable[str]:
        return (*self._secrets, *self._token.known)

    async def headers(self, asked: Asked) -> Mapping[str, str]:
        return {"authorization": f"Bearer {await self._token.get()}"}

    def renews(self, refused: Mapping[str, str]) -> bool:
        return self._token.discard(refused["authorization"].removeprefix("Bearer "))

    async def aclose(self) -> None:
        await self._token.aclose()
