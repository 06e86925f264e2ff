"""Plugins as tools: each flow is a tool that a model may call with a question.

The flows' own questions to people (values that are missing, dangerous steps) are asked as they come up, whatever the
agent's policy is.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from rightseat.concurrency import aclosing
from rightseat.config.variables import environment
from rightseat.core.agent import PluginSummary
from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import ConfigError
from rightseat.core.events import Custom, Event, RunFinished, TextDelta, TextEnded, TextStarted, ToolCallReturned
from rightseat.core.model import Model
from rightseat.core.tools import Invocation, Tool, Toolbox
from rightseat.core.types import JsonValue
from rightseat.egress.addresses import check_host_port, is_listed
from rightseat.egress.network import NetworkOptions, ProxyAddress
from rightseat.egress.redaction import Redactor, redact_logs
from rightseat.egress.secrets import NAME, PREFIX, SecretGrant, Secrets, check_host
from rightseat.egress.untrusted import UntrustedClient
from rightseat.operations.flows import FlowGraph, FlowSummary
from rightseat.parts import BesidePath, ModelName, Parts, StatePath
from rightseat.plugins.collection import Collection
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.expressions import truncation
from rightseat.plugins.flows import Dependencies, FlowCheckpoint
from rightseat.plugins.loading import OperatorSettings
from rightseat.plugins.model_calls import RoleModelCaller
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.operations.private_addresses import list_addresses
from rightseat.plugins.packaging import warnings
from rightseat.plugins.registry import PluginRegistry
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.sandbox.process import find_layers
from rightseat.plugins.scope import Scope
from rightseat.plugins.secret_records import FILE as RECORD_FILE
from rightseat.plugins.secret_records import read_file, record_uses
from rightseat.plugins.selection import list_candidates
from rightseat.plugins.sql.databases import Binding, Databases
from rightseat.plugins.workbench import Workbench, WorkbenchSettings

logger = logging.getLogger(__name__)

RecordUses = Callable[[Callable[[], Mapping[str, Plugin]]], AbstractAsyncContextManager[None]]
MAX_TOOL_NAME_CHARS = 64  # accepted by every provider
MAX_DESCRIPTION_BYTES = 600  # of the plugin, in the description of each of its tools
MAX_RESULT_BYTES = 24_000

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


def check_binding_host(host: str) -> str:
    try:
        check_host(host)
    except ConfigError as error:
        raise PydanticCustomError("secret", "{text}", {"text": error.message}) from None
    return host


class SecretBinding(BaseModel):
    """Which plugins may send a secret to which hosts. Without `plugins`, all of them may; without `hosts`, to every
    host: whoever may edit the plugin then chooses where the secret goes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern=f"^{NAME.pattern}$")
    """The name of the secret, as in `${secret:NAME}`."""
    plugins: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The ids of the plugins that may send it."""
    hosts: tuple[Annotated[str, AfterValidator(check_binding_host)], ...] | None = Field(default=None, min_length=1)
    """The hosts that may receive it: `api.example.com`, `.example.com` or `host:port`."""

    @model_validator(mode="after")
    def _binds(self) -> Self:
        if self.plugins is None and self.hosts is None:
            raise PydanticCustomError("secret", "should have `plugins`, `hosts` or both.")
        return self


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    proxy: ProxyAddress | None = None
    """The proxy for requests of plugins, such as `http://user:password@proxy.example:3128`. Default: none; proxy
    variables of the environment do not apply to plugins."""
    folders: tuple[BesidePath, ...]
    """Folders of plugins, or folders that contain such folders."""
    model: ModelName = "default"
    """The model used in flows that another model calls as tools."""
    roles: Mapping[str, ModelName] = Field(default_factory=dict)
    """Models by role, for steps that request a role."""
    mode: Literal["compat", "strict"] = "compat"
    """`compat` loads plugins with warnings, `strict` rejects any problem."""
    context_window: int = Field(default=32_768, ge=1024)
    """Context window of the model, in tokens. Prompts of flows use at most 80 % of it; longer data is truncated."""
    secrets_file: StatePath | None = None
    """The file of the secrets of plugins. Environment variables (`RIGHTSEAT_SECRET_…`) take precedence."""
    secrets: tuple[SecretBinding, ...] = ()
    """Which plugins may send which secrets to which hosts: `{name, plugins, hosts}`. A secret that is bound neither
    here nor by `hosts` in the secrets file is sent nowhere."""
    allow_private: Mapping[str, tuple[Annotated[str, AfterValidator(check_host_port)], ...]] = Field(
        default_factory=dict
    )
    """By plugin id: the private `host:port` that the plugin may connect to. `rightseat check` prints the entry that a
    plugin needs."""
    user_tokens: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """By plugin id: the `host:port` of token servers that may receive the user's token, to exchange it for one of the
    plugin's API. It is the token verified by `access.jwt`; plugins have no other access to it."""
    allowed_lib_digests: tuple[str, ...] = ()
    """Digests of the `lib` folders whose code may run, as printed by `rightseat plugin check`."""
    users: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """By plugin id: the users that may use it. Plugins not listed are available to all users."""
    databases: Mapping[str, Mapping[str, Binding]] = Field(default_factory=dict)
    """By plugin id and database name: the connection of the database."""
    expires_after_seconds: float = Field(default=7 * 24 * 3600.0, gt=0)
    """Seconds for which a flow waits for a reply of a person."""
    state: StatePath = Path("plugins")
    """The folder for copies of plugins and their bundled databases. An old version is deleted after no run has used it
    for `expires_after_seconds` plus one day, so that waiting flows can still resume."""


