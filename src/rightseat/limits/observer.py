"""The protocol of an observer of limits, for metrics. It learns limits, agents and models, never users or keys."""

from collections.abc import Sequence
from typing import Protocol

from rightseat.limits.book import HeldAmount


class LimitObserver(Protocol):
    def admit(self, seconds: float) -> None:
        """The store took so long to admit or refuse an ask or a model call."""
        ...

    def refuse(self, limit: str, code: str) -> None:
        """A limit has refused an ask or a model call."""
        ...

    def warn(self, limit: str) -> None:
        """80 % of a budget are used."""
        ...

    def hold(self, amounts: Sequence[HeldAmount]) -> None:
        """These amounts are reserved by this process."""
        ...

    def release(self, amounts: Sequence[HeldAmount]) -> None: ...

    def spend(self, agent: str, model: str, currency: str, cost: float) -> None: ...

    def enqueue(self, limit: str) -> None:
        """An ask of this process waits for a limit."""
        ...

    def dequeue(self, limit: str, seconds: float) -> None:
        """It has waited so long, whether or not it is admitted now."""
        ...

    def downgrade(self, limit: str) -> None:
        """A limit made an ask run with another model."""
        ...


class NoLimitObserver:
    def admit(self, seconds: float) -> None: ...

    def refuse(self, limit: str, code: str) -> None: ...

    def warn(self, limit: str) -> None: ...

    def hold(self, amounts: Sequence[HeldAmount]) -> None: ...

    def release(self, amounts: Sequence[HeldAmount]) -> None: ...

    def spend(self, agent: str, model: str, currency: str, cost: float) -> None: ...

    def enqueue(self, limit: str) -> None: ...

    def dequeue(self, limit: str, seconds: float) -> None: ...

    def downgrade(self, limit: str) -> None: ...


NO_LIMIT_OBSERVER = NoLimitObserver()
