"""Builds a FastAPI application from the parts of a configuration. The only package that imports all of them.

config → Assembly (built, not opened) → router (routes and lifespan) → FastAPI application
"""

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.access.hosts import WITHOUT_HOST
from rightseat.access.route_auth import RouteAuth
from rightseat.app import docs, home
from rightseat.app.application import Application
from rightseat.app.authentication import build_authenticator
from rightseat.app.builder import Assembly, assemble, load_hooks
from rightseat.app.included_routes import build_included_router
from rightseat.app.part_registry import PartRegistry
from rightseat.app.routing import build_route_auth, build_router
from rightseat.app.unknown_paths import CODES, UnknownPaths
from rightseat.config import Config, Server
from rightseat.faces._shared.responses import json_response

__all__ = [
    "Assembly",
    "PartRegistry",
    "application",
    "assemble",
    "build",
    "build_authenticator",
    "build_included_router",
    "build_route_auth",
    "build_router",
    "load_hooks",
]


def build(config: Config) -> FastAPI:
    return application(assemble(config), config.server)


def application(assembly: Assembly, server: Server, faces: APIRouter | None = None) -> FastAPI:
    """The router with what a server of its own adds: checks of hosts and origins, `/`, `/health` and `/ready`.

    `faces` are the routes and the lifespan, if they are made already.
    """
    app = Application(server, assembly.observe_request)

    @app.get("/health")
    async def health(request: Request) -> Response:
        if WITHOUT_HOST in request.scope:
            return PlainTextResponse("ok")
        return json_response({"status": "ok", "version": app.version})

    @app.get("/ready")
    async def ready(request: Request) -> Response:
        problems = [problem._asdict() for problem in await assembly.readiness.problems()]
        if assembly.runtime.is_shutting_down:
            problems.append({"dependency": "shutdown", "address": "", "cause": "shutting down"})
        if WITHOUT_HOST in request.scope:
            return PlainTextResponse("unavailable" if problems else "ready", 503 if problems else 200)
        body = {"status": "not ready", "problems": problems} if problems else {"status": "ready"}
        return json_response(body, 503 if problems else 200)

    faces = faces or build_router(assembly)
    if server.docs:
        app.routes.extend(docs.routes(app, faces.routes, RouteAuth("docs", assembly.authenticator)))
    has_keys = assembly.authenticator is not None
    app.routes.extend(home.routes(app.version, assembly.faces, has_keys=has_keys, taken=faces.routes))
    for status in CODES:
        app.add_exception_handler(status, UnknownPaths(assembly.faces).refuse)
    app.serve(faces)
    if assembly.own_server is not None:
        assembly.own_server.application = app
    return app
