"""Builds every part that the configuration names into one `Assembly`; nothing is opened yet."""

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rightseat import parts
from rightseat.access.authenticator import Authenticator
from rightseat.access.host_login import HostLogin
from rightseat.access.sign_in.service import IdentityProvider
from rightseat.access.threads import ScopedThreads
from rightseat.app.authentication import build_authenticator, build_identity_provider
from rightseat.app.fingerprint import fingerprint_of
from rightseat.app.observers import build_limit_observer, build_observers, combine_observers, observe_server
from rightseat.app.opening import Opening
from rightseat.app.operations import (
    build_evals,
    build_operations,
    build_prompt_recording,
    build_recorder,
    build_sources,
)
from rightseat.app.part_registry import PartRegistry
from rightseat.app.request_id import ObserveRequest
from rightseat.config import Config, ConfiguredPart, HookNames
from rightseat.config.webhook import WebhookOptions
from rightseat.core.errors import ConfigError
from rightseat.core.faces import ServedFace
from rightseat.core.full_storage import is_storage_full
from rightseat.core.guard import Guard
from rightseat.core.hooks import Hooks
from rightseat.core.log import Log
from rightseat.core.model import Model, set_model_key
from rightseat.core.run.observers import RunListeners, RunObservers
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Toolbox
from rightseat.egress.redaction import Redactor, find_option_secrets, redact_logs
from rightseat.health.own_server import OwnServer
from rightseat.health.readiness import Readiness, conditions_of, dependencies_of
from rightseat.limits.admission import LimitedAdmission
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter_context import Metering
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.limits.model_doubles import ModelDoubles
from rightseat.limits.options import build_limits
from rightseat.limits.prices import Price, Prices
from rightseat.limits.read_limits import ReadLimits
from rightseat.limits.store import LimitStore
from rightseat.operations.changes import CarriesChanges, LiveChanges
from rightseat.operations.database_metrics import ReportsDatabase
from rightseat.operations.evals import Evals, SharedModels
from rightseat.operations.memories import MemoriesNotSupported
from rightseat.operations.own_annotations import OwnAnnotations
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.operations.own_memories import OwnMemories
from rightseat.operations.own_threads import OwnThreads
from rightseat.operations.service import Operations
from rightseat.operations.stops import FleetEngine
from rightseat.operations.store import Store, store_of
from rightseat.operations.workbench import SupportsWorkbench
from rightseat.outages import OutageLog
from rightseat.stores.files import MemoryArtifacts

if TYPE_CHECKING:
    from rightseat.telemetry.budget_webhook import BudgetWebhook

logger = logging.getLogger(__name__)

USAGE_DELAY_S = 5.0  # without limits, usage is written so late at most, for all runs together
MIN_SECRET_CHARS = 8  # placeholders such as `ollama` are no secrets, and occur in many log lines


@runtime_checkable
class SharesFile(Protocol):
    """A part whose file the workers of one server share."""

    def share_file(self) -> None:
        """Other processes of this machine use the file, too. Called before the part is opened.

        A part on a database server does nothing: processes share that in any case.
        """
        ...


