"""Puts the parts together into a FastAPI application. The only package that knows all of them.

config → Assembly (everything built, nothing open) → router (its routes and its lifespan) → FastAPI application
"""

from fastapi import FastAPI

from rightseat.app.application import Application
from rightseat.app.assembling import Assembly, artifacts_of, assemble, require_async
from rightseat.app.hiring import hire
from rightseat.app.routing import door_of, router
from rightseat.app.supplying import Supply
from rightseat.config import Config, Server

__all__ = [
    "Assembly",
    "Supply",
    "application",
    "artifacts_of",
    "assemble",
    "build",
    "door_of",
    "hire",
    "require_async",
    "router",
]


def build(config: Config) -> FastAPI:
    return application(assemble(config), config.server)


def application(assembly: Assembly, server: Server) -> FastAPI:
    """The router with what a server of its own needs: who may call, and whether it lives."""
    app = Application(server)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": app.version}

    app.serve(router(assembly))
    return app
