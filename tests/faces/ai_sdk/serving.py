"""The face on a real server, as an AI SDK client uses it: what it sends, and how it reads what comes."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from fastapi import FastAPI

from rightseat.app import Assembly, application, build_authenticator
from rightseat.config import Access, ConfiguredPart, Server
from rightseat.core.agent import Agent
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces import ai_sdk
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads

BASE = "/api/chat"
ALICE, BOB = {"x-api-key": "key-alice"}, {"x-api-key": "key-bob"}
KEYS = Access.model_validate({"keys": [{"name": name, "key": f"key-{name}"} for name in ("alice", "bob")]})
Chunks = list[dict[str, Any]]


def build_runtime(agent: Agent) -> Runtime:
    return Runtime({"default": agent}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())


def app(runtime: Runtime, *, access: Access | None = None, **options: Any) -> FastAPI:
    part = ConfiguredPart("faces", "ai_sdk", ai_sdk, ai_sdk.Options(**options))
    return application(Assembly(runtime, [part], authenticator=build_authenticator(access or Access())), Server())


def user(text: str, id: str = "u1") -> dict[str, Any]:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}


def visiting(url: str, **headers: str) -> httpx2.AsyncClient:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading certificates takes longer than most tests
    return httpx2.AsyncClient(base_url=url + BASE, headers=headers, verify=context)


async def send(url: str, *messages: dict[str, Any], chat: str = "c1", **more: Any) -> Chunks:
    async with visiting(url) as client:
        response = await client.post("", json={"id": chat, "messages": messages, "trigger": "submit-message"} | more)
    assert response.status_code == 200, response.text
    return read(response.text)


async def load(url: str, chat: str = "c1") -> list[dict[str, Any]]:
    async with visiting(url) as client:
        found: list[dict[str, Any]] = (await client.get(f"/{chat}")).json()["messages"]
    return found


def read(body: str) -> Chunks:
    """The chunks of a body, which ends with `[DONE]`. Nothing but `data:` and comments is in it."""
    *blocks, rest = body.split("\n\n")
    assert rest == ""
    lines = [block for block in blocks if not block.startswith(":")]
    assert all(line.startswith("data: ") for line in lines)
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def text_of(chunks: Chunks) -> str:
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


def types_of(chunks: Chunks) -> list[str]:
    return [chunk["type"] for chunk in chunks]


@asynccontextmanager
async def opened(url: str, path: str, body: object = None) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The chunks of a response as they come."""
    content: dict[str, Any] = {} if body is None else {"json": body}
    method = "GET" if body is None else "POST"
    async with visiting(url) as client, client.stream(method, path, **content) as response:
        yield read_lines(response)


async def read_lines(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async with asyncio.timeout(60):
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))
