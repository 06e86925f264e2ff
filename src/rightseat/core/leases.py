"""The lease by which this process counts as alive, and the runs that it took over: for readiness and metrics."""

from collections.abc import Callable
from typing import Literal, Protocol

TakeoverOutcome = Literal["resumed", "cut_off"]
"""Of one run: another process goes on with it, or it is closed with what it had written."""
CountTakeover = Callable[[TakeoverOutcome], None]
"""Called once for each run that this process took over: the process that had it died, or was shut down."""


class HeldLease(Protocol):
    @property
    def seconds(self) -> float:
        """How long other processes wait without a renewal before they take over the runs of this one."""
        ...

    @property
    def age_s(self) -> float:
        """Seconds since the last renewal that succeeded. Above `seconds`, other processes may have taken over."""
        ...


def ignore_takeover(_: TakeoverOutcome) -> None:
    """Nothing counts takeovers."""
