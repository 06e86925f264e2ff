"""The runtime in which cases are replayed: the agents, models and guards of a configuration, without a server.

Threads, events and files are in memory, and deleted with their attempt. Hooks do not run: they may have effects.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from rightseat.app.builder import build_agents, build_face_toolboxes, redactor_of
from rightseat.app.fingerprint import fingerprint_of
from rightseat.app.part_registry import PartRegistry
from rightseat.config import Config
from rightseat.copilot.storage import in_memory
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.model import Model, SupportsReadiness
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Toolbox
from rightseat.egress.redaction import redact_logs
from rightseat.engines.local import LocalEngine
from rightseat.evals.replay_toolbox import replay_agent
from rightseat.limits.metered_model import CallCounter
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.toolboxes.plugins import PluginToolbox

MAX_THREADS = 10_000
"""Threads are deleted when their attempt ends, so there are as many as attempts run at once."""


@dataclass(frozen=True, slots=True)
class ReplayRuntime:
    """`fingerprint` is a hash of everything that decides how the agents answer: settings, tools, guards and version."""

    runtime: Runtime
    agents: Mapping[str, Agent]
    models: Mapping[str, Model]
    fingerprint: str


@asynccontextmanager
async def open_replay_runtime(
    config: Config, models: Mapping[str, Model] | None = None
) -> AsyncIterator[ReplayRuntime]:
    """Build and open the parts of the configuration. Raises `ConfigError`.

    `models` are those of a server, which are open already: a second one of a local model would not fit into memory.
    """
    config = in_memory(config)
    face_toolboxes = list(build_face_toolboxes(config.faces).values())
    threads = MemoryThreads(MAX_THREADS)
    registry = PartRegistry({}, face_toolboxes, threads.artifacts)
    guards = build_agents(config, registry, CallCounter(), models)
    built = dict(registry.agents)
    registry.agents = {name: replay_agent(name, agent) for name, agent in built.items()}
    runtime = Runtime(
        registry.agents,
        log=MemoryLog(),
        threads=threads,
        engine=LocalEngine(),
        models=registry.models,
        artifacts=registry.artifacts,
        guards=guards,
    )
    toolboxes = (*registry.named.values(), *registry.loaded.values(), *face_toolboxes)
    async with AsyncExitStack() as stack:
        stack.enter_context(redact_logs(redactor_of(config)))
        own_models = () if models is not None else tuple(registry.models.values())
        for part in (*own_models, *toolboxes, *built.values(), *guards):
            if isinstance(part, AbstractAsyncContextManager):
                await stack.enter_async_context(part)
        for model in own_models:
            if isinstance(model, SupportsReadiness):
                await model.wait_until_ready()
        stack.push_async_callback(runtime.close)
        await runtime.open()
        fingerprint = await find_fingerprint(config, registry.agents, toolboxes)
        yield ReplayRuntime(runtime, registry.agents, registry.models, fingerprint)


async def find_fingerprint(config: Config, agents: Mapping[str, Agent], toolboxes: Sequence[Toolbox]) -> str:
    """Of the settings of models, agents and guards, the definitions of tools, the plugins, and the version."""
    digest = sha256(fingerprint_of(config).encode())
    for guard in config.guards:
        digest.update(
            f"{guard.type}{guard.options.model_dump_json(fallback=lambda value: type(value).__qualname__)}".encode()
        )
    for name, agent in agents.items():
        if isinstance(agent, Loop):
            tools, missing = await agent.tools(Ask(messages=(), agent=name))
            shown = [(tool.name, tool.description, tool.parameters, tool.effect) for tool in tools.values()]
            digest.update(msgspec.json.encode([name, shown, missing], order="deterministic"))
    for toolbox in toolboxes:
        if isinstance(toolbox, PluginToolbox):
            plugins = toolbox.collection.registry.plugins().values()
            digest.update(msgspec.json.encode([plugin.identity for plugin in plugins]))
    return digest.hexdigest()
