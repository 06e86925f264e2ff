"""Collects the routes of every face, and refuses a face with an unprotected route."""

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter

from rightseat.access.attempts import WrongKeyLimit
from rightseat.access.authenticator import Authenticator
from rightseat.access.host_login import HostLogin
from rightseat.access.route_auth import RouteAuth, find_route_auth
from rightseat.app.authentication import build_sign_in
from rightseat.app.builder import Assembly
from rightseat.app.sign_in import sign_in_routes
from rightseat.config import ConfiguredPart
from rightseat.core.errors import ConfigError
from rightseat.limits.read_limits import ReadLimits
from rightseat.operations.usage import UsageReports


def build_router(assembly: Assembly) -> APIRouter:
    """The routes of every face. The application that includes the router runs its lifespan."""

    @asynccontextmanager
    async def lifespan(application: object) -> AsyncIterator[None]:
        if assembly.opening.is_held_by(application):
            yield
            return
        async with assembly.opened(application):
            yield

    router = APIRouter(lifespan=lifespan)
    if assembly.identity_provider is not None and assembly.own_server is not None:
        sign_in = assembly.own_server.sign_in = build_sign_in(assembly.own_server.config, assembly.identity_provider)
        attempts = assembly.authenticator.attempts if assembly.authenticator else WrongKeyLimit()
        router.routes.extend(sign_in_routes(sign_in, attempts))
    for index, face in enumerate(assembly.faces):
        auth = build_route_auth(face, assembly.authenticator, assembly.reads, assembly.host)
        toolbox = [assembly.face_toolboxes[index]] if index in assembly.face_toolboxes else []
        asked_for = parts_asked_for(
            face,
            operations=assembly.operations,
            own_server=assembly.own_server,
            usage=UsageReports(assembly.metering) if assembly.metering else None,
            own_threads=assembly.own_threads,
            feedback=assembly.feedback,
            memories=assembly.memories,
            annotations=assembly.annotations,
            changes=assembly.changes,
            evals=assembly.evals,
            fingerprint=assembly.fingerprint,
        )
        for route in face.module.routes(assembly.runtime, face.options, auth, *toolbox, **asked_for).routes:
            if find_route_auth(getattr(route, "endpoint", None)) is not auth:
                raise ConfigError(f"The face {face.type!r} has a route that its `auth` does not protect: {route}.")
            router.routes.append(route)
    return router


def parts_asked_for(face: ConfiguredPart, **offered: object) -> dict[str, object]:
    """Those of the offered parts that the face's `routes` has parameters for. Other faces cannot reach them."""
    asked_for = inspect.signature(face.module.routes).parameters
    return {name: part for name, part in offered.items() if name in asked_for}


def build_route_auth(
    face: ConfiguredPart,
    authenticator: Authenticator | None,
    reads: ReadLimits | None = None,
    host: HostLogin | None = None,
) -> RouteAuth:
    if face.access == "keys" and authenticator is None:
        raise ConfigError(
            f"The face {face.type!r} requires keys, but none are configured. `rightseat keys new NAME` makes one."
        )
    allowed_origins = getattr(face.module, "allowed_origins", None)
    return RouteAuth(
        face.type,
        None if face.access == "open" else authenticator,
        route_authenticator=authenticator,
        allowed_origins=None if allowed_origins is None else allowed_origins(face.options),
        reads=reads,
        host=host,
        is_open=face.access == "open",
        audience=getattr(face.options, "token_audience", None) or "",
    )
