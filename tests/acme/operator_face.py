"""A face of another package for operators: it asks for `operations`, and says who asks."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.runtime import Runtime
from rightseat.operations.records import ThreadQuery
from rightseat.operations.rights import Operator
from rightseat.operations.service import Operations


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


async def list_without_operator(operations: Operations) -> object:
    return await operations.list_threads(ThreadQuery())  # type: ignore[call-arg, arg-type]  # the attempt


def routes(runtime: Runtime, options: Options, auth: RouteAuth, operations: Operations) -> APIRouter:
    async def list_threads(request: Request, principal: Principal) -> Response:
        user = request.query_params.get("user")
        try:
            page = await operations.list_threads(Operator(principal), ThreadQuery(user=user))
        except RightseatError as error:
            return refuse(error)
        return JSONResponse([row.user for row in page.rows])

    def refuse(error: RightseatError) -> Response:
        return JSONResponse({"error": error.code}, error.status)

    router = APIRouter()
    router.add_route("/acme/threads", auth.protect(list_threads, refuse), methods=["GET"])
    return router
