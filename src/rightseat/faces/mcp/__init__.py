"""The MCP face: serves the agents' tools to MCP clients, over stateless streamable HTTP.

There are no sessions, so each request may reach another process.
"""

import logging

from fastapi import APIRouter
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError, ShuttingDown
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response, read_body
from rightseat.faces.mcp.authorization import build_directions, find_challenge
from rightseat.faces.mcp.server import PRINCIPAL, McpHandlers
from rightseat.parts import AgentName

logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)  # it logs every request


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = Field(default="/mcp", pattern="^/")
    """The path that MCP clients connect to."""
    agents: tuple[AgentName, ...] | None = None
    """The agents whose tools are offered. Unset: all agents."""
    tools: tuple[str, ...] | None = None
    """The names of the tools that are offered. Unset: all."""
    agents_as_tools: tuple[AgentName, ...] = ()
    """Agents that are offered as a tool each, `ask_NAME`, which answers a message with all that the agent can do."""
    token_audience: str | None = Field(default=None, min_length=1)
    """Tokens of `access.jwt` for this audience are accepted too, at this face only. Usually the public address of this
    face, which MCP clients request tokens for."""
    request_scopes: tuple[str, ...] | None = None
    """The scopes that clients are told to request from the identity provider. Unset: `mcp:*` if `access.jwt` reads
    scopes from tokens."""
    headers: tuple[str, ...] = ()
    """Request headers that are forwarded to tools."""
    max_body_mb: float = Field(default=4.0, gt=0)
    """The largest request body."""


def routes(runtime: Runtime, options: Options, auth: RouteAuth) -> APIRouter:
    handlers = McpHandlers(runtime, options.agents, options.tools, options.headers, auth, options.agents_as_tools)
    server = handlers.server()
    max_bytes = int(options.max_body_mb * 2**20)

    def refuse(error: RightseatError) -> Response:
        return json_response({"error": error.code, "message": error.message}, error.status)

    async def handle(request: Request, principal: Principal) -> Response:
        if runtime.is_shutting_down:
            return refuse(ShuttingDown())
        try:
            return SdkResponse(server, principal, await read_body(request, max_bytes))
        except ClientDisconnect:
            return Response()  # the client is gone
        except RightseatError as error:
            return refuse(error)

    directions = build_directions(auth, options.path, options.request_scopes, options.token_audience)
    protected = auth.protect(handle, refuse, challenge=find_challenge(directions))
    found: list[BaseRoute] = [Route(options.path, protected, methods=["POST"])]
    if directions is not None:
        found.append(Route(directions.metadata_path, auth.publish(directions.respond), methods=["GET"]))
    return APIRouter(routes=found)


def refuse_path(method: str, path: str, status: int, options: Options) -> Response:
    message = f"{options.path} is an MCP server. Connect an MCP client to it: streamable HTTP, POST requests only."
    return json_response({"error": "mcp_only", "message": message}, status)


class SdkResponse(Response):
    """One request, handled by the SDK, to which the body is replayed."""

    def __init__(self, server: Server, principal: Principal, read: bytes) -> None:
        super().__init__()
        self._server = server
        self._principal = principal
        self._body = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages = [{"type": "http.request", "body": self._body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        max_bytes = max(len(self._body), 1)
        manager = StreamableHTTPSessionManager(self._server, stateless=True, max_request_body_size=max_bytes)
        async with manager.run():
            await manager.handle_request({**scope, PRINCIPAL: self._principal}, replay, send)
