"""The plugins of one toolbox with all that their flows need, ready to be chosen from and run."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import msgspec

from rightseat.core.acting import token_of
from rightseat.core.agent import PluginSummary
from rightseat.core.artifacts import Artifacts
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import BadAsk, ConfigError
from rightseat.core.events import Event
from rightseat.core.model import Embedder, Model
from rightseat.core.values import JsonValue
from rightseat.plugins import choosing, flows, keeping
from rightseat.plugins.choosing import Chosen, Search
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.flows import Means, Progress
from rightseat.plugins.results import Problem
from rightseat.plugins.scene import Scene
from rightseat.plugins.setting import scene_of
from rightseat.plugins.shelf import Shelf

logger = logging.getLogger(__name__)

HOUR, DAY = 3600.0, 24 * 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a collection may be chosen: all of it, some plugins, or one flow (`plugin.flow`) and no other."""

    plugins: tuple[str, ...] | None = None
    flow: str | None = None


ALL = Selection()


class Collection:
    """`owned` are opened with it and closed with it. `means` makes what a flow needs, for the model that speaks.

    `users` are, for a plugin's id, who may use it; a plugin that is not named there is for everybody. `artifacts` is
    where the files and charts of flows are kept; without it, a file is whole in the event that tells of it. `keeps` are
    the seconds for which a question may wait: an old version of a plugin is kept for as long after its last run, and a
    day.
    """

    def __init__(
        self,
        shelf: Shelf,
        means: Callable[[Model], Means],
        owned: Sequence[object] = (),
        *,
        window: int = 32_768,
        users: Mapping[str, Container[str]] | None = None,
        artifacts: Artifacts | None = None,
        keeps: float = 7 * 24 * 3600.0,
    ) -> None:
        self.shelf = shelf
        self._keeps = keeps
        self._means = means
        self._owned = owned
        self._window = window
        self._users = users or {}
        self._artifacts = artifacts
        self._stack = contextlib.AsyncExitStack()
        self._searches: dict[int, Search] = {}

    async def __aenter__(self) -> Self:
        for part in (self.shelf, *self._owned):
            if isinstance(part, contextlib.AbstractAsyncContextManager):
                await self._stack.enter_async_context(part)
        self._stack.push_async_callback(ended, asyncio.create_task(self._keep_house()))
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    async def _keep_house(self) -> None:
        """Not at once: runs that were cut off have their plugins back first."""
        while True:
            await asyncio.sleep(HOUR)
            try:
                await self.shelf.forget(self._keeps + DAY)
            except OSError:
                logger.exception("old copies of plugins cannot be removed, which is tried again in an hour")

    def plugins(self, user: Principal, selection: Selection = ALL) -> dict[str, Plugin]:
        """Those that are active and that the user may use. Raises `BadAsk`: one that was named is not among them."""
        every = self.shelf.plugins()
        active = {id: plugin for id, plugin in every.items() if self._may_use(user, id)}
        if selection.plugins is None:
            return active
        if unknown := [name for name in selection.plugins if name not in active]:
            raise BadAsk(f"There is no plugin {unknown[0]!r}. There are: {', '.join(sorted(active)) or 'none'}.")
        return {name: active[name] for name in selection.plugins}

    def summaries(
        self, user: Principal, language: str | None = None, among: Container[str] | None = None
    ) -> list[PluginSummary]:
        """What front ends show of the plugins that the user may use, of those that are `among` these."""
        found = [one for id, one in self.plugins(user).items() if among is None or id in among]
        return [summary(plugin, language) for plugin in found]

    def _may_use(self, user: Principal, id: str) -> bool:
        return id not in self._users or user.id in self._users[id]

    def named(self, name: str, plugins: Mapping[str, Plugin]) -> tuple[Plugin, Flow]:
        """The flow `plugin.flow`. Raises `BadAsk`."""
        plugin_name, _, flow_name = name.partition(".")
        plugin = plugins.get(plugin_name)
        flow = plugin.flow(flow_name) if plugin is not None else None
        if plugin is None or flow is None:
            known = [f"{one.id}.{flow}" for one in plugins.values() for flow in one.flows]
            raise BadAsk(f"There is no flow {name!r}. There are: {', '.join(known) or 'none'}.")
        return plugin, flow

    def scene(self, ask: Ask) -> Scene:
        return replace(scene_of(ask), window=self._window)

    async def choose(self, ask: Ask, selection: Selection, model: Model) -> Chosen:
        """One flow that was named is not chosen but taken."""
        plugins = self.plugins(ask.principal, selection)
        if selection.flow is not None:
            plugin, flow = self.named(selection.flow, plugins)
            return Chosen(plugin.identity, flow.name, (selection.flow,), why="it was asked for by name")
        scene, is_auto = self.scene(ask), selection.plugins is None
        voice = self._means(model).voice
        return await choosing.choose(scene, list(plugins.values()), self.search(model), voice, auto=is_auto)

    def search(self, model: Model) -> Search:
        embedder = model if isinstance(model, Embedder) else None
        return self._searches.setdefault(id(model), Search(embedder))

    def run(
        self,
        plugin: Plugin,
        flow: Flow,
        scene: Scene,
        ask: Ask,
        steps: Steps,
        model: Model,
        *,
        prefix: str = "flow",
        progress: Progress | None = None,
        answer: Answer | None = None,
        suggests: bool = True,
        composes: bool = True,
    ) -> AsyncIterator[Event]:
        self.shelf.use(plugin.identity)
        means = replace(self._means(model), token=token_of(ask.principal))
        if self._artifacts is not None:
            means = replace(means, keep=partial(keeping.keep, self._artifacts, ask))

        async def suggest(progress: Progress, seen: Scene) -> list[JsonValue]:
            known = self.plugins(ask.principal)
            offered = await choosing.suggest(plugin, flow, seen, known, self.search(model), means.voice)
            if self._artifacts is not None:
                await keeping.keep_suggestions(self._artifacts, ask, offered)
            return offered

        if progress is None:
            progress = Progress(plugin.identity, flow.name, scene.question, f"{ask.run_id}:{prefix}")
        return flows.run(
            plugin,
            flow,
            scene,
            means,
            steps,
            prefix=prefix,
            progress=progress,
            answer=answer,
            suggest=suggest if suggests else None,
            composes=composes,
            failed=partial(note, ask.run_id, plugin, flow),
        )

    async def suggestions(self, ask: Ask, question: str) -> list[str]:
        """What the flow that answered this message suggested, on whichever server of the same store it ran."""
        return [] if self._artifacts is None else await keeping.find_suggestions(self._artifacts, ask, question)

    def waiting(self, answer: Answer, user: Principal) -> tuple[Plugin, Flow, Progress] | None:
        """The flow that waited for this answer, as it was when it began to wait; None if the answer is no flow's.

        Raises `BadAsk`: the user may not use its plugin any more.
        """
        if not isinstance(answer.memo, dict) or "plugin" not in answer.memo:
            return None
        try:
            progress = flows.read(answer.memo)
        except msgspec.ValidationError:
            return None
        if not self._may_use(user, progress.plugin.id):
            raise BadAsk(f"The plugin {progress.plugin.id!r} is not for you any more: the flow does not go on.")
        plugin = self.shelf.find(progress.plugin)
        return plugin, plugin.flows[progress.flow], progress


def summary(plugin: Plugin, language: str | None) -> PluginSummary:
    words = plugin.i18n.get(language or "", plugin.words)
    questions = words.starters or plugin.words.starters
    return PluginSummary(plugin.id, plugin.identity.version, words.name, words.description, questions)


def note(run: str, plugin: Plugin, flow: Flow, problem: Problem) -> None:
    """What went wrong, for the operator: whoever asked reads only what `on_error` made of it."""
    advice = " `allow_private` of the toolbox says what it may reach." if problem.code == "egress_blocked" else ""
    place = f"{plugin.id}.{flow.name}"
    logger.warning("run %s: %s failed in %s: %s: %s%s", run, place, problem.step, problem.code, problem.message, advice)


def collection_of(toolbox: object, name: str) -> Collection:
    """The collection of a toolbox of the type `plugins`. Raises `ConfigError` for any other."""
    found = getattr(toolbox, "collection", None)
    if not isinstance(found, Collection):
        raise ConfigError(f"The toolbox {name!r} has no plugins: it should be of the type `plugins`.")
    return found


async def ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait((task,))
