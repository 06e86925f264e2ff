"""Real MCP servers for the tests, made with the SDK. Run as a program, it is one that speaks over stdin and stdout."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, InputRequiredResult, TextContent
from mcp_types import ToolAnnotations as Hints
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.conditions import Paced

READS = Hints(read_only_hint=True)
DOT = bytes.fromhex("89504e470d0a1a0a")
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class Colour(BaseModel):
    colour: str


class Library(MCPServer):
    """`seen` is what its tools noted."""

    def __init__(self) -> None:
        super().__init__("library")
        self.seen: list[Any] = []
        self._news = asyncio.Event()

    def note(self, what: Any) -> None:
        self.seen.append(what)
        self._news.set()

    async def noted(self, what: Any) -> None:
        while what not in self.seen:
            self._news.clear()
            await self._news.wait()


def library() -> Library:
    """A server with a tool of each kind."""
    server = Library()

    @server.tool(annotations=READS)
    async def search(query: str) -> str:
        """Searches the shelves."""
        server.note(query)
        return f"found {query}"

    @server.tool()
    async def lend(title: str) -> dict[str, Any]:
        """Lends a book."""
        server.note(title)
        return {"title": title, "days": 14}

    @server.tool(annotations=READS, structured_output=False)
    async def cover() -> list[Any]:
        """Shows a cover."""
        return ["The cover:", Image(data=DOT, format="png")]

    @server.tool(annotations=READS)
    async def fail() -> str:
        """Fails."""
        raise ToolError("the shelf fell down")

    @server.tool(annotations=READS)
    async def count(ctx: Context) -> str:
        """Counts slowly."""
        async for number in Paced(range(1, 4), 0.15):
            await ctx.report_progress(number, 3, f"shelf {number}")
        return "three"

    @server.tool(annotations=READS)
    async def wait() -> str:
        """Never ends."""
        server.note("waiting")
        try:
            await asyncio.Event().wait()
        except BaseException:
            server.note("cancelled")
            raise
        return "late"

    @server.tool(annotations=READS)
    async def die() -> str:
        """Ends the whole program."""
        os._exit(1)

    @server.tool()
    async def crash() -> str:
        """Ends the whole program, and may have changed something before."""
        os._exit(1)

    @server.tool(name="shelf.of/title", annotations=READS)
    async def shelf() -> CallToolResult:
        """A name that no provider accepts."""
        return CallToolResult(content=[TextContent(type="text", text="top")], structured_content={"row": 3})

    @server.tool()
    async def paint(ctx: Context) -> str | InputRequiredResult:
        """Asks before it paints."""
        server.note(ctx.request_state)
        if not ctx.input_responses:
            asked = ElicitRequest(params=ElicitRequestFormParams(message="Which colour?", requested_schema=COLOUR))
            return InputRequiredResult(input_requests={"colour": asked}, request_state="half-way")
        reply: Any = ctx.input_responses["colour"]
        return f"painted {reply.content['colour']}" if reply.action == "accept" else f"not painted: {reply.action}"

    @server.tool(annotations=Hints(idempotent_hint=True))
    async def repaint(ctx: Context) -> str:
        """Asks while it paints."""
        reply = await ctx.elicit("Which colour now?", Colour)
        return f"repainted {reply.data.colour}" if reply.action == "accept" else f"not repainted: {reply.action}"

    @server.tool()
    async def burn(ctx: Context) -> str:
        """Asks while it does what must not be done twice."""
        server.note("burn")
        reply = await ctx.elicit("Really burn?", Colour)
        return f"burning was {reply.action}"

    @server.resource("book://moby", name="moby", description="A whale")
    def moby() -> str:
        return "Call me Ishmael."

    @server.prompt()
    def review(title: str) -> str:
        """A review of a book."""
        return f"Review {title}."

    return server


def web(app: ASGIApp, *, is_old: bool = False, heard: list[dict[str, str]] | None = None) -> ASGIApp:
    """A server's application; as one of before 2026, if `is_old`. `heard` gets the headers of requests."""

    async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if heard is not None:
                heard.append({name.decode(): value.decode() for name, value in scope["headers"]})
            if is_old and scope["method"] == "POST":
                body, receive = await read(receive)
                if json.loads(body).get("method") == "server/discover":
                    return await refuse(send, json.loads(body)["id"])
        await app(scope, receive, send)

    return asgi


async def read(receive: Receive) -> tuple[bytes, Receive]:
    body, messages = b"", []
    while True:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if not message.get("more_body"):
            break

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return body, again


async def refuse(send: Callable[[Message], Awaitable[None]], id: Any) -> None:
    said = {"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(said).encode()})


class Relay:
    """An address that stays while the server behind it is another."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        assert self._app is not None
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def to(self, server: MCPServer, *, is_old: bool = False) -> AsyncIterator[None]:
        app = server.streamable_http_app()
        self._app = web(app, is_old=is_old)
        async with app.router.lifespan_context(app):
            yield


if __name__ == "__main__":
    library().run("stdio")
