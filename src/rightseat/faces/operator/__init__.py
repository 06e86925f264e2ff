"""The operator face: the JSON API and the event stream of the web console.

A request sees the threads of its user, and those of others as far as its operator's rights go (`operations.rights`).
Pages of other origins cannot call it, whatever `server.origins` allows.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.key_files import load_or_create_key
from rightseat.access.origins import AllowedOrigins
from rightseat.access.route_auth import Handler, RouteAuth
from rightseat.access.sessions import Sessions
from rightseat.access.sign_in.service import SignIn
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.handlers import convert_errors
from rightseat.faces._shared.responses import json_response, read_body
from rightseat.faces.operator.access import AccessRoutes
from rightseat.faces.operator.annotations import AnnotationRoutes
from rightseat.faces.operator.approvals import ApprovalRoutes
from rightseat.faces.operator.audit_trail import AuditRoute
from rightseat.faces.operator.connect import ConnectRoutes
from rightseat.faces.operator.evals import EvalRoutes
from rightseat.faces.operator.failures import FailuresRoute
from rightseat.faces.operator.feedback import FeedbackRoutes
from rightseat.faces.operator.flows import FlowRoutes
from rightseat.faces.operator.health import HealthRoute
from rightseat.faces.operator.live import LiveRoute
from rightseat.faces.operator.memories import MemoryRoutes
from rightseat.faces.operator.metric_series import MetricsRoute
from rightseat.faces.operator.model_calls import ModelCallRoutes
from rightseat.faces.operator.plugins import PluginRoutes
from rightseat.faces.operator.requests import Operation, OperatorRequest, Routes, check_same_origin
from rightseat.faces.operator.runs import RunRoutes
from rightseat.faces.operator.session import SessionRoutes, SignInOffer, describe_sign_in
from rightseat.faces.operator.setup import SetupRoutes
from rightseat.faces.operator.threads import ThreadRoutes
from rightseat.faces.operator.usage_sums import UsageRoutes
from rightseat.health.own_server import OwnServer
from rightseat.operations.evals import Evals
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.operations.rights import Operator
from rightseat.operations.service import Operations
from rightseat.operations.usage import UsageReports
from rightseat.parts import StatePath


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = Field(default="/operator", pattern="^/")
    """The path of the API. The console expects it beside its own path."""
    edit: bool = False
    """Whether keys with the scope `operator.author:*` may save files of plugins, and keys with `operator.*:*` may
    create, rotate and revoke the API keys of the store. `serve --edit` switches it on too. It has no effect on a server
    without keys."""
    session_hours: float = Field(default=12.0, gt=0)
    """After how many hours a browser has to sign in again."""
    session_key: StatePath = Path("session.key")
    """The file with the secret that signs sessions; it is created if it does not exist. A relative path is relative to
    `server.state_dir`. Several servers behind one address need the same file."""
    max_body_mb: float = Field(default=16.0, gt=0)
    """The largest request body, including attachments."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Seconds without data before the event stream sends a keep-alive comment, so that proxies keep it open."""


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every error. Status 401 names the identity provider, for the sign-in screen."""

    error: str
    message: str
    sign_in: SignInOffer | None = None


def routes(
    runtime: Runtime,
    options: Options,
    auth: RouteAuth,
    operations: Operations,
    own_server: OwnServer | None = None,
    usage: UsageReports | None = None,
    feedback: OwnFeedback | None = None,
    evals: Callable[[], Evals | None] | None = None,
) -> APIRouter:
    router = APIRouter()
    max_bytes = int(options.max_body_mb * 2**20)
    if not auth.is_open:
        public_url = own_server.config.server.public_url if own_server is not None else None
        auth = auth.accept_sessions(
            Sessions(load_or_create_key(options.session_key), options.session_hours, public_url)
        )
    sign_in = own_server.sign_in if own_server is not None else None
    is_editing = options.edit and not auth.is_open
    currency = operations.prices.currency
    served: Routes = {
        **SessionRoutes(auth, own_server, sign_in, is_editing=is_editing, currency=currency).routes(),
        **RunRoutes(runtime, auth, operations).routes(),
        **ThreadRoutes(runtime, operations).routes(),
        **ApprovalRoutes(runtime, operations).routes(),
        **AuditRoute(operations).routes(),
        **FeedbackRoutes(operations, feedback).routes(),
        **MemoryRoutes(operations).routes(),
        **AnnotationRoutes(operations).routes(),
        **EvalRoutes(operations, evals).routes(),
        **ModelCallRoutes(operations).routes(),
        **FlowRoutes(runtime, auth).routes(),
        **ConnectRoutes(runtime.agents, runtime.faces, auth, options.path).routes(),
        **HealthRoute(own_server, runtime.admission).routes(),
        **AccessRoutes(own_server, is_editing=is_editing).routes(),
        **PluginRoutes(runtime, operations.plugins, is_editing=is_editing).routes(),
        **MetricsRoute(operations).routes(),
        **FailuresRoute(operations).routes(),
        **UsageRoutes(usage, currency).routes(),
        **SetupRoutes(own_server).routes(),
        **LiveRoute(runtime, operations, options.keep_alive).routes(),
    }
    for (method, path), operation in served.items():
        handler = make_handler(operation, auth, max_bytes)
        endpoint = auth.protect(handler, partial(refuse, sign_in=sign_in))
        router.add_route(f"{options.path.rstrip('/')}/{path}", endpoint, methods=[method])
    return router


def allowed_origins(options: Options) -> AllowedOrigins:
    """Not even pages that `server.origins` names: browsers would send them the cookie of a session."""
    return AllowedOrigins(is_closed=True)


def make_handler(operation: Operation, auth: RouteAuth, max_bytes: int) -> Handler:
    """Checks where the request comes from before it reads the body."""

    async def handle(request: Request, principal: Principal) -> Response:
        check_same_origin(request)
        body = b"" if request.method == "GET" else await read_body(request, max_bytes)
        response = await operation(OperatorRequest(Operator(principal, auth.rights_of(request)), body, request))
        response.headers.setdefault("cache-control", "no-store")
        return response

    return convert_errors(handle, refuse)


def refuse(error: RightseatError, sign_in: SignIn | None = None) -> Response:
    offer = describe_sign_in(sign_in) if error.status == 401 else None
    return json_response(Refusal(error.code, error.message, offer), error.status)
