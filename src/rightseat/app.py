"""Puts the parts together into a FastAPI application. The only module that knows all of them.

config → Assembly (everything built, nothing open) → router (its routes and its lifespan) → FastAPI application
"""

import inspect
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from rightseat import parts
from rightseat.access.door import Door, Doorman, Tokens, guard_of
from rightseat.access.hosts import Hosts
from rightseat.access.keys import Key, Keys, digest, prefix_of
from rightseat.access.pages import THIS_MACHINE, Pages
from rightseat.access.threads import Scoped
from rightseat.config import Access, ApiKey, Config, HookNames, Jwt, Part, Server
from rightseat.core.agent import Agent, Roster
from rightseat.core.artifacts import Artifacts
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import ConfigError, ForeignPage, RightseatError
from rightseat.core.events import Event
from rightseat.core.hooks import Hooks
from rightseat.core.ids import new_id
from rightseat.core.model import Model
from rightseat.core.observing import ABOUT, NOBODY, About, Observer
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Toolbox
from rightseat.faces.answers import answer
from rightseat.faces.streaming import STRAIGHT
from rightseat.stores.files import MemoryArtifacts
from rightseat.telemetry.several import Several
from rightseat.toolboxes import functions

H = TypeVar("H")

STAINLESS = ("arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout")
"""What OpenAI's own clients say of themselves."""

HEADERS = (
    "authorization",
    "content-type",
    "last-event-id",
    "openai-organization",
    "openai-project",
    "x-api-key",
    "x-request-id",
    "x-copilotcloud-public-api-key",
    "x-copilotkit-runtime-client-gql-version",
    *(f"x-stainless-{what}" for what in STAINLESS),
)
"""The request headers that a browser must ask leave for, and our clients send."""

METHODS = ("GET", "POST", "PATCH", "DELETE", "OPTIONS")
EXPOSED = ("x-rightseat-warnings", "x-request-id")
REQUEST_ID = re.compile(r"[0-9A-Za-z._:-]{1,128}")


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts, put together. `owned` are opened with the server and closed with it, in this order and in reverse.

    Without a `doorman` every door is open. `brought` are the toolboxes that faces have for all agents, by the place of
    the face.
    """

    runtime: Runtime
    faces: Sequence[Part]
    owned: Sequence[object] = ()
    doorman: Doorman | None = None
    brought: Mapping[int, Toolbox] = field(default_factory=dict)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open what must be opened. At the end runs are cancelled first, while the parts that they use still work."""
        async with AsyncExitStack() as stack:
            for part in self.owned:
                if isinstance(part, AbstractAsyncContextManager):
                    await stack.enter_async_context(part)
            stack.push_async_callback(self.runtime.close)
            await self.runtime.open()
            yield


def build(config: Config) -> FastAPI:
    return application(assemble(config), config.server)


def assemble(config: Config, own: Sequence[Toolbox] = ()) -> Assembly:
    """Build every part. `own` are tools that all agents get, beside those that they name."""
    log, threads, engine = (_build(part) for part in (config.log, config.threads, config.engine))
    brought = bring(config.faces)
    supply = Supply({}, (*own, *brought.values()), artifacts_of(threads))
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
    return Assembly(runtime, config.faces, (log, threads, engine, *inside, doorman), doorman, brought)


def artifacts_of(threads: object) -> Artifacts:
    """Those that the store keeps beside its threads; in memory, for a store of somebody else's that keeps none."""
    found: Artifacts | None = getattr(threads, "artifacts", None)
    return found or MemoryArtifacts()


def watch(config: Config) -> list[Observer]:
    """Who is told of all that runs do. What tells them is large, so only a server that wants it imports it."""
    told = config.telemetry
    observers: list[Observer] = []
    if told.traces:
        traces = import_part("rightseat.telemetry.traces", "Traces")
        endpoint = told.traces if isinstance(told.traces, str) else None
        observers.append(traces.Traces(endpoint, told.service, version("rightseat")))
    if any(face.type == "metrics" for face in config.faces):
        observers.append(import_part("rightseat.telemetry.metrics", "Metrics").SERVER)
    return observers


def together(observers: Sequence[Observer]) -> Observer:
    return Several(observers) if observers else NOBODY


def import_part(path: str, what: str) -> Any:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{what} need a package that is not installed: pip install 'rightseat[telemetry]'") from error


def bring(faces: Sequence[Part]) -> dict[int, Toolbox]:
    """What faces have for all agents."""
    makers = {place: (getattr(face.module, "toolbox", None), face) for place, face in enumerate(faces)}
    return {place: make(face.options) for place, (make, face) in makers.items() if make is not None}


def build_models(models: Mapping[str, Part], supply: "Supply") -> Mapping[str, Model]:
    """Those that are built from others come last, in their order: one can name another that stands before it."""
    composed = {name: part for name, part in models.items() if len(inspect.signature(part.module.build).parameters) > 1}
    built = {name: _build(part) for name, part in models.items() if name not in composed}
    supply.models = built
    for name, part in composed.items():
        built[name] = part.module.build(part.options, supply)
    return {name: built[name] for name in models}


