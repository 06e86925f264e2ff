"""The seam to whatever answers."""

from collections.abc import AsyncIterator
from typing import Protocol

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event


class Agent(Protocol):
    """Answers an ask with events.

    It does not write `RunStarted`, `RunFinished("done")` or `RunFailed`: the runtime does, when the iterator begins,
    ends or raises. It may end with `RunFinished("waiting")` where the client has calls to run. What must not be done
    twice when a run goes on elsewhere after a crash (a tool with an effect) is done through `steps`.

    An agent all of whose work is done through `steps` may have an attribute `durable` that is true: its runs then do go
    on elsewhere.
    """

    description: str
    """What it is good for: read by people who choose an agent, and by models that may hand over to it."""

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]: ...
