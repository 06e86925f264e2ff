"""The metrics face: counters and timings of the server in Prometheus format."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightseat.access.authenticator import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response
from rightseat.telemetry.metrics import CONTENT_TYPE, SERVER


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = "/metrics"
    """The path of the metrics."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    def refuse(error: RightseatError) -> Response:
        return json_response({"error": error.code, "message": error.message}, error.status)

    async def show(request: Request, principal: Principal) -> Response:
        return Response(await SERVER.read(), headers={"content-type": CONTENT_TYPE})

    return APIRouter(routes=[Route(options.path, auth.protect(show, refuse), methods=["GET"])])
