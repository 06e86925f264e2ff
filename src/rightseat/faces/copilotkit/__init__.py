"""The CopilotKit face: one URL for all client versions. The request body determines the protocol, GraphQL or AG-UI."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal, WhenBusy
from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.transcription import Options as Transcription
from rightseat.faces._shared.responses import check_depth, json_response, read_body, repair_surrogates
from rightseat.faces.copilotkit.current.annotations import AnnotationOperations
from rightseat.faces.copilotkit.current.app import OperationHandler
from rightseat.faces.copilotkit.current.feedback import FeedbackOperations
from rightseat.faces.copilotkit.current.memories import MemoryOperations
from rightseat.faces.copilotkit.current.routing import Envelope, Routes
from rightseat.faces.copilotkit.current.runs import RunOperations
from rightseat.faces.copilotkit.current.threads import ThreadOperations
from rightseat.faces.copilotkit.current.transcription import TranscriptionOperations
from rightseat.faces.copilotkit.graphql import failures
from rightseat.faces.copilotkit.graphql.context import SchemaContext
from rightseat.faces.copilotkit.graphql.loader import GraphQLLoader
from rightseat.faces.copilotkit.graphql.request import GraphQLRequest
from rightseat.faces.copilotkit.live import LiveLists
from rightseat.operations.changes import LiveChanges
from rightseat.operations.own_annotations import OwnAnnotations
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.operations.own_memories import OwnMemories
from rightseat.operations.own_threads import OwnThreads
from rightseat.parts import AgentName, StatePath

if TYPE_CHECKING:
    from rightseat.faces.copilotkit.graphql.operations import GraphQL


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = Field(default="/copilotkit", pattern="^/")
    """The path of the client's `runtimeUrl`."""
    agent: AgentName | None = "default"
    """The agent for chats that name none. Unset: such chats are rejected."""
    agents: tuple[AgentName, ...] | None = None
    """Agents that clients may list and use. Unset: all but `agent`."""
    headers: tuple[str, ...] = ()
    """Request headers that are forwarded to hooks, tools and agents."""
    introspection: bool = True
    """Allow GraphQL introspection. The schema is CopilotKit's own, and public."""
    max_body_mb: float = Field(default=16.0, gt=0)
    """The largest request body, including images."""
    single_endpoint: bool = False
    """Serve only the base path, where the body names the operation, and no paths below it."""
    when_busy: WhenBusy = "refuse"
    """What a new run does while its thread has an active one: it is rejected, waits, or replaces the other."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Seconds without data before an event stream sends a keep-alive comment, so that proxies keep it open."""
    transcription: Transcription | None = None
    """The server that transcribes recordings. Unset: clients show no microphone."""
    live: bool = True
    """Lists of threads and memories, and open chats, follow changes of other windows by a WebSocket. It needs the extra
    `live`, and `rightseat serve`."""
    max_sockets_per_user: int = Field(default=20, ge=1, le=10_000)
    """How many WebSockets a user may have open at this face, on one server. A page opens up to two."""
    session_key: StatePath = Path("session.key")
    """The file with the secret that signs tokens for WebSockets; it is created if it does not exist. A relative path is
    relative to `server.state_dir`. Several servers behind one address need the same file."""


def routes(
    runtime: Runtime,
    options: Options,
    auth: RouteAuth,
    own_threads: OwnThreads | None = None,
    feedback: OwnFeedback | None = None,
    memories: OwnMemories | None = None,
    annotations: OwnAnnotations | None = None,
    changes: LiveChanges | None = None,
) -> APIRouter:
    router = APIRouter()
    max_bytes = int(options.max_body_mb * 2**20)
    graphql = GraphQLLoader(lambda: build_graphql(runtime, options, auth))
    runs = build_runs(runtime, options, auth)
    live = build_live(runtime, options, auth, runs, memories, changes)
    served = operations(runtime, options, auth, own_threads, feedback, memories, annotations, runs=runs, live=live)
    current = OperationHandler(served, max_bytes)

    async def post(request: Request, principal: Principal) -> Response:
        try:
            body = decode(await read_body(request, max_bytes))
        except BadRequest as error:
            return refusal(error.status, f"{error.message} {EXPECTED_BODY}" if error.status == 400 else error.message)
        except ClientDisconnect:
            return Response()  # the client is gone
        except JSON_ERRORS as error:
            return refusal(400, f"The body is not valid ({error}). {EXPECTED_BODY}")
        if body.method is not None:
            envelope, body.body = Envelope(body.method, body.params, body.body), msgspec.Raw()
            return await current.envelope(envelope, request, principal)
        if body.query is None:
            return refusal(400, f"The body names no operation. {EXPECTED_BODY}")
        operation = GraphQLRequest(body.query, body.variables, body.operationName)
        return await (await graphql.load()).answer(operation, request, principal)

    async def get(request: Request, principal: Principal) -> Response:
        given = request.query_params
        if "query" not in given:
            return refusal(
                405,
                f"This is a CopilotKit runtime: set its address as `runtimeUrl` of <CopilotKit>. {EXPECTED_REQUEST}",
                allow="POST",
            )
        variables = msgspec.Raw((given.get("variables") or "null").encode())
        try:
            await check_depth(bytes(variables))
        except BadRequest as error:
            return refusal(error.status, error.message)
        operation = GraphQLRequest(given["query"], variables, given.get("operationName"))
        return await (await graphql.load()).answer(operation, request, principal, only_queries=True)

    async def below(request: Request, principal: Principal) -> Response:
        if request.path_params["rest"]:
            return await current.rest(request, principal)
        return await (post if request.method == "POST" else get)(
            request, principal
        )  # the base path with a trailing slash

    router.add_route(options.path, auth.protect(post, refuse), methods=["POST"])
    router.add_route(options.path, auth.protect(get, refuse), methods=["GET"])
    if live is not None:
        router.add_websocket_route(live.route, auth.protect_socket(live.serve))
    if not options.single_endpoint:
        rest = options.path.rstrip("/") + "/{rest:path}"
        router.add_route(rest, auth.protect(below, refuse), methods=["GET", "POST", "PATCH", "DELETE"])
    return router


