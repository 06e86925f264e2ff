"""The sessions that browsers have ended by signing out, held in memory: a request needs no statement.

Every server asks the store every two seconds, as it does for keys (`stored_keys`). After half a minute without a
response it refuses all sessions: one of them may have ended on another server meanwhile. Without a store a session ends
on the server that its browser signed out from, until that server restarts.
"""

import asyncio
import hashlib
import time
from typing import Self

from rightseat.access.store_poll import MAX_UNCONFIRMED_S, POLL_INTERVAL_S, STATEMENT_TIMEOUT_S, StorePoll
from rightseat.core.errors import SessionsUnconfirmed, Unauthenticated
from rightseat.operations.ended_sessions import EndedSessionStore

MAX_LATE_COMMITS = 100
"""A transaction may commit after one with a greater number, so the last numbers are read again."""


class SessionEnded(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("This session was signed out. Sign in again.")


class EndedSessions:
    """`poll_interval` and `max_unconfirmed` are in seconds."""

    def __init__(
        self,
        store: EndedSessionStore | None = None,
        *,
        poll_interval: float = POLL_INTERVAL_S,
        max_unconfirmed: float = MAX_UNCONFIRMED_S,
    ) -> None:
        self._store = store
        self._max_unconfirmed = max_unconfirmed
        self._ended: dict[str, float] = {}  # the hash of its id → when it would have expired, in seconds since 1970
        self._last_number = 0
        self._poll = StorePoll(
            self._load, "sessions of browsers", interval=poll_interval, max_unconfirmed=max_unconfirmed
        )

    async def __aenter__(self) -> Self:
        if self._store is not None:
            await self._poll.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._poll.close()

    def check(self, id: str) -> None:
        """Raises `SessionEnded`, and `SessionsUnconfirmed`."""
        if hash_id(id) in self._ended:
            raise SessionEnded
        if self._store is not None and not self._poll.is_confirmed:
            raise SessionsUnconfirmed(
                f"The store of ended sessions has not been reached for {self._max_unconfirmed:g} s, so this session "
                "cannot be confirmed. Try again when the database responds."
            )

    async def end(self, id: str, expires_at: float) -> None:
        """End the session here at once, then in the store. Raises what the store raises: other servers may not know."""
        self._ended[hash_id(id)] = expires_at
        if self._store is not None:
            async with asyncio.timeout(STATEMENT_TIMEOUT_S):
                await self._store.end(hash_id(id), expires_at)

    async def refresh(self) -> None:
        if self._store is not None:
            await self._poll.refresh()

    async def _load(self) -> None:
        if self._store is None:
            return
        for session in await self._store.find(max(0, self._last_number - MAX_LATE_COMMITS)):
            self._ended[session.id] = session.expires_at
            self._last_number = max(self._last_number, session.number)
        now = time.time()
        self._ended = {id: expires_at for id, expires_at in self._ended.items() if expires_at > now}


def hash_id(id: str) -> str:
    """The store has no ids: a copy of the database shows none that a cookie has."""
    return hashlib.sha256(id.encode()).hexdigest()
