"""The lease by which this process counts as alive, for readiness and metrics."""

from typing import Protocol


class HeldLease(Protocol):
    @property
    def seconds(self) -> float:
        """How long other processes wait without a renewal before they take over the runs of this one."""
        ...

    @property
    def age_s(self) -> float:
        """Seconds since the last renewal that succeeded. Above `seconds`, other processes may have taken over."""
        ...
