"""The usage face: what each user, key, agent and model used, and how much of each limit is left.

A credential sees the rows of its own user and the limits of its user and key; one with the scope `usage:*` sees all.
The scope `*` does not include it.
"""

from collections.abc import Mapping
from datetime import date

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest, ConfigError, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response
from rightseat.limits.report import report_usage
from rightseat.limits.store import UsageQuery, parse_columns
from rightseat.operations.rights import Operator, OperatorRights
from rightseat.operations.usage import UsageReports

PARAMETERS = ("by", "since", "until")


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = "/usage"
    """The path of the usage report. The state of the limits is at `/limits` below it."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth, usage: UsageReports | None = None) -> APIRouter:
    if usage is None:
        raise ConfigError("The face 'usage' needs a server that is built from a configuration.")
    face = UsageFace(usage, auth)
    path = options.path.rstrip("/")
    return APIRouter(
        routes=[
            Route(path or "/", auth.protect(face.show_usage, refuse), methods=["GET"]),
            Route(f"{path}/limits", auth.protect(face.show_limits, refuse), methods=["GET"]),
        ]
    )


class UsageFace:
    def __init__(self, usage: UsageReports, auth: RouteAuth) -> None:
        self._usage = usage
        self._auth = auth

    async def show_usage(self, request: Request, principal: Principal) -> Response:
        try:
            query = read_query(request.query_params)
            rows = await self._usage.sum(self._operator_of(request, principal), query)
        except RightseatError as error:
            return refuse(error)
        return json_response(report_usage(query, rows, self._usage.currency))

    async def show_limits(self, request: Request, principal: Principal) -> Response:
        try:
            counters = await self._usage.list_counters(self._operator_of(request, principal))
        except RightseatError as error:
            return refuse(error)
        return json_response({"limits": counters})

    def _operator_of(self, request: Request, principal: Principal) -> Operator:
        """Rights of the face `operator` count there only."""
        return Operator(principal, OperatorRights(usage=self._auth.rights_of(request).usage))


def refuse(error: RightseatError) -> Response:
    return json_response({"error": error.code, "message": error.message}, error.status)


def read_query(parameters: Mapping[str, str]) -> UsageQuery:
    """Raises `BadRequest`."""
    if unknown := sorted(set(parameters) - set(PARAMETERS)):
        raise BadRequest(f"Unknown parameter {unknown[0]!r}. Known are: {', '.join(PARAMETERS)}.")
    try:
        columns = parse_columns(parameters.get("by", "user"))
    except ValueError as error:
        raise BadRequest(f"`by` cannot be {parameters['by']!r}: {error}.") from None
    return UsageQuery(columns, read_day(parameters, "since"), read_day(parameters, "until"))


def read_day(parameters: Mapping[str, str], name: str) -> date | None:
    text = parameters.get(name)
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise BadRequest(f"`{name}` is {text!r}, not a day such as 2026-11-01.") from None
