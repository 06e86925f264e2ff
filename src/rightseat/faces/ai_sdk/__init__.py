"""The AI SDK face: the UI message stream of Vercel's AI SDK, for `useChat` and the clients built on it."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse, Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.errors import LimitExceeded, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.feedback import FeedbackEndpoints
from rightseat.faces._shared.files import make_file_handler
from rightseat.faces._shared.handlers import BodyEndpoint, make_handler
from rightseat.faces.ai_sdk.chats import ChatOperations
from rightseat.faces.ai_sdk.feedback import ReplyFinder
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.parts import AgentName


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = Field(default="/api/chat", pattern="^/")
    """The path of the transport's `api`."""
    agent: AgentName = "default"
    """The agent that answers. Add a face for each further agent."""
    headers: tuple[str, ...] = ()
    """Request headers that are forwarded to hooks, tools and agents."""
    max_body_mb: float = Field(default=16.0, gt=0)
    """The largest request body, including files. The client sends the whole conversation with every question."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Seconds without data before a stream sends a keep-alive comment, so that proxies keep it open."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth, feedback: OwnFeedback | None = None) -> APIRouter:
    router = APIRouter()
    path = options.path.rstrip("/")
    max_bytes = int(options.max_body_mb * 2**20)
    chats = ChatOperations(
        runtime, auth, agent=options.agent, headers=options.headers, keep_alive=options.keep_alive, path=path
    )

    def add(below: str, method: str, operation: BodyEndpoint) -> None:
        handler = make_handler(operation, max_bytes, refuse)
        router.add_route(path + below, auth.protect(handler, refuse), methods=[method])

    for below in ("", "/") if path else ("/",):
        add(below, "POST", chats.submit)
    router.add_route(
        f"{path}/files/{{file}}", auth.protect(make_file_handler(runtime, refuse), refuse), methods=["GET"]
    )
    if feedback is not None:
        votes = FeedbackEndpoints(ReplyFinder(runtime, feedback), "ai_sdk")
        add("/feedback", "POST", votes.store)
        add("/feedback", "GET", votes.list)
    add("/{chat:path}/stream", "GET", chats.resume)
    add("/{chat:path}/stop", "POST", chats.stop)
    add("/{chat:path}", "GET", chats.load)
    return router


def refuse_path(method: str, path: str, status: int, options: Options) -> Response:
    base = options.path.rstrip("/")
    text = f"{method} {base}{path} is not an address of a chat. Set `api` of the transport to {base!r}."
    return PlainTextResponse(text, status)


def refuse(error: RightseatError) -> Response:
    """Return the message as plain text, because `useChat` shows the body of an error response as it is."""
    headers = {"retry-after": str(error.retry_after)} if isinstance(error, LimitExceeded) else None
    return PlainTextResponse(error.message, error.status, headers)
