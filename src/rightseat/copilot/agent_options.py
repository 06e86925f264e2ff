"""An agent as Python code describes it: a model with its instructions and tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rightseat.core.loop.toolset import ApprovalPolicy
from rightseat.core.model import Model
from rightseat.core.tools import Tool, Toolbox
from rightseat.memory.run_memory import AgentMemory
from rightseat.toolboxes.functions import Function


@dataclass(frozen=True)
class AgentOptions:
    """A model that calls tools until it responds. `rightseat.Agent` is this class.

    `model` is like "openai:gpt-4o-mini", a name in `models`, or a model object. `tools` are functions, `toolboxes`
    names in `toolboxes` or objects. `agents` are names of other agents, which the model may ask. `description` tells
    people and models what the agent is for. A `durable` run is continued by another process if its own dies. With
    `memory`, such as `{}`, the agent remembers facts about its users across threads.

        Agent("openai:gpt-4o-mini", instructions="You explain figures.", tools=[my_orders])
    """

    model: Model | str | None = None
    tools: Sequence[Function | Tool] = ()
    toolboxes: Sequence[str | Toolbox] = ()
    agents: Sequence[str] = ()
    instructions: str | None = None
    description: str = ""
    approval: ApprovalPolicy = "writes"
    max_turns: int = 16
    durable: bool = False
    memory: AgentMemory | Mapping[str, Any] | None = None
