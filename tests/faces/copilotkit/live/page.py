"""A server with live lists, and pages that open its WebSockets."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx2
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rightseat import app, config
from rightseat.app import Assembly
from rightseat.cli.http_protocol import ConnectionTimeouts, HttpProtocol
from rightseat.cli.socket_protocol import SocketProtocol
from tests.access.examples import run_input
from tests.conditions import until
from tests.conftest import stop

CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
agents:
  default: {{memory: {{}}}}
  plain: {{}}
faces: [{{type: copilotkit, agent: default, max_sockets_per_user: 4, session_key: "{folder}/session.key"}}]
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}"}}
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: narrow, key: key-narrow, user: alice, scopes: ["*:plain"]}}
    - {{name: bob, key: key-bob, user: bob}}
    - {{name: olga, key: key-olga, user: olga, scopes: ["*", "operator.*:*"]}}
"""


class Page:
    """A socket, with the frames that it has received."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[list[Any]] = []
        self.closed: int | None = None
        self._refs = 0

    async def read(self) -> None:
        try:
            async for message in self.connection:
                self.frames.append(json.loads(message))
        except ConnectionClosed:
            pass
        self.closed = self.connection.close_code or 1006

    async def push(self, topic: str, event: str, payload: Any = None) -> dict[str, Any]:
        self._refs += 1
        ref = str(self._refs)
        await self.connection.send(json.dumps([ref, ref, topic, event, payload or {}]))
        await until(lambda: self.closed or any(frame[1] == ref for frame in self.frames))
        return next((frame[4] for frame in self.frames if frame[1] == ref), {"status": "closed"})

    async def wait_closed(self) -> int:
        return await until(lambda: self.closed)

    async def join(self, topic: str) -> str:
        status: str = (await self.push(topic, "phx_join"))["status"]
        return status

    def events(self, name: str = "thread_metadata") -> list[dict[str, Any]]:
        return [frame[4] for frame in self.frames if frame[3] == name]

    def threads(self) -> list[str]:
        return [event["threadId"] for event in self.events()]


class LiveServer:
    def __init__(self, url: str, assembly: Assembly, server: uvicorn.Server, http: httpx2.AsyncClient) -> None:
        self.url = url
        self.assembly = assembly
        self.server = server
        self.http = http
        self.timeouts = ConnectionTimeouts(server.server_state.connections, 30.0, 0.2)

    async def call(self, method: str, path: str, json: Any = None, user: str = "alice") -> httpx2.Response:
        given = {} if json is None else {"json": json}
        return await self.http.request(method, f"/copilotkit/{path}", headers={"x-api-key": f"key-{user}"}, **given)

    async def run(self, thread: str, user: str = "alice", agent: str = "default", **fields: Any) -> None:
        answer = await self.call("POST", f"agent/{agent}/run", run_input(thread=thread, **fields), user)
        assert answer.status_code == 200, answer.text

    async def token(self, user: str = "alice") -> str:
        token: str = (await self.call("POST", "threads/subscribe", {}, user)).json()["joinToken"]
        return token

    async def topic(self, user: str = "alice") -> str:
        return f"user_meta:{(await self.call('GET', 'threads', user=user)).json()['joinCode']}"

    @asynccontextmanager
    async def page(self, token: str, **options: Any) -> AsyncIterator[Page]:
        where = f"{self.url.replace('http', 'ws')}/copilotkit/client/websocket?join_token={quote(token)}&vsn=2.0.0"
        options = {"compression": None, "ping_interval": None, "proxy": None} | options
        async with connect(where, **options) as connection:
            page = Page(connection)
            reading = asyncio.create_task(page.read())
            try:
                yield page
            finally:
                reading.cancel()

    @asynccontextmanager
    async def list(self, user: str = "alice") -> AsyncIterator[Page]:
        """A page whose list of threads is joined."""
        topic = await self.topic(user)
        async with self.page(await self.token(user)) as page:
            assert await page.join(topic) == "ok"
            yield page

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path, change: Callable[[str], str] = str) -> AsyncIterator[Self]:
        found = config.parse(change(CONFIGURATION.format(folder=folder)), environ={})
        assembly = app.assemble(found, has_sockets=True)
        settings = uvicorn.Config(
            app.application(assembly, found.server),
            http=HttpProtocol,
            ws=SocketProtocol,
            ws_max_size=65_536,
            ws_per_message_deflate=False,
            ws_ping_interval=None,
            lifespan="on",
            log_config=None,
            access_log=True,
            port=0,
        )
        settings.load()
        server = uvicorn.Server(settings)
        server.lifespan = settings.lifespan_class(settings)
        await server.startup()
        try:
            url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
            async with httpx2.AsyncClient(base_url=url, timeout=60) as http:
                yield cls(url, assembly, server, http)
        finally:
            await stop(server)
