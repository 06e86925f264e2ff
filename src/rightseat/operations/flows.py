"""Flows as front ends show them: a list, and the graph of each. The positions of the steps are up to the front end."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.agent import Agent
from rightseat.core.ask import Principal
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.types import JsonValue


class FlowSummary(msgspec.Struct, frozen=True):
    """`digest` identifies the version of the plugin. `asks`: some step needs an approval. `steps` is their number."""

    plugin: str
    flow: str
    digest: str
    description: str
    steps: int
    asks: bool


class FlowNode(msgspec.Struct, frozen=True):
    """A step. `text` describes what it does; the flow ends after a node with `is_last`.

    `definition` holds the author's parameters, with prompts and statements: it is for operators only.
    """

    name: str
    call: str
    text: str = ""
    dangerous: bool = False
    is_last: bool = msgspec.field(default=False, name="last")
    definition: JsonValue = None


class FlowEdge(msgspec.Struct, frozen=True):
    """`label` is the reason to follow the edge; with `is_condition` code decides, otherwise a model."""

    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")
    label: str = ""
    is_condition: bool = msgspec.field(default=False, name="condition")


class FlowGraph(msgspec.Struct, frozen=True):
    """`on_error` follows any step that fails. `next_flows` are the flows that the author suggests next."""

    name: str
    description: str
    digest: str
    nodes: tuple[FlowNode, ...] = msgspec.field(name="steps")
    edges: tuple[FlowEdge, ...]
    on_error: FlowNode
    next_flows: tuple[str, ...] = msgspec.field(default=(), name="suggests")


@runtime_checkable
class ListsFlows(Protocol):
    """An agent or a toolbox with flows that front ends may draw."""

    def list_flows(self, principal: Principal) -> Sequence[FlowSummary]:
        """The flows that this user may run."""
        ...

    async def find_graph(
        self, principal: Principal, plugin: str, flow: str, digest: str | None = None
    ) -> FlowGraph | None:
        """The graph of the active version, or of the version with this digest while a copy of it is stored.

        None if there is no such flow, or if this user may not run it.
        """
        ...


def find_flow_lists(agent: Agent) -> Sequence[ListsFlows]:
    """The agent, or the toolboxes of a built-in agent, as far as they have flows."""
    loop = getattr(agent, "loop", agent)  # of an agent with memory
    parts: Sequence[object] = loop.toolboxes if isinstance(loop, Loop) else (agent,)
    return [part for part in parts if isinstance(part, ListsFlows)]
