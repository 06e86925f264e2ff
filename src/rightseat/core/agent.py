"""The agent protocol: an agent responds to an ask with events."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.events import Event
from rightseat.core.messages import Message
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue


class Agent(Protocol):
    """Responds to an ask with events::

        class OrderAgent:
            description = "Places an order."

            async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
                number = await steps.do("order", int, self._place_order)
                yield TextStarted("m1")
                yield TextDelta("m1", f"Your order is number {number}.")
                yield TextEnded("m1")

            async def _place_order(self) -> int:
                return 7

    It does not emit `RunStarted`, `RunFinished("done")` or `RunFailed`: the runtime does, when the iterator starts,
    ends or raises. It may end with `RunFinished("waiting")` if the client has to run calls. Work that must not be
    repeated when a run is resumed after a crash (a tool with an effect) is done through `steps`.

    An agent that does all its work through `steps` can be durable: see `SupportsDurability`. One agent answers many
    asks at once. `core.stream.framer` turns the chunks of a model into events; `testing.check_pairs` checks the order.
    """

    @property
    def description(self) -> str:
        """The agent's purpose, for people who choose an agent and models that may hand over to it."""
        ...

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        """Answer the ask. Closing the iterator ends the run early: what it has open is closed then.

        Clients receive the message of a `RightseatError`, such as `AgentError`; of any other only that it happened.
        """
        ...


@runtime_checkable
class SupportsDurability(Agent, Protocol):
    """An agent that does all its work through `steps`, so that another process can resume its runs."""

    @property
    def durable(self) -> bool:
        """Whether its runs are durable. Default, if an agent lacks the property: false."""
        ...


def is_durable(agent: Agent | None) -> bool:
    return isinstance(agent, SupportsDurability) and agent.durable


@runtime_checkable
class AgentGroup(Agent, Protocol):
    """A part with several agents that are discovered on request, such as those of a remote endpoint.

    The name of a member is the part's name, a slash, and the member's own name.
    """

    async def members(self, ask: Ask) -> Mapping[str, str]:
        """The names and descriptions of the members. Raises an `AgentError` if they cannot be discovered."""
        ...

    def member(self, name: str) -> Agent: ...


class AgentThread(msgspec.Struct, frozen=True):
    """A thread as its agent stores it."""

    messages: tuple[Message, ...]
    state: JsonValue = None


@runtime_checkable
class StoresThreads(Agent, Protocol):
    """An agent that stores threads itself, such as a graph with a checkpointer."""

    async def load_thread(self, ask: Ask) -> AgentThread | None:
        """The thread `ask.thread_id` of the ask's user; None if the agent has none that this user may read.

        Raises an `AgentError` if it cannot be loaded.
        """
        ...


class PluginSummary(msgspec.Struct, frozen=True):
    """A plugin as front ends show it. `questions` are suggestions for a user's first question."""

    id: str
    version: str
    name: str
    description: str
    questions: tuple[str, ...] = ()


@runtime_checkable
class ListsPlugins(Protocol):
    """An agent or a toolbox with plugins that front ends may show."""

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        """The plugins that this user may use, in this language if a plugin supports it."""
        ...


@runtime_checkable
class ExposesTools(Agent, Protocol):
    """An agent whose tools can be used without the agent."""

    async def tools(self, ask: Ask) -> tuple[Mapping[str, Tool], Sequence[str]]:
        """Return the tools by name, each with its approval, and a message for each problem with a toolbox."""
        ...
