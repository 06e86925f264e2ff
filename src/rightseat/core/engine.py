"""The seam to what keeps a run alive."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from rightseat.core.ask import Ask

T = TypeVar("T")


class Steps(Protocol):
    """The parts of a run whose results are kept: a step that has finished is not done again when its run goes on."""

    async def do(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work`, or give back what it gave when the run did it before. `name` is unique within the run."""
        ...


Perform = Callable[[Ask, Steps], Coroutine[Any, Any, None]]
"""What a run is. An engine that takes a run over from a dead process calls it again; it begins by claiming the run."""


class Engine(Protocol):
    """Runs runs. It never looks into one: it calls `perform`, and cancels it."""

    async def start(self, ask: Ask, perform: Perform) -> None:
        """Begin the run and return; it goes on by itself."""
        ...

    async def cancel(self, run_id: str) -> bool:
        """End a run early. False if it is not running. Returns when the run has written its last event."""
        ...

    async def close(self) -> None:
        """Cancel what still runs, and wait for it."""
        ...
