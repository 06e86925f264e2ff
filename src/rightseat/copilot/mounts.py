"""A copilot inside of another application: as a router, as a mounted application, or around it.

The addresses in documents have the path below which the application serves the copilot, as each request shows it.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightseat.access.route_auth import RouteEndpoint, find_route_auth
from rightseat.app import build_included_router
from rightseat.app.cors import cors_options
from rightseat.config import Server
from rightseat.copilot.serving import Serving
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.faces._shared.base_url import BASE_PATH, PUBLIC_URL
from rightseat.faces._shared.responses import json_response

logger = logging.getLogger(__name__)

Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]
CLOSED_SERVER = Server(origins=())
"""Pages of this machine may not call by themselves: all origins but those of faces are the application's business."""


class SwitchedEndpoint:
    """The endpoint of a route in what is served now."""

    def __init__(self, serving: Serving, index: int, route: Route, public_url: str | None) -> None:
        self._serving = serving
        self._index = index
        self._path = route.path_format
        self._public_url = public_url
        auth = find_route_auth(route.endpoint)
        allowed = auth.allowed_origins if auth else None
        self.cors = None if allowed is None or allowed.is_closed else cors_options(CLOSED_SERVER, allowed)

    @property
    def target(self) -> RouteEndpoint:
        found: RouteEndpoint = find_route(self._serving.current.router.routes, self._index).endpoint
        return found

    async def respond(self, request: Request) -> Response:
        try:
            served = await self._serving.enter()
        except RightseatError as error:
            logger.error("The copilot cannot be opened: %s", error)
            return json_response({"error": "unavailable", "message": "The copilot is not available."}, 503)
        self._set_base(request)
        response: Response = await find_route(served.router.routes, self._index).endpoint(request)
        return response if self.cors is None or "origin" not in request.headers else CorsResponse(response, self.cors)

    def _set_base(self, request: Request) -> None:
        """The path of the request without that of the route is where the application serves the copilot."""
        scope = request.scope
        root = scope.get("root_path", "")
        path = scope["path"] if scope["path"].startswith(root) else root + scope["path"]
        own = self._path.format(**request.path_params) if request.path_params else self._path
        base = path.removesuffix(own) if path.endswith(own) else root
        scope[BASE_PATH] = base
        if self._public_url is not None:
            outer = scope.get("app_root_path", root)
            scope[PUBLIC_URL] = self._public_url + base.removeprefix(outer)


def find_route(routes: Sequence[BaseRoute], index: int) -> Route:
    route = routes[index]
    if not isinstance(route, Route):
        raise TypeError(route)
    return route


class CorsResponse(Response):
    """A response with the headers that allow pages of a face's origins to read it."""

    def __init__(self, response: ASGIApp, rules: dict[str, Any]) -> None:
        super().__init__()
        self._response = response
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await CORSMiddleware(self._response, **self._rules)(scope, receive, send)


def build_switched_router(serving: Serving, lifespan: Lifespan, public_url: str | None) -> APIRouter:
    """The routes of the faces, and a lifespan that opens the copilot."""
    router = APIRouter(lifespan=lifespan)
    for index, route in enumerate(serving.current.router.routes):
        if not isinstance(route, Route):
            raise ConfigError(f"A copilot in another application cannot have the route {route}.")
        endpoint = SwitchedEndpoint(serving, index, route, public_url)
        router.routes.append(Route(route.path, endpoint.respond, methods=route.methods, name=route.name))
    return router


def build_router_to_include(serving: Serving, lifespan: Lifespan, public_url: str | None) -> APIRouter:
    """The same for `include_router`, with responses to preflights of faces that pages of other origins may call.

    A preflight has no credentials, so no dependency of the application is asked about it. Its response comes from the
    configuration alone.
    """
    switched = build_switched_router(serving, lifespan, public_url)
    included = build_included_router(switched)
    for path, rules in preflights_of(switched.routes).items():
        included.routes.append(Route(path, make_preflight(rules), methods=["OPTIONS"], include_in_schema=False))
    return included


