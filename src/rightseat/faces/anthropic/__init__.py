"""The Anthropic face: the Messages API, for Claude Code, Anthropic's SDKs and the clients built on them."""

from pathlib import Path

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.route_auth import Handler, RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.feedback import FeedbackEndpoints, RunFinder
from rightseat.faces._shared.files import make_file_response
from rightseat.faces._shared.handlers import BodyEndpoint, make_handler
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces.anthropic.error_form import (
    REQUEST_ID,
    ErrorReply,
    current_request_id,
    explain_path,
    refuse,
    write_limit_headers,
)
from rightseat.faces.anthropic.kept_threads import KeptThreads
from rightseat.faces.anthropic.listed_models import ListedModels
from rightseat.faces.anthropic.new_message import NewMessages
from rightseat.faces.anthropic.signatures import ThinkingSeal
from rightseat.limits.response_headers import LIMIT_HEADERS
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.parts import StatePath


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = Field(default="/anthropic", pattern="^/")
    """The path of the client's base URL, such as `ANTHROPIC_BASE_URL`: clients add `/v1/messages` to it."""
    models: tuple[str, ...] | None = None
    """Agents and models that clients may list and use as their model. Unset: all."""
    aliases: dict[str, str] = Field(default_factory=dict)
    """Further names, with the agent or the model that each stands for: `claude-*: default`. `*` stands for any text.
    The first pattern that matches counts; a configured name wins over all of them. Claude Code and other clients have
    names of Claude built in."""
    headers: tuple[str, ...] = ()
    """Request headers that are forwarded to hooks, tools and agents."""
    max_body_mb: float = Field(default=32.0, gt=0)
    """The largest request body, including images. Clients send the whole conversation with every question."""
    reasoning_key: StatePath = Path("reasoning.key")
    """The file with the key that signs thinking blocks. It is created when it is first needed. A relative path is
    relative to `server.state_dir`. Several servers behind one address need the same file."""
    keep_alive: float = Field(default=10.0, gt=0)
    """Seconds without data before a stream sends a `ping` event, so that proxies keep it open. A stream also waits
    this long for its first data: a failure within this time is an HTTP status."""
    approval_wait: float = Field(default=120.0, ge=0)
    """How many seconds a request waits when the agent asks a person, for example to approve a call. A decision in the
    console goes on with the same message."""
    sessions: bool = True
    """Store the conversations of Claude Code, each as a thread of its user. Other requests are only stored if they have
    `thread`."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth, feedback: OwnFeedback | None = None) -> APIRouter:
    router = APIRouter()
    path = options.path.rstrip("/")
    max_bytes = int(options.max_body_mb * 2**20)
    names = ModelNames(runtime, options.models, auth, face="anthropic", aliases=options.aliases)
    seal = ThinkingSeal(options.reasoning_key)
    new = NewMessages(
        runtime,
        names,
        seal,
        KeptThreads(runtime, keeps_sessions=options.sessions),
        headers=options.headers,
        keep_alive=options.keep_alive,
        approval_wait=options.approval_wait,
        path=path,
    )
    listed = ListedModels(names)

    async def file(body: bytes, request: Request, principal: Principal) -> Response:
        return await make_file_response(runtime, request.path_params["file"], principal)

    def add(below: str, method: str, endpoint: BodyEndpoint) -> None:
        handler = add_headers(make_handler(endpoint, max_bytes, refuse))
        router.add_route(path + below, auth.protect(handler, refuse), methods=[method])

    add("/v1/messages", "POST", new.create)
    add("/v1/messages/count_tokens", "POST", new.count)
    add("/v1/models", "GET", listed.list)
    add("/v1/models/{model:path}", "GET", listed.show)
    add("/files/{file}", "GET", file)
    if feedback is not None:
        votes = FeedbackEndpoints(RunFinder(feedback), "anthropic")
        add("/v1/feedback", "POST", votes.store)
        add("/v1/feedback", "GET", votes.list)
    return router


def refuse_path(method: str, path: str, status: int, options: Options) -> Response:
    code = "method_not_allowed" if status == 405 else "not_found"
    return ErrorReply(explain_path(method, path, options.path.rstrip("/"), status), status, code).response()


def add_headers(handler: Handler) -> Handler:
    """Adds the id of the request to its response, and lets limits write their headers in Anthropic's form."""

    async def handle(request: Request, principal: Principal) -> Response:
        LIMIT_HEADERS.set(write_limit_headers)
        response = await handler(request, principal)
        if id := current_request_id():
            response.headers.setdefault(REQUEST_ID, id)
        return response

    return handle