def build(options: Options, parts: Parts) -> Toolbox:
    redactor = Redactor()
    secrets = build_secrets(options)
    allow_private = options.allow_private

    def allowed(plugin: Plugin) -> Sequence[str]:
        return allow_private.get(plugin.id, ())

    operator = OperatorSettings(lib=frozenset(options.allowed_lib_digests))
    registry = PluginRegistry(options.folders, options.state, mode=options.mode, operator=lambda id: operator)
    sender = OperationClient(
        UntrustedClient(network=options),
        secrets,
        redactor,
        allowed,
        lambda plugin: options.user_tokens.get(plugin.id, ()),
    )
    databases = Databases(options.state, options.databases)
    tool_runner = ToolRunner(options.allowed_lib_digests)
    roles = {role: parts.model(name) for role, name in options.roles.items()}

    def dependencies(model: Model) -> Dependencies:
        caller = RoleModelCaller(model, roles)
        return Dependencies(
            caller, sender, redactor, databases, tool_runner, expires_after=options.expires_after_seconds
        )

    collection = Collection(
        registry,
        dependencies,
        (databases, tool_runner),
        window=options.context_window,
        users=options.users,
        artifacts=parts.artifacts,
        question_expiry_s=options.expires_after_seconds,
    )
    needs = partial(warnings.check_needs, secrets=secrets, confirmed=allow_private, databases=options.databases)
    model = parts.model(options.model)
    settings = WorkbenchSettings(
        secrets, allow_private, options.allowed_lib_digests, options.users, options.context_window
    )
    workbench = Workbench(registry, dependencies, model, settings)
    toolbox = " ".join(str(folder) for folder in options.folders)
    record = partial(record_uses, secrets, options.state, parts.secret_uses, toolbox)
    return PluginToolbox(collection, model, redactor, workbench, allow_private, needs, options.user_tokens, record)


def build_secrets(options: Options) -> Secrets:
    grants = [SecretGrant(binding.name, binding.plugins, binding.hosts) for binding in options.secrets]
    return Secrets(environment(PREFIX), options.secrets_file, grants)


def warn(options: Options) -> Iterator[str]:
    """Warnings for `rightseat check`. The server starts without broken or missing plugins."""
    plugins, problems = warnings.check_folders(
        options.folders, options.mode, OperatorSettings(lib=frozenset(options.allowed_lib_digests))
    )
    secrets = build_secrets(options)
    if (recorded := options.state / RECORD_FILE).exists():
        secrets.record(read_file(recorded))
    yield from problems
    yield from warnings.check_needs(plugins, secrets, options.allow_private, options.databases)
    yield from unused_private_hosts(options.allow_private, plugins)
    yield from missing_token_servers(options.user_tokens, plugins)
    if options.allowed_lib_digests:
        yield from sandbox_problems()


def sandbox_problems() -> Iterator[str]:
    try:
        problem = asyncio.run(find_layers()).problem()
    except StepFailed as failed:
        problem = failed.message
    if problem:
        yield f"Code in `lib` cannot run: {problem}"


async def explain(options: Options) -> AsyncIterator[str]:
    """The sandbox layers on this machine, for `rightseat check`, if code of plugins is allowed."""
    if options.allowed_lib_digests:
        yield "sandbox of the plugins' code:"
        try:
            layers = await find_layers()
        except StepFailed as failed:
            yield f"  {failed}"
            return
        for name, text in layers.describe():
            yield f"  {name:8} {text}"


