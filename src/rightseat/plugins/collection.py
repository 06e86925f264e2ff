"""The plugins of one toolbox, with everything needed to choose and run their flows."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import msgspec

from rightseat.access.user_token import get_caller_token
from rightseat.concurrency import cancel_and_wait
from rightseat.core.agent import PluginSummary
from rightseat.core.artifacts import Artifacts
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import BadRequest, ConfigError
from rightseat.core.events import Event
from rightseat.core.model import Embedder, Model
from rightseat.core.types import JsonValue
from rightseat.operations.flows import FlowGraph, FlowSummary
from rightseat.plugins import flows, thread_files
from rightseat.plugins.ask_scope import build_scope
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.diagrams import build_graph, summarize_flow
from rightseat.plugins.flows import Dependencies, FlowCheckpoint
from rightseat.plugins.flows.dependencies import ServeStep
from rightseat.plugins.registry import PluginRegistry
from rightseat.plugins.results import StepProblem
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection import FlowChoice, FlowSearch, choose_flow, list_candidates, suggest_flows

logger = logging.getLogger(__name__)

CLEANUP_INTERVAL_S = 3600.0
DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class PluginSelection:
    """Which part of a collection may be chosen: everything, some plugins, or exactly one flow (`plugin.flow`)."""

    plugins: tuple[str, ...] | None = None
    flow: str | None = None


ALL = PluginSelection()


class Collection:
    """`owned` parts are opened and closed with it. `dependencies` builds the dependencies of a flow for a model.

    `users` maps a plugin's id to its allowed users; unlisted plugins are open to all. `artifacts` stores the
    files and charts of flows; without it, an event carries the whole file. `question_expiry_s` is how long a question
    stays open: an old version of a plugin is removed that long, and a day, after its last run.
    """

    def __init__(
        self,
        registry: PluginRegistry,
        dependencies: Callable[[Model], Dependencies],
        owned: Sequence[object] = (),
        *,
        window: int = 32_768,
        users: Mapping[str, Container[str]] | None = None,
        artifacts: Artifacts | None = None,
        question_expiry_s: float = 7 * 24 * 3600.0,
    ) -> None:
        self.registry = registry
        self._question_expiry_s = question_expiry_s
        self._dependencies = dependencies
        self._owned = owned
        self._window = window
        self._users = users or {}
        self._artifacts = artifacts
        self._stack = contextlib.AsyncExitStack()
        self._searches: dict[int, FlowSearch] = {}

    def serve_steps(self, serve: ServeStep) -> None:
        """Answer the steps of all flows with `serve` from now on, except those that call only models."""
        build = self._dependencies
        self._dependencies = lambda model: replace(build(model), serve=serve)

    async def __aenter__(self) -> Self:
        for part in (self.registry, *self._owned):
            if isinstance(part, contextlib.AbstractAsyncContextManager):
                await self._stack.enter_async_context(part)
        self._stack.push_async_callback(cancel_and_wait, asyncio.create_task(self._remove_old_copies()))
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    async def _remove_old_copies(self) -> None:
        """The first removal waits an interval, so that resumed runs can load their plugins first."""
        while True:
            await asyncio.sleep(CLEANUP_INTERVAL_S)
            try:
                await self.registry.remove_unused(self._question_expiry_s + DAY_S)
            except OSError:
                logger.exception("cannot remove old copies of plugins; the next attempt is in an hour")

    def plugins(self, user: Principal, selection: PluginSelection = ALL) -> dict[str, Plugin]:
        """The active plugins that the user may use. Raises `BadRequest` if a selected one is not among them."""
        active = {id: plugin for id, plugin in self.registry.plugins().items() if self._may_use(user, id)}
        if selection.plugins is None:
            return active
        if unknown := [name for name in selection.plugins if name not in active]:
            available = ", ".join(sorted(active)) or "none"
            raise BadRequest(f"There is no plugin {unknown[0]!r}. Available: {available}.")
        return {name: active[name] for name in selection.plugins}

    def summaries(
        self, user: Principal, language: str | None = None, among: Container[str] | None = None
    ) -> list[PluginSummary]:
        """The names, descriptions and starters of the user's plugins, for front ends."""
        plugins = [one for id, one in self.plugins(user).items() if among is None or id in among]
        return [summarize(plugin, language) for plugin in plugins]

    def list_flows(self, user: Principal) -> list[FlowSummary]:
        """The enabled flows of the user's plugins."""
        found = list_candidates(list(self.plugins(user).values()))
        return [summarize_flow(approval.plugin, approval.flow) for approval in found]

    async def find_graph(self, user: Principal, plugin: str, flow: str, digest: str | None = None) -> FlowGraph | None:
        """The graph of a flow in its active version, or in the stored version with this digest."""
        if not self._may_use(user, plugin):
            return None
        active = self.registry.plugins().get(plugin)
        version = active if digest is None else await self.registry.find_digest(plugin, digest)
        found = version.flow(flow) if version is not None else None
        return None if version is None or found is None else build_graph(version, found)

    def _may_use(self, user: Principal, id: str) -> bool:
        return id not in self._users or user.id in self._users[id]

    def find_flow(self, name: str, plugins: Mapping[str, Plugin]) -> tuple[Plugin, Flow]:
        """The flow `plugin.flow`. Raises `BadRequest`."""
        plugin_name, _, flow_name = name.partition(".")
        plugin = plugins.get(plugin_name)
        flow = plugin.flow(flow_name) if plugin is not None else None
        if plugin is None or flow is None:
            names = [f"{one.id}.{flow}" for one in plugins.values() for flow in one.flows]
            raise BadRequest(f"There is no flow {name!r}. Available: {', '.join(names) or 'none'}.")
        return plugin, flow

    def build_scope(self, ask: Ask) -> Scope:
        return replace(build_scope(ask), window=self._window)

    async def choose(self, ask: Ask, selection: PluginSelection, model: Model) -> FlowChoice:
        """A selected flow is returned without a choice."""
        plugins = self.plugins(ask.principal, selection)
        if selection.flow is not None:
            plugin, flow = self.find_flow(selection.flow, plugins)
            return FlowChoice(plugin.identity, flow.name, (selection.flow,), why="the request names it")
        scope, is_auto = self.build_scope(ask), selection.plugins is None
        caller = self._dependencies(model).model
        return await choose_flow(scope, list(plugins.values()), self.search(model), caller, auto=is_auto)

    def search(self, model: Model) -> FlowSearch:
        embedder = model if isinstance(model, Embedder) else None
        return self._searches.setdefault(id(model), FlowSearch(embedder))

    def run(
        self,
        plugin: Plugin,
        flow: Flow,
        scope: Scope,
        ask: Ask,
        steps: Steps,
        model: Model,
        *,
        prefix: str = "flow",
        checkpoint: FlowCheckpoint | None = None,
        answer: Answer | None = None,
        suggests: bool = True,
        composes: bool = True,
    ) -> AsyncIterator[Event]:
        self.registry.mark_used(plugin.identity)
        dependencies = replace(self._dependencies(model), user_token=get_caller_token(ask.principal))
        if self._artifacts is not None:
            dependencies = replace(
                dependencies, store_artifacts=partial(thread_files.store_artifacts, self._artifacts, ask)
            )

        async def suggest(checkpoint: FlowCheckpoint, last_scope: Scope) -> list[JsonValue]:
            plugins = self.plugins(ask.principal)
            suggestions = await suggest_flows(plugin, flow, last_scope, plugins, self.search(model), dependencies.model)
            if self._artifacts is not None:
                await thread_files.store_suggestions(self._artifacts, ask, suggestions)
            return suggestions

        if checkpoint is None:
            checkpoint = FlowCheckpoint(plugin.identity, flow.name, scope.question, f"{ask.run_id}:{prefix}")
        return flows.run(
            plugin,
            flow,
            scope,
            dependencies,
            steps,
            prefix=prefix,
            checkpoint=checkpoint,
            answer=answer,
            suggest=suggest if suggests else None,
            composes=composes,
            on_problem=partial(log_problem, ask.run_id, plugin, flow),
        )

    async def suggestions(self, ask: Ask, message_id: str) -> list[str]:
        """The suggestions of the flow that answered this message, from any replica with the same store."""
        return [] if self._artifacts is None else await thread_files.find_suggestions(self._artifacts, ask, message_id)

    def find_waiting(self, answer: Answer, user: Principal) -> tuple[Plugin, Flow, FlowCheckpoint] | None:
        """The flow that asked for this answer, in the version that asked; None if the answer is not for a flow.

        Raises `BadRequest` if the user may no longer use its plugin.
        """
        if not isinstance(answer.memo, dict) or "plugin" not in answer.memo:
            return None
        try:
            checkpoint = flows.read_checkpoint(answer.memo)
        except msgspec.ValidationError:
            return None
        if not self._may_use(user, checkpoint.plugin.id):
            raise BadRequest(
                f"The plugin {checkpoint.plugin.id!r} is no longer available to you, so its flow cannot continue."
            )
        plugin = self.registry.find(checkpoint.plugin)
        return plugin, plugin.flows[checkpoint.flow], checkpoint


