"""The interface of limits on reads: a request waits for its place before it reads what is stored.

`rightseat.limits.read_limits` implements it, and whatever serves a request sets `READS` for it.
"""

from contextvars import ContextVar
from typing import Protocol


class HeldReads(Protocol):
    """The place of one request among the reads of its user."""

    async def hold(self) -> None:
        """Take a place, unless this request has one. Raises a `ConcurrencyLimitExceeded`."""
        ...

    def leave(self) -> None:
        """The request starts a run: from now on it is bounded by the limits of runs."""
        ...


READS: ContextVar[HeldReads | None] = ContextVar("rightseat_reads", default=None)
"""Those of the current request; None outside of requests."""


async def hold_read() -> None:
    """Called by whatever reads what is stored, before it does. Raises a `ConcurrencyLimitExceeded`."""
    if (reads := READS.get()) is not None:
        await reads.hold()


def leave_reads() -> None:
    if (reads := READS.get()) is not None:
        reads.leave()
