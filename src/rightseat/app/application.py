"""The application that a server runs: for whom it answers, and the short way to the faces."""

from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from rightseat.access.door import guard_of
from rightseat.access.heads import check_head
from rightseat.access.hosts import Hosts
from rightseat.access.pages import Pages
from rightseat.app.numbering import Numbered
from rightseat.app.pages import cors
from rightseat.config import Server
from rightseat.core.errors import ForeignPage, RightseatError
from rightseat.faces.answers import answer
from rightseat.faces.streaming import STRAIGHT


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
            openapi_url=None,  # see `app.docs`
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
        if scope["type"] != "http":
            return await self._pages(scope, receive, send)
        pages = self._rules(scope)
        origin = Headers(scope=scope).get("origin")
        if "app" not in scope:  # an application around us checks for itself
            try:
                check_head(scope)
                self._hosts.check(scope)
                self._check_page(scope, pages, origin)
            except RightseatError as error:
                refusal = answer({"error": error.code, "message": error.message}, error.status)
                return await refusal(scope, receive, send)
            if not self.user_middleware:  # neither around us nor inside
                scope[STRAIGHT] = send
        plain = self._find(scope) if origin is None and STRAIGHT in scope else None
        send = Numbered(scope, send, is_any_origin=plain is not None)
        if plain is None:
            await pages(scope, receive, send)
        else:
            await respond(plain, scope, receive, send)

    def _check_page(self, scope: Scope, pages: CORSMiddleware, origin: str | None) -> None:
        """A page of a foreign origin may not change anything, not even by a request that needs no leave to be sent."""
        if origin is None or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return
        if origin.partition("://")[2] == Headers(scope=scope).get("host"):
            return
        if not pages.is_allowed_origin(origin):
            raise ForeignPage(f"Pages of {origin} may not call. An operator can let them with `server.origins`.")

    async def _inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = self._find(scope) if scope["type"] == "http" and not self.user_middleware else None
        if plain is None:
            await super().__call__(scope, receive, send)
        elif STRAIGHT in scope:
            await respond(plain, scope, receive, send)
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


async def respond(route: Route, scope: Scope, receive: Receive, send: Send) -> None:
    """What the route would do, for a method of its own and without anyone who handles errors around it."""
    response = await route.endpoint(Request(scope, receive, send))
    await response(scope, receive, send)
