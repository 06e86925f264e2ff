"""Plugins as tools: each flow is a tool that a model may call with a question.

The flows' own questions to people (values that are missing, dangerous steps) are asked as they come up, whatever the
agent's policy is.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field

from rightseat.config.variables import environment
from rightseat.core.agent import PluginSummary
from rightseat.core.ask import Ask, Principal
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import ConfigError
from rightseat.core.events import CallReturned, Custom, Event, RunFinished, TextDelta, TextEnded, TextStarted
from rightseat.core.model import Model
from rightseat.core.tools import Invocation, Tool, Toolbox
from rightseat.core.values import JsonValue
from rightseat.egress.door import Door
from rightseat.egress.network import NetworkOptions, ProxyAddress
from rightseat.egress.redaction import Redactor, covering_logs
from rightseat.egress.secrets import PREFIX, Secrets
from rightseat.parts import BesidePath, ModelName, Parts, StatePath
from rightseat.plugins import doubts, shortening
from rightseat.plugins.choosing import candidates
from rightseat.plugins.collection import Collection
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.flows import Means, Progress
from rightseat.plugins.loading import Operator
from rightseat.plugins.operations import Sender
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.sandbox.process import find_layers
from rightseat.plugins.scene import Scene
from rightseat.plugins.shelf import Shelf
from rightseat.plugins.speaking import ModelSpeaker
from rightseat.plugins.sql.databases import Binding, Databases

logger = logging.getLogger(__name__)

LONGEST = 64  # characters of a tool's name that every provider takes
MAX_DESCRIPTION_BYTES = 600  # of a plugin, in the description of each of its tools
LARGEST = 24_000  # bytes of data in a tool's result

PARAMETERS: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "description": "What the user wants, in the user's words, with every name and number that it takes.",
        }
    },
    "required": ["question"],
    "additionalProperties": False,
}


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    proxy: ProxyAddress | None = None
    """The proxy for requests of plugins, such as `http://user:password@proxy.example:3128`. Unset: none; that of the
    environment is not used for addresses that a plugin names."""
    folders: tuple[BesidePath, ...]
    """Folders of plugins, or folders that have such folders in them."""
    model: ModelName = "default"
    """Which of the models speaks in flows that another model calls as tools."""
    roles: Mapping[str, ModelName] = Field(default_factory=dict)
    """Models that a step may name by its role."""
    mode: Literal["compat", "strict"] = "compat"
    """Whether plugins are loaded with warnings, or must be without a fault."""
    window: int = Field(default=32_768, ge=1024)
    """How many tokens the model can read. A flow's prompts use at most 80 % of it; longer data is shortened."""
    secrets: StatePath | None = None
    """The file of the secrets that plugins name; secrets of the environment (`RIGHTSEAT_SECRET_…`) come first."""
    allow_private: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """For a plugin's id: the `host:port` in private networks that it may reach, of those that it asks for."""
    user_tokens: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """For a plugin's id: the `host:port` of token servers that may see the token of whoever is signed in, to exchange
    it for one of the plugin's API. It is the token that `access.jwt` has checked; no plugin sees it otherwise."""
    lib: tuple[str, ...] = ()
    """Digests of the `lib` folders whose code may run, as `rightseat plugin check` shows them."""
    users: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """For a plugin's id: the users that may use it. A plugin that is not named here is for everybody."""
    databases: Mapping[str, Mapping[str, Binding]] = Field(default_factory=dict)
    """For a plugin's id and a database's name: the database to ask."""
    expires_after: float = Field(default=7 * 24 * 3600.0, gt=0)
    """Seconds for which a flow waits for a person."""
    state: StatePath = Path("plugins")
    """Where copies of plugins and their bundled databases are kept. An old version goes when no run has used it for
    `expires_after` and a day, so whoever waits for an answer finds it."""


def build(options: Options, parts: Parts) -> Toolbox:
    redactor = Redactor()
    secrets = Secrets(environment(PREFIX), options.secrets)
    confirmed = options.allow_private

    def allowed(plugin: Plugin) -> Sequence[str]:
        return [place for place in confirmed.get(plugin.id, ()) if place in plugin.allow_private]

    operator = Operator(lib=frozenset(options.lib))
    shelf = Shelf(options.folders, options.state, mode=options.mode, operator=lambda id: operator)
    sender = Sender(
        Door(network=options), secrets, redactor, allowed, lambda plugin: options.user_tokens.get(plugin.id, ())
    )
    databases = Databases(options.state, options.databases)
    tool_runner = ToolRunner(options.lib)
    roles = {role: parts.model(name) for role, name in options.roles.items()}

    def means(model: Model) -> Means:
        voice = ModelSpeaker(model, roles)
        return Means(voice, sender, redactor, databases, tool_runner, expires_after=options.expires_after)

    collection = Collection(
        shelf,
        means,
        (databases, tool_runner),
        window=options.window,
        users=options.users,
        artifacts=parts.artifacts,
        keeps=options.expires_after,
    )
    needs = partial(doubts.of_needs, secrets=secrets, confirmed=confirmed, databases=options.databases)
    return Plugins(collection, parts.model(options.model), redactor, confirmed, needs, options.user_tokens)


def warn(options: Options) -> Iterator[str]:
    """What `rightseat check` warns of. The server goes on without what is broken or missing."""
    plugins, said = doubts.of_folders(options.folders, options.mode, Operator(lib=frozenset(options.lib)))
    secrets = Secrets(environment(PREFIX), options.secrets)
    yield from said
    yield from doubts.of_needs(plugins, secrets, options.allow_private, options.databases)
    yield from in_vain(options.allow_private, plugins)
    yield from untrusted(options.user_tokens, plugins)
    if options.lib:
        yield from without_sandbox()


