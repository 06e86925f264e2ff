"""The routes of faces as FastAPI's, for an application that includes them.

FastAPI runs the dependencies of `FastAPI(…)`, `APIRouter(…)` and `include_router(…)` only before routes of its own
class. A route of Starlette's class would be reachable without them.
"""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rightseat.core.errors import ConfigError

FASTAPI_STACK = "fastapi_middleware_astack"
"""The scope key that FastAPI's routes require. An application of FastAPI sets it, one of Starlette does not."""


def build_included_router(faces: APIRouter) -> APIRouter:
    """The same routes and the same lifespan. Its routes are not in the OpenAPI document of the application."""
    return APIRouter(routes=convert_routes(faces.routes), lifespan=faces.lifespan_context)


def convert_routes(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Raises `ConfigError` for a route that dependencies could not protect, such as a mounted application."""
    converted: list[BaseRoute] = []
    for index, route in enumerate(routes):
        if type(route) is not Route:
            raise ConfigError(f"A router for `include_router` cannot have the route {route}: use `copilot.app()`.")
        converted.append(IncludedRoute(route, f"rightseat_{index}"))
    return converted


class IncludedRoute(APIRoute):
    """`operation_id` keeps the application's `generate_unique_id_function` away, which often expects tags."""

    def __init__(self, route: Route, operation_id: str) -> None:
        super().__init__(
            route.path,
            route.endpoint,
            methods=route.methods,  # with HEAD, which FastAPI does not add to GET
            name=route.name,
            operation_id=operation_id,
            include_in_schema=False,
            response_model=None,
        )
        self.app = refuse_bypassed_dependencies(self.app)  # an application that includes the route builds another one

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if FASTAPI_STACK in scope:
            return await super().handle(scope, receive, send)
        async with AsyncExitStack() as stack:
            scope[FASTAPI_STACK] = stack
            await super().handle(scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def respond(request: Request) -> Response:
            response = await handle(request)
            tasks, response.background = response.background, None
            return response if tasks is None else ResponseWithTasks(response, tasks)

        return respond


class ResponseWithTasks(Response):
    """A response, and then the background tasks that dependencies added: streams of faces run none themselves."""

    def __init__(self, response: Response, tasks: BackgroundTask) -> None:
        super().__init__()
        self._response = response
        self._tasks = tasks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._response(scope, receive, send)
        await self._tasks()


def refuse_bypassed_dependencies(app: ASGIApp) -> ASGIApp:
    """The route where it was not included, but mounted or copied: FastAPI runs no dependencies of its application."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        application = scope.get("app")
        if isinstance(application, FastAPI) and application.router.dependencies:
            raise ConfigError(
                "The dependencies of this application would not run: the copilot's router is mounted, or its routes "
                "are copied. Use `app.include_router(copilot.router(), prefix=…)`."
            )
        await app(scope, receive, send)

    return respond
