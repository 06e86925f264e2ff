"""The metrics face: counters and timings of the server in Prometheus format."""

from importlib import import_module
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response
from rightseat.installation import install_command


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = "/metrics"
    """The path of the metrics."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    metrics = import_metrics()

    def refuse(error: RightseatError) -> Response:
        return json_response({"error": error.code, "message": error.message}, error.status)

    async def show(request: Request, principal: Principal) -> Response:
        return Response(await metrics.SERVER.read(), headers={"content-type": metrics.CONTENT_TYPE})

    return APIRouter(routes=[Route(options.path, auth.protect(show, refuse), methods=["GET"])])


def import_metrics() -> Any:
    """Imported here, so that the face can be named where the Prometheus client is not installed."""
    try:
        return import_module("rightseat.telemetry.metrics")
    except ModuleNotFoundError as error:
        needed = f"the package {error.name!r}, which is not installed: {install_command('metrics')}"
        raise ConfigError(f"The face 'metrics' needs {needed}") from error
