"""Counters and times of the server, for Prometheus to fetch."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightseat.access.door import Door
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces.answers import answer
from rightseat.telemetry.metrics import CONTENT_TYPE, SERVER


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = "/metrics"
    """Where they are."""


def routes(runtime: Runtime, options: Options, door: Door) -> APIRouter:
    def refuse(error: RightseatError) -> Response:
        return answer({"error": error.code, "message": error.message}, error.status)

    async def show(request: Request, principal: Principal) -> Response:
        return Response(SERVER.text(), headers={"content-type": CONTENT_TYPE})

    return APIRouter(routes=[Route(options.path, door.guard(show, refuse), methods=["GET"])])
