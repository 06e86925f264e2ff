"""The seam to what keeps a run alive."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.events import Event, TextStarted, ThoughtEnded, ThoughtStarted

T = TypeVar("T")


class PartialAnswer(msgspec.Struct, frozen=True):
    """What a log has of an answer that broke off: its events, in few pieces."""

    events: tuple[Event, ...]

    @property
    def text_id(self) -> str | None:
        return next((event.message_id for event in self.events if isinstance(event, TextStarted)), None)

    @property
    def thought_id(self) -> str | None:
        """Of a thought that has no end yet."""
        if any(isinstance(event, ThoughtEnded) for event in self.events):
            return None
        return next((event.message_id for event in self.events if isinstance(event, ThoughtStarted)), None)


class HasPartialAnswer(Protocol):
    """The log of a run that another process began."""

    def partial_answer(self) -> PartialAnswer | None:
        """What the log has of the answer that comes next; None where it has nothing, or the answer cannot go on."""
        ...


class Steps(Protocol):
    """The parts of a run whose results are kept: a step that has finished is not done again when its run goes on.

    A run that goes on does the same steps in the same order; steps that are done side by side are begun in one order.
    """

    is_leaving: bool
    """This process lets go of the run, and another goes on with it: nothing more of it is to be said here."""

    @property
    def resumed(self) -> HasPartialAnswer | None:
        """The log of the process that began the run; None in a run that this process began."""
        ...

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        """Do `work`, or give back what it gave when the run did it before. `name` is unique within the run.

        What it gives is a `kind`, and can be written as JSON. What it raises is not kept.
        """
        ...

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        """What `source` says, as it says it; or what it said before, in fewer pieces, if it came to its end then."""
        ...


class Resumed(NamedTuple):
    """The ids of runs that go on, and of those that somebody had cancelled before their process died."""

    going_on: Collection[str] = ()
    cancelled: Collection[str] = ()


Perform = Callable[[Ask, Steps], Coroutine[Any, Any, object]]
"""What a run is. An engine that takes a run over from a dead process calls it again; it begins by claiming the run."""


class Engine(Protocol):
    """Runs runs. It never looks into one: it calls `perform`, and cancels it."""

    is_lasting: bool
    """Can it go on with a durable run whose process died?"""

    async def open(self, perform: Perform) -> None:
        """From now on `perform` may be called for durable runs that others have left."""
        ...

    async def start(self, ask: Ask, perform: Perform) -> bool:
        """Begin the run and return; it goes on by itself. False if another process has taken us for dead, and has
        begun it already."""
        ...

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        """See to it that durable runs whose process died go on, here or elsewhere.

        One that died too often without finishing a step is not tried again.
        """
        ...

    async def cancel(self, run_id: str) -> bool:
        """End a run early. False if it is not running. Returns when the run has written its last event."""
        ...

    async def forget(self, run_ids: Sequence[str]) -> None:
        """Delete all that is kept of these runs: what was asked, and the results of their steps.

        One that still runs keeps nothing more. Can be called where the engine is not open, too.
        """
        ...

    async def unsettled(self) -> Sequence[str]:
        """Runs of other processes that are kept as going on. Some may have ended when their process died."""
        ...

    async def close(self) -> None:
        """Cancel what still runs, and wait for it. Durable runs are left for others instead."""
        ...