def build_graphql(runtime: Runtime, options: Options, auth: RouteAuth) -> "GraphQL":
    graphql: GraphQL = import_module("rightseat.faces.copilotkit.graphql.operations").GraphQL(
        SchemaContext(runtime, options.agents, options.agent, auth),
        introspection=options.introspection,
        headers=options.headers,
        keep_alive=options.keep_alive,
        path=files_path(options),
    )
    return graphql


def operations(
    runtime: Runtime,
    options: Options,
    auth: RouteAuth,
    own_threads: OwnThreads | None = None,
    feedback: OwnFeedback | None = None,
    memories: OwnMemories | None = None,
    annotations: OwnAnnotations | None = None,
    *,
    runs: RunOperations | None = None,
    live: LiveLists | None = None,
) -> Routes:
    runs = runs or build_runs(runtime, options, auth)
    threads = ThreadOperations(runtime, runs, own_threads, live)
    remembered = MemoryOperations(memories, runs, auth, options.path, live) if memories is not None else None
    if remembered is not None:
        runs.describe_memories = remembered.describe
    runs.live = live
    return {
        **runs.routes(),
        **threads.routes(),
        **(live.routes() if live is not None else {}),
        **TranscriptionOperations(options.transcription, runtime).routes(),
        **(FeedbackOperations(feedback).routes() if feedback is not None else {}),
        **(AnnotationOperations(annotations).routes() if annotations is not None else {}),
        **(remembered.routes() if remembered is not None else {}),
    }


def build_live(
    runtime: Runtime,
    options: Options,
    auth: RouteAuth,
    runs: RunOperations,
    memories: OwnMemories | None,
    changes: LiveChanges | None,
) -> LiveLists | None:
    """None if the server or the face has no WebSockets."""
    if changes is None or not options.live or options.single_endpoint:
        return None
    return LiveLists(
        runtime,
        changes,
        auth,
        lambda: runs.agents,
        memories,
        path=options.path,
        key_file=options.session_key,
        max_sockets_per_user=options.max_sockets_per_user,
    )


def build_runs(runtime: Runtime, options: Options, auth: RouteAuth) -> RunOperations:
    return RunOperations(
        runtime,
        options.agents,
        options.agent,
        when_busy=options.when_busy,
        transcribes=options.transcription is not None,
        headers=options.headers,
        keep_alive=options.keep_alive,
        auth=auth,
        path=files_path(options),
    )


def files_path(options: Options) -> str | None:
    """The path below which files are served."""
    return None if options.single_endpoint else options.path


EXPECTED_BODY = "Send an object: a GraphQL request with `query`, or an envelope with `method`. No batches."
EXPECTED_REQUEST = "Other clients send a POST, or a GraphQL query in the parameter `query`."


class CopilotKitBody(msgspec.Struct):
    """A GraphQL request (`query`) or an envelope (`method`)."""

    query: str | None = None
    variables: msgspec.Raw = msgspec.Raw(b"null")
    operationName: str | None = None
    method: str | None = None
    params: dict[str, Any] = {}
    body: msgspec.Raw = msgspec.Raw(b"")


_decode = msgspec.json.Decoder(CopilotKitBody).decode


def decode(body: bytes) -> CopilotKitBody:
    return _decode(repair_surrogates(body))


def refusal(status: int, message: str, *, allow: str | None = None) -> Response:
    """Return an error response for both kinds of clients."""
    errors = [{"message": failures.shorten_message(message)}]
    body = {"errors": errors, "error": "invalid_request", "message": message}
    response = json_response(body, status)
    if allow:
        response.headers["allow"] = allow
    return response


def refuse(error: RightseatError) -> Response:
    """Return the error response for failed authentication."""
    body = {"errors": [{"message": error.message, "extensions": failures.write_error_extensions(error)}]}
    return json_response(body | {"error": error.code, "message": error.message}, error.status)
