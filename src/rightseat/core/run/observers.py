"""What sees the runs of this process, beside the clients that follow them. All of it is fast and raises nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rightseat.core.ask import Ask
from rightseat.core.log import Writer
from rightseat.core.run.outcome import LastEvent
from rightseat.core.tracing import NO_OBSERVER, Observer

TakeoverOutcome = Literal["resumed", "cut_off"]
"""Of one run: another process goes on with it, or it is closed with what it had written."""
CountTakeover = Callable[[TakeoverOutcome], None]
"""Called once for each run that this process took over: the process that had it died, or was shut down."""


def ignore_takeover(_: TakeoverOutcome) -> None:
    """Nothing counts takeovers."""


class RunListener(Protocol):
    """Receives the starts and ends of stored runs, and the changes of threads."""

    def start(self, ask: Ask) -> None: ...

    def end(self, ask: Ask, last: LastEvent | None) -> None:
        """Without a last event, another process goes on with the run."""
        ...

    def change_thread(self, thread_id: str, owner: str, agent: str, *, is_deleted: bool = False) -> None:
        """The owner renamed, archived, unarchived or deleted a thread."""
        ...

    def close(self) -> None:
        """The server stops."""
        ...


class NullListener:
    def start(self, ask: Ask) -> None: ...

    def end(self, ask: Ask, last: LastEvent | None) -> None: ...

    def change_thread(self, thread_id: str, owner: str, agent: str, *, is_deleted: bool = False) -> None: ...

    def close(self) -> None: ...


NO_LISTENER = NullListener()


class RunListeners:
    """Several listeners as one."""

    def __init__(self, listeners: Sequence[RunListener]) -> None:
        self._listeners = listeners

    def start(self, ask: Ask) -> None:
        for listener in self._listeners:
            listener.start(ask)

    def end(self, ask: Ask, last: LastEvent | None) -> None:
        for listener in self._listeners:
            listener.end(ask, last)

    def change_thread(self, thread_id: str, owner: str, agent: str, *, is_deleted: bool = False) -> None:
        for listener in self._listeners:
            listener.change_thread(thread_id, owner, agent, is_deleted=is_deleted)

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()


class RememberedRun(Protocol):
    @property
    def recorder(self) -> Observer:
        """Observes the run."""
        ...


class RemembersRuns(Protocol):
    """Remembers transient runs, which are stored nowhere."""

    def start(self, ask: Ask, observer: Observer) -> RememberedRun:
        """Its recorder passes the spans on to `observer`."""
        ...

    def end(self, run_id: str, last: LastEvent | None) -> None:
        """Without a last event the run was cut off."""
        ...


@dataclass(frozen=True, slots=True)
class RunObservers:
    """`spans` receives the spans of all runs; without `transient_runs` nothing remembers these. `record` wraps the
    writer of a transient run whose events are stored after all."""

    spans: Observer = NO_OBSERVER
    listener: RunListener = NO_LISTENER
    transient_runs: RemembersRuns | None = None
    count_takeover: CountTakeover = ignore_takeover
    record: Callable[[Ask, Writer], Writer] | None = None