class Supply:
    """What an agent is built from: `parts.Parts` over the parts of one configuration."""

    def __init__(self, models: Mapping[str, Model], own: Sequence[Toolbox], artifacts: Artifacts) -> None:
        self.models = models
        self.own = own
        self.artifacts = artifacts
        self.named: Mapping[str, Toolbox] = {}
        self.agents: Mapping[str, Agent] = {}
        self.loaded: dict[str, Toolbox] = {}

    def model(self, name: str) -> Model:
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
        return Named(name, self)

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        named = list(references)
        for reference in named:
            if reference not in self.loaded:
                self.loaded[reference] = functions.box(parts.load(reference), reference)
        return (*self.own, *(self.loaded[reference] for reference in named))


class Named:
    """An agent that may not be built yet: two may name each other."""

    def __init__(self, name: str, supply: Supply) -> None:
        self._name = name
        self._supply = supply

    @property
    def _agent(self) -> Agent:
        part, _, member = self._name.partition("/")
        if member and isinstance(roster := self._supply.agents.get(part), Roster):
            return roster.member(member)
        try:
            return self._supply.agents[self._name]
        except KeyError:
            raise ConfigError(
                f"No agent is named {self._name!r}.{parts.hint(self._name, self._supply.agents)}"
            ) from None

    @property
    def description(self) -> str:
        return self._agent.description

    @property
    def durable(self) -> bool:
        return getattr(self._agent, "durable", False)

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        return self._agent.run(ask, steps)


def hire(access: Access) -> Doorman | None:
    """Who knows the keys and tokens that are good here; nobody, if there are none."""
    if not access.is_set:
        return None
    named = [key.name for key in access.keys]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ConfigError(f"Two keys have one name, and the log could not tell them apart: {', '.join(sorted(twice))}.")
    keys = [read_key(key) for key in access.keys]
    if len({key.hash for key in keys}) < len(keys):
        raise ConfigError("Two keys of `access` are one and the same. Make another with `rightseat keys new NAME`.")
    return Doorman(Keys(keys), read_tokens(access.jwt) if access.jwt else None, access.cookie)


def read_key(key: ApiKey) -> Key:
    user = key.user or f"key:{key.name}"
    if key.key is not None:
        secret = key.key.get_secret_value()
        return Key(key.name, prefix_of(secret), digest(secret), user, key.scopes)
    return Key(key.name, key.prefix or "", key.hash or "", user, key.scopes)


def read_tokens(jwt: Jwt) -> Tokens:
    """What reads tokens is large, so only a server that takes tokens imports it."""
    jwks, tokens = (import_module(f"rightseat.access.{name}") for name in ("jwks", "tokens"))
    found: Tokens = tokens.Tokens(tokens.Rules(**jwt.model_dump(exclude={"jwks"})), jwks.Jwks(jwt.jwks))
    return found


def load_hooks(names: HookNames) -> Hooks:
    return Hooks(
        before_request=[require_async(parts.load(name)) for name in names.before_request],
        after_request=[require_async(parts.load(name)) for name in names.after_request],
        on_error=[require_async(parts.load(name)) for name in names.on_error],
    )


def require_async(hook: H) -> H:
    """A hook is awaited; that it cannot be should be said before the first request."""
    given: Any = hook
    if not callable(given) or (inspect.isroutine(given) and not inspect.iscoroutinefunction(given)):
        raise ConfigError(f"The hook {getattr(hook, '__name__', hook)!r} should be an async function.")
    return hook


def router(assembly: Assembly) -> APIRouter:
    """The routes of every face. Whoever includes it runs its lifespan too."""

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with assembly.opened():
            yield

    whole = APIRouter(lifespan=lifespan)
    for place, face in enumerate(assembly.faces):
        door = door_of(face, assembly.doorman)
        brought = [assembly.brought[place]] if place in assembly.brought else []
        for route in face.module.routes(assembly.runtime, face.options, door, *brought).routes:
            if guard_of(getattr(route, "endpoint", None)) is not door:
                raise ConfigError(f"The face {face.type!r} has a route that is not behind its door: {route}.")
            whole.routes.append(route)
    return whole


def door_of(face: Part, doorman: Doorman | None) -> Door:
    if face.access == "keys" and doorman is None:
        raise ConfigError(f"The face {face.type!r} asks for keys, and there are none.")
    pages = getattr(face.module, "pages", None)
    return Door(
        face.type,
        None if face.access == "open" else doorman,
        inner=doorman,
        pages=None if pages is None else pages(face.options),
    )