@dataclass(frozen=True, slots=True)
class Assembly:
    """All parts of one server. `owned` are opened with the server and closed with it, in this order and in reverse.

    Without an `authenticator` every face is open. `face_toolboxes` are the toolboxes that faces offer to all agents, by
    the index of the face. `toolboxes` are those that the configuration names. `redactor` removes the secrets of the
    configuration from log lines. `own_server` is for faces that check the server; None if it has no configuration.
    With an `identity_provider` people can sign in to the console. `reads` are shared by all faces. `host` is the login
    of the application around a copilot. Without `metering` nothing is counted in the store. `operations` has
    the data of all users; `own_threads` and `feedback` have that of one, if the store can. `fingerprint` is a hash of
    the version and of the configuration of agents and models.
    """

    runtime: Runtime
    faces: Sequence[ConfiguredPart]
    owned: Sequence[object] = ()
    authenticator: Authenticator | None = None
    face_toolboxes: Mapping[int, Toolbox] = field(default_factory=dict)
    toolboxes: Mapping[str, Toolbox] = field(default_factory=dict)
    readiness: Readiness = field(default_factory=Readiness)
    redactor: Redactor = field(default_factory=Redactor)
    own_server: OwnServer | None = None
    identity_provider: IdentityProvider | None = None
    opening: Opening = field(default_factory=Opening)
    reads: ReadLimits = field(default_factory=ReadLimits)
    host: HostLogin | None = None
    state_dir: Path = Path()
    observe_request: ObserveRequest | None = None
    metering: Metering | None = None
    operations: Operations | None = None
    own_threads: OwnThreads | None = None
    feedback: OwnFeedback | None = None
    memories: OwnMemories | None = None
    annotations: OwnAnnotations | None = None
    changes: LiveChanges | None = None
    evals: Callable[[], Evals | None] | None = None
    prices: Prices = field(default_factory=Prices)
    fingerprint: str = ""

    @asynccontextmanager
    async def opened(self, application: object = None) -> AsyncIterator[None]:
        """Open the parts. On exit runs are cancelled first, while the parts that they use are still open.

        Raises `ConfigError` if they are open already.
        """
        async with AsyncExitStack() as stack:
            stack.enter_context(self.opening.hold(application))
            stack.enter_context(redact_logs(self.redactor))
            with explaining_full_storage(self.state_dir):
                for part in self.owned:
                    if isinstance(part, AbstractAsyncContextManager):
                        await stack.enter_async_context(part)
                stack.push_async_callback(self.runtime.close)
                await self.runtime.open()
            yield


def assemble(
    config: Config,
    own: Sequence[Toolbox] = (),
    *,
    is_worker: bool = False,
    host: HostLogin | None = None,
    hooks: Hooks | None = None,
    doubles: ModelDoubles | None = None,
    has_sockets: bool = False,
) -> Assembly:
    """Build every part. `own` are toolboxes that all agents get, beside those that they name.

    `is_worker`: other processes use the same files at the same time. `host` is the login of the application around a
    copilot, `hooks` are those of the configuration if they are loaded already, and `doubles` replace models in tests.
    `has_sockets`: the server that serves the application accepts WebSockets.
    """
    log, threads, engine = (_build(part) for part in (config.log, config.threads, config.engine))
    if is_worker:
        for part in (log, threads, engine):
            if isinstance(part, SharesFile):
                part.share_file()
    face_toolboxes = build_face_toolboxes(config.faces)
    toolboxes = (*own, *face_toolboxes.values())
    store = store_of(threads)
    memories = build_memories(config, store)
    artifacts = store.artifacts or MemoryArtifacts()
    registry = PartRegistry({}, toolboxes, artifacts, store.pins, store.secret_uses, memories)
    counter = CallCounter(doubles=doubles)
    guards = memories.guards = build_agents(config, registry, counter)
    agents = registry.agents
    hooks = hooks or load_hooks(config.hooks)
    sources = build_sources(config, store)
    observers = [*build_observers(config), *([sources.recent] if sources.recent else ())]
    authenticator = build_authenticator(config.access, store.api_keys, store.ended_sessions, host)
    webhook = build_webhook(config.limits_webhook) if config.limits_webhook else None
    metering = counter.metering = build_metering(config, store.limits, registry.models, webhook)
    identity_provider = build_identity_provider(config)
    readiness = Readiness(dependencies_of(config), conditions_of(config, registry.models, store.lease))
    databases = [part for part in (log, threads, engine) if isinstance(part, ReportsDatabase)]
    server_observers = observe_server(config, readiness, databases, store.lease)
    recorder = build_recorder(config, store)
    prompts = build_prompt_recording(config, store)
    changes = memories.changes = build_changes(config, log, store) if has_sockets else None
    runtime = Runtime(
        agents,
        log=log,
        threads=ScopedThreads(threads),
        engine=engine if store.stops is None else FleetEngine(engine, store.stops),
        hooks=hooks,
        models=registry.models,
        guards=guards,
        artifacts=registry.artifacts,
        admission=LimitedAdmission(
            config.server.max_concurrent_runs_per_user, metering, prompts.find_recorder if prompts else None
        ),
        observers=RunObservers(
            combine_observers(observers),
            sources.activity if changes is None else RunListeners((sources.activity, changes)),
            sources.transient_runs,
            server_observers.count_takeover,
            recorder.record if recorder and config.evals.record == "all" else None,
        ),
    )
    workbenches = [one.workbench for one in registry.named.values() if isinstance(one, SupportsWorkbench)]
    prices = metering.prices if metering else prices_of(config)
    operations = build_operations(runtime, store, sources, workbenches, prices, prompts)
    operations.changes = changes
    runtime.faces = [describe_face(face, has_keys=authenticator is not None) for face in config.faces]
    if authenticator is not None and authenticator.stored is not None:
        authenticator.stored.cancel_runs = runtime.cancel_runs_of_keys
    inner_parts = (
        *registry.models.values(),
        *registry.named.values(),
        *registry.loaded.values(),
        *face_toolboxes.values(),
        *agents.values(),
        *guards,
        *observers,
    )
    ledger = metering.ledger if metering else None
    sampler = server_observers.sampler
    stores = (log, threads, changes, sources.audit, webhook, ledger, engine)
    owned = (*stores, *inner_parts, authenticator, identity_provider, readiness, sampler)
    addresses = [dependency.address for dependency in dependencies_of(config)]
    own_server = OwnServer(
        config, registry.models, registry.named, agents, authenticator, redactor_of(config, public=addresses)
    )
    return Assembly(
        runtime,
        config.faces,
        owned,
        authenticator,
        face_toolboxes,
        registry.named,
        readiness,
        redactor_of(config),
        own_server,
        identity_provider,
        reads=ReadLimits(config.server.max_concurrent_reads_per_user, config.server.max_concurrent_streams_per_user),
        host=host,
        state_dir=config.server.state_dir,
        observe_request=server_observers.observe_request,
        metering=metering,
        operations=operations,
        own_threads=OwnThreads(store.records) if store.records is not None else None,
        feedback=OwnFeedback(runtime, store.feedback, sources.transient_runs, recorder),
        memories=memories,
        annotations=OwnAnnotations(store.annotations),
        changes=changes,
        evals=build_evals(config, store, log, SharedModels(registry.models, prices, ledger)),
        prices=prices,
        fingerprint=fingerprint_of(config),
    )


