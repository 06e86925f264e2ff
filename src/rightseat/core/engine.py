"""The engine protocol: an engine executes runs, and resumes durable runs whose process died."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.events import Event, ReasoningEnded, ReasoningStarted, TextStarted

T = TypeVar("T")


class PartialResponse(msgspec.Struct, frozen=True):
    """The logged events of an interrupted response, compacted."""

    events: tuple[Event, ...]

    @property
    def text_id(self) -> str | None:
        return next((event.message_id for event in self.events if isinstance(event, TextStarted)), None)

    @property
    def reasoning_id(self) -> str | None:
        """The id of reasoning that has not ended."""
        if any(isinstance(event, ReasoningEnded) for event in self.events):
            return None
        return next((event.message_id for event in self.events if isinstance(event, ReasoningStarted)), None)


class HasPartialResponse(Protocol):
    """The log of a run that another process began."""

    def partial_response(self) -> PartialResponse | None:
        """The logged part of the next response; None if the log has nothing of it, or it cannot be continued."""
        ...


class Steps(Protocol):
    """The steps of a run. Their results are saved: a finished step is not repeated when its run is resumed.

    A resumed run executes the same steps in the same order; concurrent steps are started in a fixed order.
    """

    is_shutting_down: bool
    """Another process will resume the run: this one must write no more events."""

    @property
    def resumed(self) -> HasPartialResponse | None:
        """The log of the process that began the run; None in a run that this process began."""
        ...

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        """Run `work`, or return its saved result from an earlier execution. `name` is unique within the run.

        The result is a `kind` and can be encoded as JSON. Exceptions are not saved.
        """
        ...

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        """Stream the events of `source`; or the saved events, compacted, if an earlier execution completed it."""
        ...


class DirectSteps:
    """Steps that are executed without being saved: no other process can resume the run."""

    is_shutting_down = False
    resumed = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await work()

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return source()


class Resumed(NamedTuple):
    """The ids of resumed runs, and of runs that were cancelled before their process died."""

    going_on: Collection[str] = ()
    cancelled: Collection[str] = ()


Perform = Callable[[Ask, Steps], Coroutine[Any, Any, object]]
"""Executes a run. An engine that takes over a run from a dead process calls it again; it first claims the run."""


class Engine(Protocol):
    """Executes runs without knowledge of their content: it calls `perform`, and cancels it::

        async def start_and_cancel(engine: Engine, ask: Ask, perform: Perform) -> bool:
            await engine.open(perform)
            await engine.start(ask, perform)
            was_running = await engine.cancel(ask.run_id)
            await engine.close()
            return was_running

    `perform` writes the last event of the run, also when it is cancelled or fails. It raises `StaleWriter` if another
    process has taken the run over. An engine without durable runs passes steps that save nothing. `tests/engines` has
    the contract.
    """

    supports_durable: bool
    """Whether it can resume a durable run whose process died."""

    async def open(self, perform: Perform) -> None:
        """From now on the engine may call `perform` for durable runs of other processes."""
        ...

    async def start(self, ask: Ask, perform: Perform) -> bool:
        """Start the run and return without waiting for it. False if another process considers this one dead and has
        already started the run."""
        ...

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        """Resume durable runs whose process died, in this process or another.

        A run whose processes died too often without finishing a step is not retried.
        """
        ...

    async def cancel(self, run_id: str) -> bool:
        """End a run early. False if it is not running.

        Returns when the run has written its last event, if it is one of this process.
        """
        ...

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Delete all stored data of these runs: their asks and the results of their steps.

        A run in progress stores nothing more. Can also be called while the engine is not open.
        """
        ...

    async def unsettled(self) -> Sequence[str]:
        """Runs of other processes that are stored as in progress. Some may have ended when their process died."""
        ...

    async def close(self) -> None:
        """Cancel the remaining runs and wait for them. Durable runs are left to other processes instead."""
        ...