class Application(FastAPI):
    """FastAPI, for the hosts that it should answer for, with a shorter way to the faces.

    Every layer that a request passes on its way in stays in memory until its answer has ended, and is asked again for
    each piece of it. So a face's plain routes are called right behind the check of who may call, and find the server's
    own `send` in the scope. Middleware that was added to the application takes all of them back to the usual way.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(
            title="rightseat",
            version=version("rightseat"),
            openapi_url="/openapi.json" if server.docs else None,
            redirect_slashes=False,  # a redirect would repeat whatever host the request claims
        )
        self._plain: dict[tuple[str, str], Route] = {}
        self._below: list[tuple[str, Route]] = []  # with parts of their path open, behind how they begin
        self._own: set[str] = set()  # paths that are no face's, whatever a face has open
        self._hosts = Hosts((server.host, *server.hosts))
        self._server = server
        self._pages = CORSMiddleware(self._inside, **cors(server))
        self._pages_of: dict[str, CORSMiddleware] = {}  # routes whose face lets others in too, by their path
        self._pages_below: list[tuple[Route, CORSMiddleware]] = []

    def serve(self, faces: APIRouter) -> None:
        self._own |= {getattr(route, "path", "") for route in self.routes}
        self.include_router(faces)
        for route in faces.routes:
            if (door := guard_of(getattr(route, "endpoint", None))) and door.pages and type(route) is Route:
                self._let_in(route, door.pages)
            if type(route) is Route and route.param_convertors:
                self._below.append((route.path.partition("{")[0], route))
            elif type(route) is Route:
                self._plain |= {(route.path, method): route for method in route.methods or ()}

    def _let_in(self, route: Route, pages: Pages) -> None:
        rules = CORSMiddleware(self._inside, **cors(self._server, pages))
        if route.param_convertors:
            self._pages_below.append((route, rules))
        else:
            self._pages_of[route.path] = rules

    def _rules(self, scope: Scope) -> CORSMiddleware:
        """Which pages may call what the request is for, whatever its method is."""
        path = scope["path"]
        if rules := self._pages_of.get(path):
            return rules
        for route, rules in self._pages_below:
            if route.path_regex.match(path):
                return rules
        return self._pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pages = self._rules(scope) if scope["type"] == "http" else self._pages
        if scope["type"] == "http" and "app" not in scope:  # an application around us checks for itself
            try:
                self._hosts.check(scope)
                self._check_page(scope, pages)
            except RightseatError as error:
                refusal = answer({"error": error.code, "message": error.message}, error.status)
                return await refusal(scope, receive, send)
        if "app" not in scope and not self.user_middleware:  # neither around us nor inside
            scope[STRAIGHT] = send
        if scope["type"] == "http":
            send = Numbered(scope, send)
        await pages(scope, receive, send)

    def _check_page(self, scope: Scope, pages: CORSMiddleware) -> None:
        """A page of a foreign origin may not change anything, not even by a request that needs no leave to be sent."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None or origin.partition("://")[2] == headers.get("host"):
            return
        if not pages.is_allowed_origin(origin):
            raise ForeignPage(f"Pages of {origin} may not call. An operator can let them with `server.origins`.")

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = self._find(scope) if scope["type"] == "http" and not self.user_middleware else None
        if plain is None:
            await super().__call__(scope, receive, send)
        else:
            await plain.handle(scope, receive, send)

    def _find(self, scope: Scope) -> Route | None:
        path = scope["path"]
        if plain := self._plain.get((path, scope["method"])):
            return plain
        for beginning, route in self._below:
            if not path.startswith(beginning) or path in self._own:
                continue
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                return route
        return None


class Numbered:
    """Sends an answer with the id of its request in its head: the client's own where that is a plain one."""

    __slots__ = ("_id", "_send")

    def __init__(self, scope: Scope, send: Send) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self._id = given if REQUEST_ID.fullmatch(given) else new_id("req")
        self._send = send
        ABOUT.set(About(self._id))

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"x-request-id", self._id.encode())]}
        await self._send(message)


def application(assembly: Assembly, server: Server) -> FastAPI:
    """The router with what a server of its own needs: who may call, and whether it lives."""
    app = Application(server)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": app.version}

    app.serve(router(assembly))
    return app


def cors(server: Server, pages: Pages | None = None) -> dict[str, Any]:
    """A closed list. Cookies and such only for origins that were named one by one, and never where a face adds some."""
    origins = server.origins or ()
    headers = (*HEADERS, *server.headers)
    rules: dict[str, Any] = {
        "allow_methods": METHODS,
        "allow_headers": headers,
        "allow_origins": origins,
        "expose_headers": EXPOSED,
    }
    if (server.origins is None and server.is_local) or (pages and pages.this_machine):
        rules["allow_origin_regex"] = THIS_MACHINE
    if pages is None:
        return rules | {"allow_credentials": bool(origins) and "*" not in origins}
    return rules | {
        "allow_origins": (*origins, *pages.origins),
        "allow_headers": ("*",),
        "expose_headers": (*EXPOSED, *pages.exposed),
        "allow_private_network": True,
    }


def _build(part: Part) -> Any:
    return part.module.build(part.options)