def without_sandbox() -> Iterator[str]:
    try:
        problem = asyncio.run(find_layers()).problem()
    except StepFailed as failed:
        problem = failed.message
    if problem:
        yield f"No code in `lib` is run: {problem}"


async def explain(options: Options) -> AsyncIterator[str]:
    """What `rightseat check` says of the sandbox, where code of plugins is allowed: what holds on this machine."""
    if options.lib:
        yield "sandbox of the plugins' code:"
        try:
            layers = await find_layers()
        except StepFailed as failed:
            yield f"  {failed}"
            return
        for name, text in layers.describe():
            yield f"  {name:8} {text}"


class Plugins:
    """A toolbox of flows. `collection` is for the agent that runs them itself.

    While it is open, the server's log shows no secret that `redactor` knows.
    """

    def __init__(
        self,
        collection: Collection,
        model: Model,
        redactor: Redactor,
        confirmed: Mapping[str, Sequence[str]] | None = None,
        needs: Callable[[Mapping[str, Plugin]], Iterator[str]] = lambda plugins: iter(()),
        trusted: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.collection = collection
        self._model = model
        self._redactor = redactor
        self._confirmed = confirmed or {}
        self._needs = needs
        self._trusted = trusted or {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._stack.enter_context(covering_logs(self._redactor))
        await self._stack.enter_async_context(self.collection)
        plugins = self.collection.shelf.plugins()
        for line in (*in_vain(self._confirmed, plugins), *untrusted(self._trusted, plugins)):
            logger.warning("%s", line)
        try:
            for line in self._needs(plugins):
                logger.warning("%s", line)
        except ConfigError as error:  # the step that needs a secret fails, and the others do not
            logger.warning("%s", error)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        return self.collection.summaries(principal, language)

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        found = candidates(list(self.collection.plugins(ask.principal).values()))
        return [self._tool(one.plugin, one.flow) for one in found]

    def _tool(self, plugin: Plugin, flow: Flow) -> Tool:
        def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
            return self._run(plugin, flow, invocation, steps)

        name, words = tool_name(plugin.id, flow.name), plugin.words
        about, _ = shortening.cut_text(words.description.strip(), MAX_DESCRIPTION_BYTES)
        description = f"{words.name}: {flow.description}" + (f"\n\nThe plugin {words.name}: {about}" if about else "")
        return Tool(name, description, PARAMETERS, stream=stream, approval="exempt")

    async def _run(self, plugin: Plugin, flow: Flow, invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        """What the flow says becomes the result of the call; its steps, charts and files are shown as they come."""
        call, ask = invocation.call_id, invocation.ask
        scene = asked(self.collection.scene(ask), invocation)
        progress, answer = None, invocation.answers[-1] if invocation.answers else None
        if answer is not None and (waiting := self.collection.waiting(answer, ask.principal)):
            plugin, flow, progress = waiting
        if progress is None:
            progress = Progress(plugin.identity, flow.name, scene.question, invocation.key)
        running = self.collection.run(
            plugin,
            flow,
            scene,
            ask,
            steps,
            self._model,
            prefix=call,
            progress=progress,
            answer=answer,
            suggests=False,
            composes=False,
        )
        texts: list[str] = []
        name = tool_name(plugin.id, flow.name)
        async with closing(running) as events:
            async for event in events:
                match event:
                    case TextDelta(text=text):
                        texts.append(text)
                    case TextStarted() | TextEnded():
                        pass  # the model that called says it in its own words
                    case Custom(name="flow.finished"):
                        yield event
                        yield CallReturned(call, name, content(texts, progress), failure(progress))
                    case RunFinished():
                        yield event
                        return
                    case _:
                        yield event


def in_vain(confirmed: Mapping[str, Sequence[str]], plugins: Mapping[str, Plugin]) -> Iterator[str]:
    """What is wrong with `allow_private`: a place that a plugin does not ask for stays closed to it."""
    for id, places in confirmed.items():
        plugin = plugins.get(id)
        for place in places:
            if plugin is None:
                yield f"allow_private confirms {place} for the plugin {id}, and there is no such plugin."
            elif place not in plugin.allow_private:
                asks = ", ".join(plugin.allow_private) or "nothing"
                yield (
                    f"allow_private confirms {place} for the plugin {id}, which asks for {asks}: "
                    "add it to network.allow_private in its plugin.json."
                )


def untrusted(trusted: Mapping[str, Sequence[str]], plugins: Mapping[str, Plugin]) -> Iterator[str]:
    """Plugins that act for whoever is signed in, and may show their token to nobody."""
    for id, plugin in plugins.items():
        if id not in trusted and any(auth.args.get("grant") == "token_exchange" for auth in plugin.auth):
            yield (
                f"The plugin {id} acts for whoever is signed in, and its requests fail: `user_tokens` does not name "
                "the server that may see their tokens."
            )


def asked(scene: Scene, invocation: Invocation) -> Scene:
    question = invocation.arguments.get("question")
    return replace(scene, question=question) if isinstance(question, str) and question.strip() else scene


def content(texts: Sequence[str], progress: Progress) -> str:
    """What the flow said, else its data."""
    if said := "".join(texts).strip():
        return said
    text, was_cut = shortening.shorten(progress.data, LARGEST)
    return f"{text}\n\n{shortening.NOTE}" if was_cut else text


def failure(progress: Progress) -> str | None:
    return None if progress.problem is None else progress.problem.code


def tool_name(plugin: str, flow: str) -> str:
    """One that every provider takes; different flows never share one."""
    name = f"{plugin}_{flow}"
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if plain == name and len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: LONGEST - 9]}_{digest}"
