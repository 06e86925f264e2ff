"""CopilotKit: one address for its clients, whatever they speak. The body says which protocol it is."""

from typing import Any

import msgspec
from fastapi import APIRouter
from graphql import GraphQLError
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.door import Door
from rightseat.core.ask import Principal, WhenBusy
from rightseat.core.errors import BadAsk, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.transcription import Options as Transcription
from rightseat.faces.answers import answer, check_depth, mended, read_body
from rightseat.faces.copilotkit.current.keeping import Keeping
from rightseat.faces.copilotkit.current.routing import Envelope, Routes
from rightseat.faces.copilotkit.current.running import Running
from rightseat.faces.copilotkit.current.serving import Serving
from rightseat.faces.copilotkit.current.transcribing import Transcribing
from rightseat.faces.copilotkit.graphql import failures
from rightseat.faces.copilotkit.graphql.answering import GraphQL, Operation
from rightseat.faces.copilotkit.graphql.schema import Desk
from rightseat.parts import AgentName


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: str = Field(default="/copilotkit", pattern="^/")
    """The address: the client's `runtimeUrl`."""
    agent: AgentName | None = "default"
    """Who answers a chat that names no agent. Without one, such a chat is refused."""
    agents: tuple[AgentName, ...] | None = None
    """Agents that a client may name, and finds listed. Unset: all but `agent`."""
    headers: tuple[str, ...] = ()
    """Names of request headers that are passed on to hooks, tools and agents."""
    introspection: bool = True
    """Let GraphQL tools read the schema. It is CopilotKit's own, and public."""
    max_body_mb: float = Field(default=16.0, gt=0)
    """The largest request that is taken; pictures travel inside it."""
    single: bool = False
    """Offer only the base address, where the body names the operation, and nothing below it."""
    when_busy: WhenBusy = "refuse"
    """What becomes of a run while its thread has another: it is refused, it waits, or it takes the other's place."""
    keep_alive: float = Field(default=15.0, gt=0)
    """After how many seconds of silence a stream of events says that it is still there, so that proxies keep it."""
    transcription: Transcription | None = None
    """Where recordings are transcribed; without it, the clients show no microphone."""


def routes(runtime: Runtime, options: Options, door: Door) -> APIRouter:
    router = APIRouter()
    most = int(options.max_body_mb * 2**20)
    desk = Desk(runtime, options.agents, options.agent, door)
    graphql = GraphQL(
        desk,
        introspection=options.introspection,
        headers=options.headers,
        keep_alive=options.keep_alive,
        path=files_path(options),
    )
    current = Serving(operations(runtime, options, door), most)

    async def post(request: Request, principal: Principal) -> Response:
        try:
            body = decode(await read_body(request, most))
        except BadAsk as error:
            return refusal(error.status, f"{error.message} {WANTED}" if error.status == 400 else error.message)
        except ClientDisconnect:
            return Response()  # for nobody
        except JSON_ERRORS as error:
            return refusal(400, f"The body cannot be read ({error}). {WANTED}")
        if body.method is not None:
            return await current.envelope(Envelope(body.method, body.params, body.body), request, principal)
        if body.query is None:
            return refusal(400, f"The body names nothing. {WANTED}")
        return await graphql.answer(Operation(body.query, body.variables, body.operationName), request, principal)

    async def get(request: Request, principal: Principal) -> Response:
        given = request.query_params
        if "query" not in given:
            return refusal(405, f"Send a POST, or a GraphQL query in the parameter `query`. {WANTED}", allow="POST")
        variables = msgspec.Raw((given.get("variables") or "null").encode())
        try:
            await check_depth(bytes(variables))
        except BadAsk as error:
            return refusal(error.status, error.message)
        operation = Operation(given["query"], variables, given.get("operationName"))
        return await graphql.answer(operation, request, principal, only_queries=True)

    async def below(request: Request, principal: Principal) -> Response:
        if request.path_params["rest"]:
            return await current.rest(request, principal)
        return await (post if request.method == "POST" else get)(request, principal)  # the base, with a slash behind it

    router.add_route(options.path, door.guard(post, refuse), methods=["POST"])
    router.add_route(options.path, door.guard(get, refuse), methods=["GET"])
    if not options.single:
        rest = options.path.rstrip("/") + "/{rest:path}"
        router.add_route(rest, door.guard(below, refuse), methods=["GET", "POST", "PATCH", "DELETE"])
    return router


def operations(runtime: Runtime, options: Options, door: Door) -> Routes:
    running = Running(
        runtime,
        options.agents,
        options.agent,
        when_busy=options.when_busy,
        transcribes=options.transcription is not None,
        headers=options.headers,
        keep_alive=options.keep_alive,
        door=door,
        path=files_path(options),
    )
    keeping = Keeping(runtime, running)
    return {**running.routes(), **keeping.routes(), **Transcribing(options.transcription, runtime.texts).routes()}


def files_path(options: Options) -> str | None:
    """Below which files are fetched."""
    return None if options.single else options.path


WANTED = "Send an object: a GraphQL request with `query`, or an envelope with `method`. No batches."


class Body(msgspec.Struct):
    """A GraphQL request or an envelope: which of them, its key says."""

    query: str | None = None
    variables: msgspec.Raw = msgspec.Raw(b"null")
    operationName: str | None = None
    method: str | None = None
    params: dict[str, Any] = {}
    body: msgspec.Raw = msgspec.Raw(b"")


_decode = msgspec.json.Decoder(Body).decode


def decode(body: bytes) -> Body:
    return _decode(mended(body))


def refusal(status: int, message: str, *, allow: str | None = None) -> Response:
    """For what is no operation at all, in the words of both kinds of clients."""
    body = failures.invalid([GraphQLError(message)]) | {"error": "invalid_request", "message": message}
    response = answer(body, status)
    if allow:
        response.headers["allow"] = allow
    return response


def refuse(error: RightseatError) -> Response:
    """For who is not let in."""
    told = {"errors": [{"message": error.message, "extensions": failures.of(error)}]}
    return answer(told | {"error": error.code, "message": error.message}, error.status)