def build_agents(
    config: Config, registry: PartRegistry, counter: CallCounter, models: Mapping[str, Model] | None = None
) -> list[Guard]:
    """Fill the registry with the models, the toolboxes and the agents, and return the guards.

    Evaluations build agents with this function alone, without a server around them; with `models` they use those.
    """
    registry.models = build_models(config.models, registry, counter) if models is None else models
    registry.named = {name: part.module.build(part.options, registry) for name, part in config.toolboxes.items()}
    registry.agents = {name: part.module.build(part.options, registry) for name, part in config.agents.items()}
    return [part.module.build(part.options, registry) for part in config.guards]


def build_memories(config: Config, store: Store) -> OwnMemories:
    """Raises `ConfigError` if an agent has memory, and the store of threads has no place for it."""
    agents = [name for name, part in config.agents.items() if getattr(part.options, "memory", None) is not None]
    if agents and store.memories is None:
        raise ConfigError(f"agents.{agents[0]}.memory: {MemoriesNotSupported().message}")
    return OwnMemories(store.memories, config.memory, agents)


def build_changes(config: Config, log: Log, store: Store) -> LiveChanges | None:
    """What announces changes to open lists; None if no face has such lists."""
    if not any(getattr(face.options, "live", False) for face in config.faces):
        return None
    bus = log.changes() if isinstance(log, CarriesChanges) else None
    return LiveChanges(OutageLog("the announcements of changes between servers", logger), bus, store.deletions)


def build_webhook(options: WebhookOptions) -> "BudgetWebhook":
    """Imported here: it has the HTTP client, which is large."""
    found: BudgetWebhook = import_module("rightseat.telemetry.budget_webhook").BudgetWebhook(options)
    return found


@contextmanager
def explaining_full_storage(folder: Path) -> Iterator[None]:
    """Raises `ConfigError` for a full disk, whichever part finds it."""
    try:
        yield
    except Exception as error:
        if not is_storage_full(error):
            raise
        raise ConfigError(
            f"Nothing can be written to {folder}: the disk is full, or fails. Free some space (`df -h {folder}` shows "
            "it), or set another folder in `server.state_dir`."
        ) from error


