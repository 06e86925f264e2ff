"""Puts the parts together into a FastAPI application. The only package that knows all of them.

config → Assembly (everything built, nothing open) → router (its routes and its lifespan) → FastAPI application
"""

from fastapi import FastAPI
from starlette.responses import Response

from rightseat.access.door import Door
from rightseat.app import docs
from rightseat.app.application import Application
from rightseat.app.assembling import Assembly, artifacts_of, assemble, pins_of
from rightseat.app.hiring import hire
from rightseat.app.routing import door_of, router
from rightseat.app.supplying import Supply
from rightseat.config import Config, Server
from rightseat.faces.answers import answer

__all__ = [
    "Assembly",
    "Supply",
    "application",
    "artifacts_of",
    "assemble",
    "build",
    "door_of",
    "hire",
    "pins_of",
    "router",
]


def build(config: Config) -> FastAPI:
    return application(assemble(config), config.server)


def application(assembly: Assembly, server: Server) -> FastAPI:
    """The router with what a server of its own needs: who may call, whether it lives, and whether it can work."""
    app = Application(server)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": app.version}

    @app.get("/ready")
    async def ready() -> Response:
        problems = [problem._asdict() for problem in await assembly.readiness.problems()]
        if assembly.runtime.is_leaving:
            problems.append({"dependency": "server", "address": "", "cause": "shutting down"})
        body = {"status": "not ready", "problems": problems} if problems else {"status": "ready"}
        return answer(body, 503 if problems else 200)

    faces = router(assembly)
    if server.docs:
        app.routes.extend(docs.routes(app, faces.routes, Door("docs", assembly.doorman)))
    app.serve(faces)
    return app
