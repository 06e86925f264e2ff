"""The loop of a model and its tools, as the configuration names it."""

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core import gathering
from rightseat.core.agent import Agent
from rightseat.core.approving import Policy
from rightseat.core.framing import ANSWER_LIMIT
from rightseat.core.handing import Colleagues
from rightseat.core.loop import Loop
from rightseat.core.tools import Toolbox
from rightseat.parts import AgentName, ModelName, Parts, Reference, ToolboxName


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    model: ModelName = "default"
    """Which of the models answers."""
    instructions: str | None = None
    """What the model is told before everything else."""
    description: str = ""
    """What the agent is good for: read by people who choose one, and by models that may hand over to it."""
    rounds: int = Field(default=16, ge=1)
    """How often the model may be asked in one run; each time, it may call tools."""
    answer_limit: int = Field(default=ANSWER_LIMIT, ge=1)
    """How many characters one answer of the model may have, with its thoughts and the arguments of its calls. It is in
    memory until it has come to its end; one that goes on beyond this is ended with the error `answer_too_long`."""
    tools: tuple[Reference, ...] = ()
    """Python functions that the model may call, as `module:name` of a tool or of several."""
    toolboxes: tuple[ToolboxName, ...] = ()
    """Which of the toolboxes the model gets its tools from, beside `tools`."""
    agents: tuple[AgentName, ...] = ()
    """Other agents that the model may ask, each as a tool of its name. What they say is heard by the client, and their
    last words are what the model gets."""
    approve: Policy = "write"
    """Which tools ask a person before they run: `always` all that do more than look at or show what is there, `write`
    those that change something, `never` none."""
    durable: bool = False
    """Whether its runs go on when the server that has them dies. Each answer and each call of a tool is then kept when
    it is finished, which takes an `engine` that can: `dbos`."""


def build(options: Options, parts: Parts) -> Agent:
    toolboxes = (
        *parts.toolboxes(options.tools),
        *colleagues(options, parts),
        *map(parts.toolbox, options.toolboxes),
    )
    gathering.check(toolboxes)
    return Loop(
        parts.model(options.model),
        toolboxes,
        instructions=options.instructions,
        description=options.description,
        rounds=options.rounds,
        approve=options.approve,
        durable=options.durable,
        answer_limit=options.answer_limit,
    )


def colleagues(options: Options, parts: Parts) -> tuple[Toolbox, ...]:
    return (Colleagues({name: parts.agent(name) for name in options.agents}),) if options.agents else ()
