"""Builds every part that the configuration names, and puts them together; nothing is open yet."""

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rightseat import parts
from rightseat.access.door import Doorman
from rightseat.access.threads import Scoped
from rightseat.app.fingerprint import fingerprint_of
from rightseat.app.hiring import hire
from rightseat.app.readiness import Readiness, dependencies_of
from rightseat.app.supplying import Supply
from rightseat.app.watching import together, watch
from rightseat.config import Config, HookNames, Part
from rightseat.core.admission import Admission
from rightseat.core.artifacts import Artifacts
from rightseat.core.errors import ConfigError
from rightseat.core.hooks import Hooks
from rightseat.core.model import Model
from rightseat.core.pins import PinStore
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Toolbox
from rightseat.egress.redaction import Redactor, covering_logs, secrets_of
from rightseat.stores.files import MemoryArtifacts

SHORTEST_CONFIGURED = 8  # characters: placeholders such as `ollama` are no secrets, and stand in many lines


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts, put together. `owned` are opened with the server and closed with it, in this order and in reverse.

    Without a `doorman` every door is open. `brought` are the toolboxes that faces have for all agents, by the place of
    the face. `redactor` covers the secrets of the configuration in what is logged.
    """

    runtime: Runtime
    faces: Sequence[Part]
    owned: Sequence[object] = ()
    doorman: Doorman | None = None
    brought: Mapping[int, Toolbox] = field(default_factory=dict)
    readiness: Readiness = field(default_factory=Readiness)
    redactor: Redactor = field(default_factory=Redactor)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open what must be opened. At the end runs are cancelled first, while the parts that they use still work."""
        async with AsyncExitStack() as stack:
            stack.enter_context(covering_logs(self.redactor))
            for part in self.owned:
                if isinstance(part, AbstractAsyncContextManager):
                    await stack.enter_async_context(part)
            stack.push_async_callback(self.runtime.close)
            await self.runtime.open()
            yield


def assemble(config: Config, own: Sequence[Toolbox] = ()) -> Assembly:
    """Build every part. `own` are tools that all agents get, beside those that they name."""
    log, threads, engine = (_build(part) for part in (config.log, config.threads, config.engine))
    brought = bring(config.faces)
    supply = Supply({}, (*own, *brought.values()), artifacts_of(threads), pins_of(threads))
    supply.models = build_models(config.models, supply)
    supply.named = {name: part.module.build(part.options, supply) for name, part in config.toolboxes.items()}
    agents = supply.agents = {name: part.module.build(part.options, supply) for name, part in config.agents.items()}
    guards = [part.module.build(part.options, supply) for part in config.guards]
    hooks = load_hooks(config.hooks)
    observers = watch(config)
    runtime = Runtime(
        agents,
        log=log,
        threads=Scoped(threads),
        engine=engine,
        hooks=hooks,
        models=supply.models,
        guards=guards,
        observer=together(observers),
        artifacts=supply.artifacts,
        admission=Admission(config.server.max_concurrent_runs_per_user),
        fingerprint=fingerprint_of(config),
    )
    doorman = hire(config.access)
    inside = (
        *supply.models.values(),
        *supply.named.values(),
        *supply.loaded.values(),
        *brought.values(),
        *agents.values(),
        *guards,
        *observers,
    )
    readiness = Readiness(dependencies_of(config))
    owned = (log, threads, engine, *inside, doorman, readiness)
    return Assembly(runtime, config.faces, owned, doorman, brought, readiness, redactor_of(config))


def redactor_of(config: Config) -> Redactor:
    named = (*config.models.values(), *config.toolboxes.values(), *config.agents.values())
    every = (*named, *config.guards, *config.faces, config.log, config.threads, config.engine)
    options = [config.access, *(part.options for part in every)]
    return Redactor(secrets=(secret for secret in secrets_of(options) if len(secret) >= SHORTEST_CONFIGURED))


def artifacts_of(threads: object) -> Artifacts:
    """Those that the store keeps beside its threads; in memory, for a store of somebody else's that keeps none."""
    found: Artifacts | None = getattr(threads, "artifacts", None)
    return found or MemoryArtifacts()


def pins_of(threads: object) -> PinStore | None:
    """Those that the store keeps for all servers that share it; None where a server has a store of its own."""
    found: PinStore | None = getattr(threads, "pins", None)
    return found


def bring(faces: Sequence[Part]) -> dict[int, Toolbox]:
    """What faces have for all agents."""
    makers = {place: (getattr(face.module, "toolbox", None), face) for place, face in enumerate(faces)}
    return {place: make(face.options) for place, (make, face) in makers.items() if make is not None}


def build_models(models: Mapping[str, Part], supply: Supply) -> Mapping[str, Model]:
    """Those that are built from others come last, in their order: one can name another that stands before it."""
    composed = {name: part for name, part in models.items() if len(inspect.signature(part.module.build).parameters) > 1}
    built = {name: _build(part) for name, part in models.items() if name not in composed}
    supply.models = built
    for name, part in composed.items():
        if unbuilt := [one for one in getattr(part.options, "models", ()) if one not in built]:
            which = "this very model" if unbuilt[0] == name else "made of other models and stands below it"
            raise ConfigError(f"models.{name}.models: {unbuilt[0]!r} is {which}. Name models that stand above it.")
        built[name] = part.module.build(part.options, supply)
    return {name: built[name] for name in models}


def _build(part: Part) -> Any:
    return part.module.build(part.options)


def load_hooks(names: HookNames) -> Hooks:
    return Hooks(
        before_request=[parts.require_async(parts.load(name)) for name in names.before_request],
        after_request=[parts.require_async(parts.load(name)) for name in names.after_request],
        on_error=[parts.require_async(parts.load(name)) for name in names.on_error],
    )
