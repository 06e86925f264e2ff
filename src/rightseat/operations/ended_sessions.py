"""The protocol of the store for sessions that browsers have ended, which all servers of a store share."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class EndedSession(NamedTuple):
    """`number` is greater than those of sessions that ended before. `expires_at` is in seconds since 1970."""

    number: int
    id: str
    expires_at: float


class EndedSessionStore(Protocol):
    async def end(self, id: str, expires_at: float) -> None:
        """Store that the session has ended; it is forgotten when it would have expired. Repeated calls do nothing."""
        ...

    async def find(self, after: int) -> Sequence[EndedSession]:
        """Those with a greater number, in one cheap statement, for servers that ask every other second."""
        ...
