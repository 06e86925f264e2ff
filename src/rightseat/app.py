"""Puts the parts together into a FastAPI application. The only module that knows all of them.

config → Assembly (everything built, nothing open) → router (its routes and its lifespan) → FastAPI application
"""

import inspect
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rightseat import parts
from rightseat.config import Config, HookNames, Part, Server
from rightseat.core.errors import ConfigError
from rightseat.core.hooks import Hooks
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Toolbox
from rightseat.faces.streaming import STRAIGHT
from rightseat.toolboxes import functions

H = TypeVar("H")

HEADERS = (
    "authorization",
    "content-type",
    "x-copilotcloud-public-api-key",
    "x-copilotkit-runtime-client-gql-version",
)
"""The request headers that a browser must ask leave for, and our clients send."""

THIS_MACHINE = r"http://(localhost|127\.0\.0\.1)(:\d+)?"


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts, put together. `owned` are opened with the server and closed with it, in this order and in reverse."""

    runtime: Runtime
    faces: Sequence[Part]
    owned: Sequence[object] = ()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Open what must be opened. At the end runs are cancelled first, while the parts that they use still work."""
        async with AsyncExitStack() as stack:
            for part in self.owned:
                if isinstance(part, AbstractAsyncContextManager):
                    await stack.enter_async_context(part)
            stack.push_async_callback(self.runtime.close)
            yield


def build(config: Config) -> FastAPI:
    return application(assemble(config), config.server)


def assemble(config: Config, own: Sequence[Toolbox] = ()) -> Assembly:
    """Build every part. `own` are tools that all agents get, beside those that they name."""
    log, threads, engine = (_build(part) for part in (config.log, config.threads, config.engine))
    supply = Supply({name: _build(part) for name, part in config.models.items()}, own)
    agents = {name: part.module.build(part.options, supply) for name, part in config.agents.items()}
    runtime = Runtime(agents, log=log, threads=threads, engine=engine, hooks=load_hooks(config.hooks))
    owned = (log, threads, engine, *supply.models.values(), *supply.loaded.values(), *agents.values())
    return Assembly(runtime, config.faces, owned)


class Supply:
    """What an agent is built from: `parts.Parts` over the parts of one configuration."""

    def __init__(self, models: Mapping[str, Model], own: Sequence[Toolbox] = ()) -> None:
        self.models = models
        self.own = own
        self.loaded: dict[str, Toolbox] = {}

    def model(self, name: str) -> Model:
        try:
            return self.models[name]
        except KeyError:
            raise ConfigError(f"No model is named {name!r}.{parts.hint(name, self.models)}") from None

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        named = list(references)
        for reference in named:
            if reference not in self.loaded:
                self.loaded[reference] = functions.box(parts.load(reference), reference)
        return (*self.own, *(self.loaded[reference] for reference in named))


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
    for face in assembly.faces:
        for route in face.module.routes(assembly.runtime, face.options).routes:
            whole.routes.append(route)
    return whole


class Application(FastAPI):
    """FastAPI, with a shorter way to the faces.

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
        self._door = CORSMiddleware(self._inside, **cors(server))

    def serve(self, faces: APIRouter) -> None:
        self.include_router(faces)
        for route in faces.routes:
            if type(route) is Route and not route.param_convertors:
                self._plain |= {(route.path, method): route for method in route.methods or ()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "app" not in scope and not self.user_middleware:  # neither around us nor inside
            scope[STRAIGHT] = send
        await self._door(scope, receive, send)

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = self._plain.get((scope["path"], scope["method"])) if scope["type"] == "http" else None
        if plain is None or self.user_middleware:
            await super().__call__(scope, receive, send)
        else:
            await plain.handle(scope, receive, send)


def application(assembly: Assembly, server: Server) -> FastAPI:
    """The router with what a server of its own needs: who may call, and whether it lives."""
    app = Application(server)
    app.serve(router(assembly))

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": app.version}

    return app


def cors(server: Server) -> dict[str, Any]:
    """A closed list. Cookies and such only for origins that were named one by one."""
    rules: dict[str, Any] = {
        "allow_methods": ("GET", "POST", "OPTIONS"),
        "allow_headers": (*HEADERS, *server.headers),
    }
    if server.origins is None:
        return rules | ({"allow_origin_regex": THIS_MACHINE} if server.is_local else {})
    return rules | {"allow_origins": server.origins, "allow_credentials": "*" not in server.origins}


def _build(part: Part) -> Any:
    return part.module.build(part.options)
