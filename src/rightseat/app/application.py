"""The ASGI application of a server: checks hosts and origins, and calls the routes of faces on a fast path."""

import logging
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from rightseat.access.hosts import Hosts
from rightseat.access.origins import AllowedOrigins
from rightseat.access.request_limits import check_head
from rightseat.access.route_auth import find_route_auth
from rightseat.app.cors import RefusedOrigins, cors_options
from rightseat.app.request_id import FACELESS, ObserveRequest, RequestIdSend, find_header
from rightseat.config import Server
from rightseat.core.errors import OriginNotAllowed, RightseatError
from rightseat.faces._shared.base_url import PUBLIC_URL
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import RAW_SEND
from rightseat.faces._shared.socket_token import hide_token

logger = logging.getLogger(__name__)

POLICY_VIOLATION = 1008


class Application(FastAPI):
    """FastAPI with checks of `Host` and `Origin`, and a fast path to the routes of faces.

    Every middleware layer stays in memory until a response ends, and is called again for each chunk. So a face's plain
    routes are called right behind the checks, and find the server's own `send` in the scope. If the application has
    middleware of its own, all routes take the usual path.
    """

    def __init__(self, server: Server, observe: ObserveRequest | None = None) -> None:
        super().__init__(
            title="rightseat",
            version=version("rightseat"),
            openapi_url=None,  # see `app.docs`
            redirect_slashes=False,  # a redirect would repeat the host that the request claims
        )
        self._plain_routes: dict[tuple[str, str], Route] = {}
        self._parametrized_routes: list[tuple[str, Route]] = []  # by the literal prefix of their path
        self._own_paths: set[str] = set()  # of the application; a parametrized route of a face never shadows them
        self._hosts = Hosts(server.names)
        self._server = server
        self._observe = observe
        self._refused_origins = RefusedOrigins(server)
        self._cors = CORSMiddleware(self._handle, **cors_options(server))
        self._closed_cors = CORSMiddleware(self._handle)  # of faces that no page of another origin may call
        self._cors_by_path: dict[str, CORSMiddleware] = {}  # of faces that allow more origins
        self._cors_by_route: list[tuple[Route, CORSMiddleware]] = []

    def serve(self, faces: APIRouter) -> None:
        self._own_paths |= {getattr(route, "path", "") for route in self.routes}
        self.include_router(faces)
        for route in faces.routes:
            if (
                (auth := find_route_auth(getattr(route, "endpoint", None)))
                and auth.allowed_origins
                and type(route) is Route
            ):
                self._allow_origins(route, auth.allowed_origins)
            if type(route) is Route and route.param_convertors:
                self._parametrized_routes.append((route.path.partition("{")[0], route))
            elif type(route) is Route:
                self._plain_routes |= {(route.path, method): route for method in route.methods or ()}

    def _allow_origins(self, route: Route, allowed: AllowedOrigins) -> None:
        cors = self._closed_cors
        if not allowed.is_closed:
            cors = CORSMiddleware(self._handle, **cors_options(self._server, allowed))
        if route.param_convertors:
            self._cors_by_route.append((route, cors))
        else:
            self._cors_by_path[route.path] = cors

    def _find_cors(self, scope: Scope) -> CORSMiddleware:
        """The CORS rules of the path, for every method."""
        path = scope["path"]
        if cors := self._cors_by_path.get(path):
            return cors
        for route, cors in self._cors_by_route:
            if route.path_regex.match(path):
                return cors
        return self._cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await self._open_socket(scope, receive, send)
        if scope["type"] != "http":
            return await self._cors(scope, receive, send)
        cors = self._find_cors(scope)
        origin = find_header(scope, b"origin")
        if "app" not in scope:  # mounted in another application, which has checks of its own
            try:
                check_head(scope)
                self._hosts.check(scope)
                self._check_origin(scope, cors, origin)
            except RightseatError as error:
                refusal = json_response({"error": error.code, "message": error.message}, error.status)
                if self._observe is not None:
                    self._observe(scope["method"], error.status, FACELESS, 0.0)
                return await refusal(scope, receive, send)
            if self._server.public_url:
                scope[PUBLIC_URL] = self._server.public_url
            if not self.user_middleware:  # no middleware, neither around nor inside
                scope[RAW_SEND] = send
        plain = self._find(scope) if origin is None and RAW_SEND in scope else None
        send = RequestIdSend(scope, send, self._observe, varies_by_origin=plain is not None)
        if plain is None:
            await cors(scope, receive, send)
        else:
            await respond(plain, scope, receive, send)

    async def _open_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page of another origin is refused as if it wanted to change something: it could read what is sent."""
        hide_token(scope)
        try:
            check_head(scope)
            self._hosts.check(scope)
            if (origin := find_header(scope, b"origin")) is not None:
                self._check_origin(scope, self._find_cors(scope), origin)
        except RightseatError as error:
            logger.info("refused a WebSocket at %s: %s", scope["path"], error)
            await receive()  # the opening message
            return await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        if self._server.public_url:
            scope[PUBLIC_URL] = self._server.public_url
        await self._cors(scope, receive, send)

    def _check_origin(self, scope: Scope, cors: CORSMiddleware, origin: str | None) -> None:
        """Pages of other origins may not change anything, not even by a request that needs no preflight (CSRF)."""
        if origin is None or is_same_origin(origin, scope) or cors.is_allowed_origin(origin):
            return
        if origin == self._server.public_origin:
            return
        if cors is self._closed_cors:
            raise OriginNotAllowed("Pages of other origins may not call this address, whatever `server.origins` lists.")
        self._refused_origins.log(origin, scope["path"])
        if scope.get("method") not in ("GET", "HEAD", "OPTIONS"):
            shown = repr(origin[:255])
            raise OriginNotAllowed(f"The origin {shown} is not allowed. An operator can add it to `server.origins`.")

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = self._find(scope) if scope["type"] == "http" and not self.user_middleware else None
        if plain is None:
            await super().__call__(scope, receive, send)
        elif RAW_SEND in scope:
            await respond(plain, scope, receive, send)
        else:
            await plain.handle(scope, receive, send)

    def _find(self, scope: Scope) -> Route | None:
        path = scope["path"]
        if plain := self._plain_routes.get((path, scope["method"])):
            scope["endpoint"] = plain.endpoint
            return plain
        for prefix, route in self._parametrized_routes:
            if not path.startswith(prefix) or path in self._own_paths:
                continue
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                return route
        return None


def is_same_origin(origin: str, scope: Scope) -> bool:
    return origin.partition("://")[2] == find_header(scope, b"host")


async def respond(route: Route, scope: Scope, receive: Receive, send: Send) -> None:
    """Do what the route does, without checking the method and without Starlette's error handler around it."""
    response = await route.endpoint(Request(scope, receive, send))
    await response(scope, receive, send)
