"""Stops runs that another process executes: the request is stored, and that process finds it within half a second."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

POLL_INTERVAL_S = 0.5


class Stops(Protocol):
    async def request(self, run_id: str) -> bool:
        """Ask the process that executes the run to cancel it. False if no other process executes it."""
        ...

    async def find_requested(self) -> Sequence[str]:
        """The runs of this process that another one wants cancelled."""
        ...


@runtime_checkable
class StoresStops(Protocol):
    """A thread store through which processes stop each other's runs."""

    @property
    def stops(self) -> Stops | None:
        """None if no other process uses the store."""
        ...
