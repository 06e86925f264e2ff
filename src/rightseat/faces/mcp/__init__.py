"""An MCP server in front of the agents' tools: any MCP client may use them, without a model of ours.

It is spoken over streamable HTTP, and keeps no sessions: each request may come to another process.
"""

import logging

from fastapi import APIRouter
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from rightseat.access.door import Door
from rightseat.core.ask import Principal
from rightseat.core.errors import Leaving, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.faces.answers import answer, read_body
from rightseat.faces.mcp.desk import PRINCIPAL, Desk
from rightseat.parts import AgentName

logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)  # it tells of every request


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    path: str = Field(default="/mcp", pattern="^/")
    """The address that MCP clients are given."""
    agents: tuple[AgentName, ...] | None = None
    """Whose tools are offered. Unset: those of all agents."""
    tools: tuple[str, ...] | None = None
    """Names of those of their tools that are offered. Unset: all."""
    headers: tuple[str, ...] = ()
    """Names of request headers that are passed on to tools."""
    max_body_mb: float = Field(default=4.0, gt=0)
    """The largest request that is taken."""


def routes(runtime: Runtime, options: Options, door: Door) -> APIRouter:
    server = Desk(runtime, options.agents, options.tools, options.headers, door).server()
    most = int(options.max_body_mb * 2**20)

    def refuse(error: RightseatError) -> Response:
        return answer({"error": error.code, "message": error.message}, error.status)

    async def speak(request: Request, principal: Principal) -> Response:
        if runtime.is_leaving:
            return refuse(Leaving())
        try:
            return Exchange(server, principal, await read_body(request, most))
        except ClientDisconnect:
            return Response()  # for nobody
        except RightseatError as error:
            return refuse(error)

    return APIRouter(routes=[Route(options.path, door.guard(speak, refuse), methods=["POST"])])


class Exchange(Response):
    """One request, answered by the SDK, which finds the body as if it had not been read yet."""

    def __init__(self, server: Server, principal: Principal, read: bytes) -> None:
        super().__init__()
        self._server = server
        self._principal = principal
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages = [{"type": "http.request", "body": self._read, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        most = max(len(self._read), 1)
        manager = StreamableHTTPSessionManager(self._server, stateless=True, max_request_body_size=most)
        async with manager.run():
            await manager.handle_request({**scope, PRINCIPAL: self._principal}, replay, send)
