"""The seam to whatever answers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.events import Event
from rightseat.core.tools import Tool


class Agent(Protocol):
    """Answers an ask with events.

    It does not write `RunStarted`, `RunFinished("done")` or `RunFailed`: the runtime does, when the iterator begins,
    ends or raises. It may end with `RunFinished("waiting")` where the client has calls to run. What must not be done
    twice when a run goes on elsewhere after a crash (a tool with an effect) is done through `steps`.

    An agent all of whose work is done through `steps` may have an attribute `durable` that is true: its runs then do go
    on elsewhere.
    """

    @property
    def description(self) -> str:
        """What it is good for: read by people who choose an agent, and by models that may hand over to it."""
        ...

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]: ...


def is_durable(agent: Agent | None) -> bool:
    return getattr(agent, "durable", False)


@runtime_checkable
class Roster(Agent, Protocol):
    """A part that stands for several agents, which it finds when it is asked: those of a remote endpoint.

    The runtime calls one of them by the part's name, a slash, and its own.
    """

    async def members(self, ask: Ask) -> Mapping[str, str]:
        """Their names, and what each is good for. Raises an `AgentError` where they cannot be had."""
        ...

    def member(self, name: str) -> Agent: ...


class PluginSummary(msgspec.Struct, frozen=True):
    """What front ends show of a plugin. `questions` are those that a user may begin with."""

    id: str
    version: str
    name: str
    description: str
    questions: tuple[str, ...] = ()


@runtime_checkable
class ListsPlugins(Protocol):
    """An agent or a toolbox with plugins that people may be shown."""

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        """Those that this user may use, in this language where a plugin has it."""
        ...


@runtime_checkable
class Equipped(Agent, Protocol):
    """An agent with tools that others may use without it."""

    async def tools(self, ask: Ask) -> tuple[Mapping[str, Tool], Sequence[str]]:
        """By name, each with the approval that it needs; and why some that it has elsewhere are not to be had."""
        ...