def summarize(plugin: Plugin, language: str | None) -> PluginSummary:
    """Texts in `zh` are used for `zh-CN` too."""
    tag = language or ""
    texts = plugin.i18n.get(tag) or plugin.i18n.get(tag.partition("-")[0], plugin.texts)
    starters = texts.starters or plugin.texts.starters
    return PluginSummary(plugin.id, plugin.identity.version, texts.name, texts.description, starters)


def log_problem(run_id: str, plugin: Plugin, flow: Flow, problem: StepProblem) -> None:
    """For the operator: the user reads only the text of `on_error`."""
    blocked = problem.details.get("blocked") if isinstance(problem.details, dict) else None
    advice = (
        f' To allow it, add to the toolbox in rightseat.yaml: `allow_private: {{{plugin.id}: ["{blocked}"]}}`.'
        if problem.code == "egress_blocked" and blocked
        else ""
    )
    name = f"{plugin.id}.{flow.name}"
    logger.warning(
        "run %s: %s failed in %s: %s: %s%s", run_id, name, problem.step, problem.code, problem.message, advice
    )


def find_collection(toolbox: object, name: str) -> Collection:
    """The collection of a toolbox of the type `plugins`. Raises `ConfigError` for other types."""
    collection = getattr(toolbox, "collection", None)
    if not isinstance(collection, Collection):
        raise ConfigError(f"The toolbox {name!r} has no plugins; it must be of the type `plugins`.")
    return collection
