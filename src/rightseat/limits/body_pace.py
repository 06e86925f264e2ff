"""Bounds what one user's requests cost to receive, in memory and in time of the event loop.

Requests are decoded and prepared in the event loop. What that takes grows with the objects in the body, and with its
bytes: a kilobyte counts as an object. Each user may send so many a second; a request that comes earlier waits, and one
that would wait too long is refused. The work on large requests of all users takes turns (`rightseat.core.turns`).
Ordinary requests do not wait.

The bodies that a user sends at the same time are in memory, so their bytes are counted as they come.
"""

import asyncio
from collections import Counter

from rightseat.core.ask import ANYONE
from rightseat.core.errors import ConcurrencyLimitExceeded
from rightseat.core.turns import TURNS, Turns

CONTAINERS_PER_S = 10_000
"""Each takes 10 to 30 us, so one user uses at most a third of the time of the event loop."""
FREE_CONTAINERS = 1_000
"""A request with up to so many does not wait."""
MAX_WAIT_S = 10.0
MAX_BODY_BYTES_PER_USER = 64 * 2**20
"""Of all requests whose work has not begun."""
RETRY_AFTER_S = 5
MAX_IDLE_USERS = 1_000


class TooManyLargeRequests(ConcurrencyLimitExceeded):
    def __init__(self, wait: float) -> None:
        super().__init__(
            f"Your large requests hold more than {CONTAINERS_PER_S:,} JSON objects, arrays and kilobytes a second. "
            "Retry later, or send smaller requests.",
            retry_after=int(wait) + 1,
        )


class TooManyBodies(ConcurrencyLimitExceeded):
    def __init__(self) -> None:
        super().__init__(
            f"Your requests that are being received have more than {MAX_BODY_BYTES_PER_USER // 2**20} MB together. "
            "Retry later, or send fewer large requests at once.",
            retry_after=RETRY_AFTER_S,
        )


class BodyPace:
    """When each user may send the next large request. `ANYONE` has no limit: unauthenticated clients share that
    user."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}
        self._bytes: Counter[str] = Counter()
        self._turns = Turns()

    def add_bytes(self, user: str, count: int) -> None:
        """`remove_bytes` gives them back. Raises `TooManyBodies`, and then has counted nothing."""
        if user != ANYONE.id and self._bytes[user] + count > MAX_BODY_BYTES_PER_USER:
            raise TooManyBodies
        self._bytes[user] += count

    def remove_bytes(self, user: str, count: int) -> None:
        self._bytes[user] -= count
        if not self._bytes[user]:
            del self._bytes[user]

    async def wait(self, user: str, containers: int) -> None:
        """From then on the request takes turns with other large ones. Raises `TooManyLargeRequests`."""
        if containers <= FREE_CONTAINERS:
            return
        TURNS.set(self._turns)
        if user == ANYONE.id:
            return
        now = asyncio.get_running_loop().time()
        begins = max(now, self._free_at.get(user, now))
        if begins - now > MAX_WAIT_S:
            raise TooManyLargeRequests(begins - now)
        if len(self._free_at) > MAX_IDLE_USERS:
            self._free_at = {one: free_at for one, free_at in self._free_at.items() if free_at > now}
        self._free_at[user] = begins + containers / CONTAINERS_PER_S
        await asyncio.sleep(begins - now)
