"""What a part that uses a database reports about it, for metrics: how long its operations take, and its connections."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

ObserveOperation = Callable[[str, str, float], None]
"""Called after each operation, successful or not, with the kind of database, the kind of operation and the seconds.

Both kinds are constants of the code: each pair is a time series.
"""


class PoolState(NamedTuple):
    """The connections of one pool in this process. `most` is how many it may open."""

    name: str
    used: int
    idle: int
    most: int


@runtime_checkable
class ReportsDatabase(Protocol):
    def observe_operations(self, observe: ObserveOperation) -> None:
        """Call this before the part is opened."""
        ...

    def pool_states(self) -> Sequence[PoolState]: ...


def ignore_operation(system: str, operation: str, seconds: float) -> None:
    """Nothing measures operations."""