def preflights_of(routes: Sequence[BaseRoute]) -> dict[str, dict[str, Any]]:
    endpoints = (
        (route.path, getattr(route.endpoint, "__self__", None)) for route in routes if isinstance(route, Route)
    )
    return {path: one.cors for path, one in endpoints if isinstance(one, SwitchedEndpoint) and one.cors is not None}


def make_preflight(rules: dict[str, Any]) -> RouteEndpoint:
    async def respond(request: Request) -> Response:
        return CorsResponse(Response(status_code=204), rules)

    return respond


def build_mounted(serving: Serving, lifespan: Lifespan, public_url: str | None) -> ASGIApp:
    """An application to mount. A server runs its lifespan; an application that mounts it does not."""
    application = FastAPI(title="rightseat", openapi_url=None, redirect_slashes=False)
    application.include_router(build_router_to_include(serving, lifespan, public_url))
    return MountedApplication(application)


class MountedApplication:
    """Gives requests the form that Starlette has, whatever application it is mounted in.

    Some cut their own path off `path`, and leave it in `raw_path`. Here `path` is whole, and `root_path` says how much
    of it belongs to the application around.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = restore_path(scope)
        await self._application(scope, receive, send)


def restore_path(scope: Scope) -> Scope:
    """Litestar also adds a slash to the end of `path`."""
    raw = scope.get("raw_path")
    whole, cut = unquote_path(raw) if raw else scope["path"], scope["path"].rstrip("/")
    before = whole.rstrip("/").removesuffix(cut) if cut else whole.rstrip("/")
    if whole == scope["path"] or len(before) + len(cut) != len(whole.rstrip("/")):
        return dict(scope)
    return {**scope, "path": whole, "root_path": before}


def unquote_path(raw: bytes) -> str:
    return unquote(raw.partition(b"?")[0].decode("latin-1"))


class WrappedApplication:
    """An application with the copilot below a path of it. Its lifespan, if it has one, is around the copilot's."""

    def __init__(self, application: ASGIApp, copilot: ASGIApp, path: str, lifespan: Lifespan) -> None:
        self._application = application
        self._copilot = copilot
        self._path = path
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._run_lifespan(scope, receive, send)
        root = scope.get("root_path", "")
        path: str = scope["path"].removeprefix(root)
        if scope["type"] == "http" and f"{path}/".startswith(f"{self._path}/"):
            whole = scope["path"] if scope["path"].startswith(root) else root + scope["path"]
            scope = {**scope, "path": whole, "root_path": root + self._path}
            return await self._copilot(scope, receive, send)
        await self._application(scope, receive, send)

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Of the application, with the copilot opened last and closed first; of the copilot alone if it has none."""
        async with AsyncExitStack() as stack:
            events = LifespanEvents(receive, send, stack, self._lifespan)
            try:
                await self._application(scope, events.receive, events.send)
            except Exception:  # an application without a lifespan raises any exception
                if events.is_supported:
                    raise
            if not events.is_supported:
                await events.run_alone()


class LifespanEvents:
    def __init__(self, receive: Receive, send: Send, stack: AsyncExitStack, lifespan: Lifespan) -> None:
        self._receive = receive
        self._send = send
        self._stack = stack
        self._lifespan = lifespan
        self._has_begun = False
        self.is_supported = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._has_begun = True
        if message["type"] == "lifespan.shutdown":
            await self._stack.aclose()
        return message

    async def send(self, message: Message) -> None:
        self.is_supported = True
        if message["type"] == "lifespan.startup.complete":
            message = await self._open(message)
        await self._send(message)

    async def run_alone(self) -> None:
        if not self._has_begun:
            await self._receive()
        await self._send(await self._open({"type": "lifespan.startup.complete"}))
        await self._receive()
        await self._stack.aclose()
        await self._send({"type": "lifespan.shutdown.complete"})

    async def _open(self, complete: Message) -> Message:
        try:
            await self._stack.enter_async_context(self._lifespan(None))
        except ConfigError as error:
            return {"type": "lifespan.startup.failed", "message": error.message}
        return complete
