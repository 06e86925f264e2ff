"""The agent type `loop`: a model that calls tools until it responds."""

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.agent import Agent
from rightseat.core.loop import toolset
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox
from rightseat.core.loop.toolset import ApprovalPolicy
from rightseat.core.stream.framer import MAX_RESPONSE_CHARS
from rightseat.core.tools import Toolbox
from rightseat.memory.memory_agent import MemoryAgent, extend_loop
from rightseat.memory.run_memory import AgentMemory, DetachedMemory
from rightseat.parts import AgentName, ModelName, Parts, Reference, ToolboxName


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    model: ModelName = "default"
    """The model that responds."""
    instructions: str | None = None
    """Sent to the model before every conversation, as a system message."""
    description: str = ""
    """The purpose of the agent: users read it to choose an agent, models to decide whether to hand over to it."""
    max_turns: int = Field(default=16, ge=1)
    """The maximum number of model calls in one run."""
    max_response_chars: int = Field(default=MAX_RESPONSE_CHARS, ge=1)
    """The most characters of one model response, with its reasoning and the arguments of its calls. A response is kept
    in memory until it ends; a longer one is ended with the error `response_too_long`."""
    tools: tuple[Reference, ...] = ()
    """Python functions that the model may call, as `module:name` of a tool or of several."""
    toolboxes: tuple[ToolboxName, ...] = ()
    """Toolboxes whose tools the model may call, beside `tools`."""
    agents: tuple[AgentName, ...] = ()
    """Other agents that the model may ask, each as a tool of its name. The client receives their events; the model
    receives their last text."""
    approval: ApprovalPolicy = "writes"
    """Which tools ask a person before they run: `always` all that do more than read or show the conversation, `writes`
    those that change something, `never` none."""
    memory: AgentMemory | None = None
    """What the agent remembers about its users across threads. Left out: nothing, and it has no tools for it."""
    durable: bool = False
    """Whether another process resumes its runs when their process dies. Each finished model response and tool call is
    then stored, which requires the `engine` `dbos`."""


def build(options: Options, parts: Parts) -> Agent:
    toolboxes = (
        *parts.toolboxes(options.tools),
        *agent_toolboxes(options, parts),
        *map(parts.toolbox, options.toolboxes),
    )
    described = () if options.memory is None else (DetachedMemory(options.memory),)
    toolset.check((*described, *toolboxes))
    loop = Loop(
        parts.model(options.model),
        toolboxes,
        instructions=options.instructions,
        description=options.description,
        max_turns=options.max_turns,
        approval=options.approval,
        durable=options.durable,
        max_response_chars=options.max_response_chars,
    )
    if options.memory is None:
        return loop
    if parts.memories is None:
        return extend_loop(loop, DetachedMemory(options.memory))
    return MemoryAgent(loop, options.memory, parts.memories)


def agent_toolboxes(options: Options, parts: Parts) -> tuple[Toolbox, ...]:
    return (AgentToolbox({name: parts.agent(name) for name in options.agents}),) if options.agents else ()
