"""Decides whether an ask may begin now. Every face comes past here, before anything is claimed or kept for the run.

Today one limit applies: how many runs a user may have at once. It is counted in this process. An ask is admitted once;
a durable run that this process takes over was admitted where it began, so it is counted here and never refused.
A run that waits for a person has ended, so it holds no slot.
"""

from collections import Counter
from collections.abc import Callable

from rightseat.core.ask import ANYONE, Ask
from rightseat.core.errors import ConcurrencyLimitExceeded

MAX_CONCURRENT_RUNS_PER_USER = 64


class Slot:
    """What an ask holds while it runs. To release it twice is to release it once."""

    __slots__ = ("_release",)

    def __init__(self, release: Callable[[], None] | None = None) -> None:
        self._release = release

    def release(self) -> None:
        if self._release is not None:
            release, self._release = self._release, None
            release()


class Admission:
    """`max_concurrent_runs_per_user` applies to authenticated users; None and 0 are no limit."""

    def __init__(self, max_concurrent_runs_per_user: int | None = MAX_CONCURRENT_RUNS_PER_USER) -> None:
        self._max_runs = max_concurrent_runs_per_user or None
        self._running: Counter[str] = Counter()

    async def admit(self, ask: Ask) -> Slot:
        """Raises a `LimitExceeded`. Whoever gets a slot releases it, however the ask ends."""
        if self._max_runs is not None and is_limited(ask) and self._running[ask.principal.id] >= self._max_runs:
            raise ConcurrencyLimitExceeded(self._max_runs)
        return self.take(ask)

    def take(self, ask: Ask) -> Slot:
        """A slot for a run that was admitted before."""
        if self._max_runs is None or not is_limited(ask):
            return Slot()
        user = ask.principal.id
        self._running[user] += 1
        return Slot(lambda: self._release(user))

    def running(self, user: str) -> int:
        return self._running.get(user, 0)

    def _release(self, user: str) -> None:
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]  # users come and go


def is_limited(ask: Ask) -> bool:
    """All who come without a credential are one user, so a limit on it would be one for everyone."""
    return ask.principal.id != ANYONE.id
