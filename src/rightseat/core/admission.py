"""Decides whether an ask may start now, for every face, before anything is claimed or stored for the run.

There is one limit: the number of concurrent runs per user, counted in this process. An ask is admitted once; a durable
run that this process takes over was admitted by the process that started it, so it is counted here and never refused.
A run that waits for a person has ended, so it holds no slot.
"""

from collections import Counter
from collections.abc import Callable

from rightseat.core.ask import ANYONE, Ask
from rightseat.core.errors import ConcurrencyLimitExceeded

MAX_CONCURRENT_RUNS_PER_USER = 64


class RunSlot:
    """The slot that an ask holds while it runs. A second release has no effect."""

    __slots__ = ("_release",)

    def __init__(self, release: Callable[[], None] | None = None) -> None:
        self._release = release

    def release(self) -> None:
        if self._release is not None:
            release, self._release = self._release, None
            release()


class Admission:
    """`max_concurrent_runs_per_user` applies to authenticated users; None and 0 mean no limit."""

    def __init__(self, max_concurrent_runs_per_user: int | None = MAX_CONCURRENT_RUNS_PER_USER) -> None:
        self._max_runs = max_concurrent_runs_per_user or None
        self._running: Counter[str] = Counter()

    async def admit(self, ask: Ask) -> RunSlot:
        """Raises a `LimitExceeded`. The caller must release the slot in every case."""
        if self._max_runs is not None and is_limited(ask) and self._running[ask.principal.id] >= self._max_runs:
            raise ConcurrencyLimitExceeded(self._max_runs)
        return self.take(ask)

    def take(self, ask: Ask) -> RunSlot:
        """Take a slot for a run that was admitted before."""
        if self._max_runs is None or not is_limited(ask):
            return RunSlot()
        user = ask.principal.id
        self._running[user] += 1
        return RunSlot(lambda: self._release(user))

    def running(self, user: str) -> int:
        return self._running.get(user, 0)

    def _release(self, user: str) -> None:
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]  # otherwise every user would stay in the counter


def is_limited(ask: Ask) -> bool:
    """Whether the limit applies. Unauthenticated clients share one user, so a limit would apply to all of them."""
    return ask.principal.id != ANYONE.id