class PluginToolbox:
    """A toolbox of flows. `collection` is for the agent that runs them itself, `workbench` for authors of plugins.

    While it is open, the server's log shows no secret that `redactor` knows.
    """

    def __init__(
        self,
        collection: Collection,
        model: Model,
        redactor: Redactor,
        workbench: Workbench,
        allow_private: Mapping[str, Sequence[str]] | None = None,
        needs: Callable[[Mapping[str, Plugin]], Iterator[str]] = lambda plugins: iter(()),
        user_tokens: Mapping[str, Sequence[str]] | None = None,
        record: RecordUses | None = None,
    ) -> None:
        self._record = record
        self.collection = collection
        self.workbench = workbench
        self._model = model
        self._redactor = redactor
        self._allow_private = allow_private or {}
        self._needs = needs
        self._user_tokens = user_tokens or {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._stack.enter_context(redact_logs(self._redactor))
        await self._open_collection()
        plugins = self.collection.registry.plugins()
        for line in (
            *unused_private_hosts(self._allow_private, plugins),
            *missing_token_servers(self._user_tokens, plugins),
        ):
            logger.warning("%s", line)
        try:
            for line in self._needs(plugins):
                logger.warning("%s", line)
        except ConfigError as error:  # only the step that needs the secret fails
            logger.warning("%s", error)
        return self

    async def _open_collection(self) -> None:
        async with self._record(self.collection.registry.plugins) if self._record is not None else nullcontext():
            await self._stack.enter_async_context(self.collection)

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        return self.collection.summaries(principal, language)

    def list_flows(self, principal: Principal) -> Sequence[FlowSummary]:
        return self.collection.list_flows(principal)

    async def find_graph(
        self, principal: Principal, plugin: str, flow: str, digest: str | None = None
    ) -> FlowGraph | None:
        return await self.collection.find_graph(principal, plugin, flow, digest)

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        found = list_candidates(list(self.collection.plugins(ask.principal).values()))
        return [self._tool(one.plugin, one.flow) for one in found]

    def _tool(self, plugin: Plugin, flow: Flow) -> Tool:
        def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
            return self._run(plugin, flow, invocation, steps)

        name, texts = tool_name(plugin.id, flow.name), plugin.texts
        about, _ = truncation.truncate_text(texts.description.strip(), MAX_DESCRIPTION_BYTES)
        description = f"{texts.name}: {flow.description}" + (f"\n\nThe plugin {texts.name}: {about}" if about else "")
        return Tool(name, description, PARAMETERS, stream=stream, approval="exempt")

    async def _run(self, plugin: Plugin, flow: Flow, invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        """The text of the flow becomes the result of the call; steps, charts and files are shown while it runs."""
        call, ask = invocation.call_id, invocation.ask
        scope = with_question(self.collection.build_scope(ask), invocation)
        checkpoint, answer = None, invocation.answers[-1] if invocation.answers else None
        if answer is not None and (waiting := self.collection.find_waiting(answer, ask.principal)):
            plugin, flow, checkpoint = waiting
        if checkpoint is None:
            checkpoint = FlowCheckpoint(plugin.identity, flow.name, scope.question, invocation.key)
        running = self.collection.run(
            plugin,
            flow,
            scope,
            ask,
            steps,
            self._model,
            prefix=call,
            checkpoint=checkpoint,
            answer=answer,
            suggests=False,
            composes=False,
        )
        texts: list[str] = []
        name = tool_name(plugin.id, flow.name)
        async with aclosing(running) as events:
            async for event in events:
                match event:
                    case TextDelta(text=text):
                        texts.append(text)
                    case TextStarted() | TextEnded():
                        pass  # the calling model writes the answer
                    case Custom(name="flow.finished"):
                        yield event
                        yield ToolCallReturned(call, name, result_text(texts, checkpoint), error_code(checkpoint))
                    case RunFinished():
                        yield event
                        return
                    case _:
                        yield event


def unused_private_hosts(allow_private: Mapping[str, Sequence[str]], plugins: Mapping[str, Plugin]) -> Iterator[str]:
    """Entries of `allow_private` without effect: no request of the plugin goes there."""
    for id, places in allow_private.items():
        plugin = plugins.get(id)
        for place in places:
            if plugin is None:
                yield f"`allow_private` has {place} for the plugin {id}, which does not exist."
            elif not is_listed(place, addresses := list_addresses(plugin)):
                used = ", ".join(addresses) or "no address"
                yield (
                    f"`allow_private` has {place} for the plugin {id}, whose requests go to {used}: "
                    "correct or remove the entry."
                )


def missing_token_servers(user_tokens: Mapping[str, Sequence[str]], plugins: Mapping[str, Plugin]) -> Iterator[str]:
    """Plugins that act for the user, but have no token server."""
    for id, plugin in plugins.items():
        if id not in user_tokens and any(auth.args.get("grant") == "token_exchange" for auth in plugin.auth):
            yield (
                f"The plugin {id} acts for the user, and its requests will fail: `user_tokens` lists no token server "
                "for it."
            )


def with_question(scope: Scope, invocation: Invocation) -> Scope:
    question = invocation.arguments.get("question")
    return replace(scope, question=question) if isinstance(question, str) and question.strip() else scope


def result_text(texts: Sequence[str], checkpoint: FlowCheckpoint) -> str:
    """The text of the flow, else its data."""
    if text := "".join(texts).strip():
        return text
    text, was_cut = truncation.truncate_value(checkpoint.data, MAX_RESULT_BYTES)
    return f"{text}\n\n{truncation.TRUNCATION_NOTICE}" if was_cut else text


def error_code(checkpoint: FlowCheckpoint) -> str | None:
    return None if checkpoint.problem is None else checkpoint.problem.code


def tool_name(plugin: str, flow: str) -> str:
    """A name accepted by every provider, unique per flow."""
    name = f"{plugin}_{flow}"
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if plain == name and len(name) <= MAX_TOOL_NAME_CHARS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: MAX_TOOL_NAME_CHARS - 9]}_{digest}"