def build_metering(
    config: Config, store: LimitStore | None, models: Mapping[str, Model], webhook: "BudgetWebhook | None"
) -> Metering | None:
    """What is counted in the store; None if the configuration has neither limits nor the face `usage`."""
    if not config.limits and all(face.type != "usage" for face in config.faces):
        return None
    if store is None:
        raise ConfigError("This store of threads cannot count, so it supports no `limits`. Use `threads: {type: sql}`.")
    store.zone = config.timezone
    ledger = Ledger(store, 0.0 if config.limits else USAGE_DELAY_S)
    limits = build_limits(config.limits, config.timezone)
    return Metering(
        limits,
        ledger,
        prices_of(config),
        build_limit_observer(config),
        notify=webhook.send if webhook else None,
        reserve=config.limits_reserve,
        models=models,
    )


def prices_of(config: Config) -> Prices:
    found = {name: Price(one.input, one.output, one.cached_input) for name, one in config.prices.items()}
    return Prices(found, config.currency)


def describe_face(face: ConfiguredPart, *, has_keys: bool) -> ServedFace:
    options = face.options
    path = str(getattr(options, "path", "")).rstrip("/")
    offered = getattr(options, "agents", None) or getattr(options, "models", None)
    main = getattr(options, "agent", None)
    if main and not hasattr(options, "agents"):
        offered = ()  # the face has one agent
    agents = None if offered is None else tuple(dict.fromkeys([*([main] if main else ()), *offered]))
    return ServedFace(face.type, path, has_keys and face.access != "open", agents)


def redactor_of(config: Config, public: Container[str] = ()) -> Redactor:
    """`public` are values of secret options that are not secret after all, such as a URL without a password."""
    named = (*config.models.values(), *config.toolboxes.values(), *config.agents.values())
    every = (*named, *config.guards, *config.faces, config.log, config.threads, config.engine)
    options = [config.access, config.limits_webhook, *(part.options for part in every)]
    found = (secret for secret in find_option_secrets(options) if secret not in public)
    return Redactor(secrets=(secret for secret in found if len(secret) >= MIN_SECRET_CHARS))


def build_face_toolboxes(faces: Sequence[ConfiguredPart]) -> dict[int, Toolbox]:
    """The toolboxes that faces offer to all agents, by the index of the face."""
    builders = {index: (getattr(face.module, "toolbox", None), face) for index, face in enumerate(faces)}
    return {index: build(face.options) for index, (build, face) in builders.items() if build is not None}


def build_models(
    models: Mapping[str, ConfiguredPart], registry: PartRegistry, counter: CallCounter
) -> Mapping[str, Model]:
    """Every model is metered here, so no part gets one whose calls are not counted.

    Models that are composed of others are built last, in file order: each can name those above it.
    """
    composed = {name: part for name, part in models.items() if len(inspect.signature(part.module.build).parameters) > 1}
    built = {name: meter(name, _build(part), counter) for name, part in models.items() if name not in composed}
    registry.models = built
    for name, part in composed.items():
        if unbuilt := [model for model in getattr(part.options, "models", ()) if model not in built]:
            problem = "this model itself" if unbuilt[0] == name else "composed of other models and is defined below it"
            raise ConfigError(f"models.{name}.models: {unbuilt[0]!r} is {problem}. Name models above this one.")
        before = registry.given_models
        model = part.module.build(part.options, registry)
        built[name] = meter(name, model, counter, has_models=registry.given_models > before)
    return {name: built[name] for name in models}


def meter(name: str, model: Model, counter: CallCounter, *, has_models: bool = False) -> Model:
    set_model_key(model, name)
    return meter_model(model, counter, name, has_models=has_models)


def _build(part: ConfiguredPart) -> Any:
    return part.module.build(part.options)


def load_hooks(names: HookNames) -> Hooks:
    return Hooks(
        before_request=[parts.require_async(parts.load(name)) for name in names.before_request],
        after_request=[parts.require_async(parts.load(name)) for name in names.after_request],
        on_error=[parts.require_async(parts.load(name)) for name in names.on_error],
    )
