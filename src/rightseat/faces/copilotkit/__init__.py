"""CopilotKit: one address for its clients, whatever they speak. The body says which protocol it is."""

import json

import msgspec
from fastapi import APIRouter
from graphql import GraphQLError
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.core.runtime import Runtime
from rightseat.faces.answers import UNREADABLE, BodyTooLarge, answer, read_body
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


def routes(runtime: Runtime, options: Options) -> APIRouter:
    router = APIRouter()
    graphql = GraphQL(
        Desk(runtime, options.agents, options.agent), introspection=options.introspection, headers=options.headers
    )
    most = int(options.max_body_mb * 2**20)

    async def post(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return refusal(415, "Send the request as application/json.")
        try:
            operation = decode(await read_body(request, most))
        except BodyTooLarge as error:
            return refusal(error.status, error.message)
        except ClientDisconnect:
            return Response()  # for nobody
        except UNREADABLE as error:
            return refusal(400, f"The body is no GraphQL request ({error}). Send an object with `query`; no batches.")
        return await graphql.answer(operation, request)

    async def get(request: Request) -> Response:
        given = request.query_params
        if "query" not in given:
            return refusal(400, "Send a GraphQL query in the parameter `query`, its variables as JSON in `variables`.")
        variables = msgspec.Raw((given.get("variables") or "null").encode())
        operation = Operation(given["query"], variables, given.get("operationName"))
        return await graphql.answer(operation, request, only_queries=True)

    router.add_route(options.path, post, methods=["POST"])
    router.add_route(options.path, get, methods=["GET"])
    return router


_decode = msgspec.json.Decoder(Operation).decode


def decode(body: bytes) -> Operation:
    """Also where JavaScript cut a text in the middle of an emoji, and wrote the half as an escape: it becomes `?`."""
    try:
        return _decode(body)
    except msgspec.ValidationError:
        raise  # it could be read, and is something else
    except msgspec.DecodeError as error:
        try:
            read = json.loads(body)
        except ValueError:
            raise error from None
        return _decode(json.dumps(read, ensure_ascii=False).encode(errors="replace"))


def refusal(status: int, message: str) -> Response:
    """For what is no operation at all, where the clients do read the status."""
    return answer(failures.invalid([GraphQLError(message)]), status)
