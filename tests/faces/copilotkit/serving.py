"""The face on a real server, and what its clients send."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
from fastapi import FastAPI

from rightseat.app import Assembly, application, build_router
from rightseat.config import ConfiguredPart, Server
from rightseat.core.agent import Agent
from rightseat.core.hooks import Hooks
from rightseat.core.log import Log
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Threads
from rightseat.engines.local import LocalEngine
from rightseat.faces import copilotkit
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, says
from tests.faces.copilotkit import recorded

Way = Literal["ours", "somebody's"]
"""Our own application lets the face write straight to the server; in another, all goes through its middleware."""


def runtime(
    model: Model | None = None,
    *,
    log: Log | None = None,
    threads: Threads | None = None,
    hooks: Hooks | None = None,
    **agents: Agent,
) -> Runtime:
    """The model answers as `default`."""
    default = Loop(model or ScriptedModel([says("Hel", "lo")]))
    threads = threads or MemoryThreads()
    return Runtime(
        {"default": default, **agents},
        log=log or MemoryLog(),
        threads=threads,
        engine=LocalEngine(),
        hooks=hooks,
    )


def app(runtime: Runtime, way: Way = "ours", **options: Any) -> FastAPI:
    assembly = Assembly(runtime, [ConfiguredPart("faces", "copilotkit", copilotkit, copilotkit.Options(**options))])
    if way == "ours":
        return application(assembly, Server())
    somebodys = FastAPI()
    somebodys.include_router(build_router(assembly))
    return somebodys


def chat(question: str = "Hi", *, thread: str | None = None, agent: str | None = None, **data: Any) -> dict[str, Any]:
    """The request of a real client."""
    request = recorded.request("no-thread-id")
    given = request["variables"]["data"]
    given["messages"][0]["textMessage"]["content"] = question
    given |= {"threadId": thread, **data}
    if agent is not None:
        given["agentSession"] = {"agentName": agent}
    return request


async def post(url: str, body: object, **headers: str) -> httpx2.Response:
    """As a real client would, unless headers say otherwise."""
    async with httpx2.AsyncClient(base_url=url) as client:
        return await client.post("/copilotkit", json=body, headers={"accept": recorded.ACCEPT} | headers)


@asynccontextmanager
async def connected(url: str, limit: int = 2**16) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection without a client: bytes go in and out as they are."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=limit)
    try:
        yield reader, writer
    finally:
        writer.close()


def http(body: bytes, **headers: str) -> bytes:
    """The bytes of a POST."""
    lines = {"host": "localhost", "content_type": "application/json", "content_length": str(len(body))} | headers
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"POST /copilotkit HTTP/1.1\r\n{head}\r\n".encode() + body


async def read_chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The pieces in which the server sent its answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"transfer-encoding: chunked" in head.lower()
    while size := int(await reader.readline(), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    assert await reader.readline() == b"\r\n"
