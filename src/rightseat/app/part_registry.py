"""The parts of one configuration, by name, for agents, toolboxes and guards that are built from others."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from rightseat import parts
from rightseat.core.agent import Agent, AgentGroup, is_durable
from rightseat.core.artifacts import Artifacts
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import ConfigError
from rightseat.core.events import Event
from rightseat.core.model import Model
from rightseat.core.tools import Toolbox
from rightseat.operations.own_memories import OwnMemories
from rightseat.operations.pins import PinStore
from rightseat.operations.secret_uses import SecretUseStore
from rightseat.toolboxes import functions


class PartRegistry:
    def __init__(
        self,
        models: Mapping[str, Model],
        own: Sequence[Toolbox],
        artifacts: Artifacts,
        pins: PinStore | None = None,
        secret_uses: SecretUseStore | None = None,
        memories: OwnMemories | None = None,
    ) -> None:
        self.models = models
        self.own = own
        self.artifacts = artifacts
        self.pins = pins
        self.secret_uses = secret_uses
        self.memories = memories
        self.named: Mapping[str, Toolbox] = {}
        self.agents: Mapping[str, Agent] = {}
        self.loaded: dict[str, Toolbox] = {}
        self.given_models = 0
        """How often a part has asked for a model."""

    def model(self, name: str) -> Model:
        self.given_models += 1
        try:
            return self.models[name]
        except KeyError:
            raise ConfigError(f"No model is named {name!r}.{parts.hint(name, self.models)}") from None

    def toolbox(self, name: str) -> Toolbox:
        try:
            return self.named[name]
        except KeyError:
            raise ConfigError(f"No toolbox is named {name!r}.{parts.hint(name, self.named)}") from None

    def agent(self, name: str) -> Agent:
        return AgentReference(name, self)

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        named = list(references)
        for reference in named:
            if reference not in self.loaded:
                self.loaded[reference] = functions.as_toolbox(parts.load(reference), reference)
        return (*self.own, *(self.loaded[reference] for reference in named))


class AgentReference:
    """A reference to an agent that may not be built yet: two agents may name each other."""

    def __init__(self, name: str, registry: PartRegistry) -> None:
        self._name = name
        self._registry = registry

    @property
    def _agent(self) -> Agent:
        part, _, member = self._name.partition("/")
        if member and isinstance(roster := self._registry.agents.get(part), AgentGroup):
            return roster.member(member)
        try:
            return self._registry.agents[self._name]
        except KeyError:
            raise ConfigError(
                f"No agent is named {self._name!r}.{parts.hint(self._name, self._registry.agents)}"
            ) from None

    @property
    def description(self) -> str:
        return self._agent.description

    @property
    def durable(self) -> bool:
        return is_durable(self._agent)

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        return self._agent.run(ask, steps)
