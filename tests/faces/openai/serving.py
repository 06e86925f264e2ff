"""The face on a real server, and clients of it: OpenAI's own, and one that sees the bytes."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
from fastapi import FastAPI

from rightseat.app import Assembly, application, build_authenticator, build_router
from rightseat.config import Access, ConfiguredPart, Server
from rightseat.core.agent import Agent
from rightseat.core.hooks import Hooks
from rightseat.core.log import Log
from rightseat.core.model import Chunk, Model, Prompt
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces import openai as face
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.faces.copilotkit.serving import Way

HI: Any = [{"role": "user", "content": "Hi"}]
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""They take longer to read than most tests."""


def runtime(
    model: Model | ScriptedResponse | None = None,
    *,
    models: Mapping[str, Model] | None = None,
    hooks: Hooks | None = None,
    log: Log | None = None,
    **agents: Agent,
) -> Runtime:
    """The model is named `bare`. An answer is one that it always gives."""
    if model is None or isinstance(model, list):
        model = ScriptedModel([model or says("Hel", "lo")])
    return Runtime(
        agents,
        log=log or MemoryLog(),
        threads=MemoryThreads(),
        engine=LocalEngine(),
        hooks=hooks,
        models={"bare": model, **(models or {})},  # type: ignore[dict-item]  # no list any more
    )


def app(runtime: Runtime, way: Way = "ours", *, access: Access | None = None, **options: Any) -> FastAPI:
    part = ConfiguredPart("faces", "openai", face, face.Options(**options))
    assembly = Assembly(runtime, [part], authenticator=build_authenticator(access or Access()))
    if way == "ours":
        return application(assembly, Server())
    somebodys = FastAPI()
    somebodys.include_router(build_router(assembly))
    return somebodys


def visiting(url: str, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=f"{url}/v1", headers=headers, verify=NO_CERTIFICATES)


async def post(url: str, path: str = "/chat/completions", **body: Any) -> httpx2.Response:
    """A chat with the model `bare`, unless the body says otherwise."""
    if path == "/chat/completions":
        body = {"model": "bare", "messages": HI} | body
    async with visiting(url) as client:
        return await client.post(path, json=body)


@asynccontextmanager
async def sdk(url: str, key: str = "sk-none") -> AsyncIterator[openai.AsyncOpenAI]:
    """OpenAI's own client, which asks once."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=60) as client:
        yield client


def chunks(body: bytes) -> list[Any]:
    """The chunks of a whole stream; its end is checked."""
    *events, done, rest = body.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(event.removeprefix("data: ")) for event in events]


def deltas(body: bytes) -> list[Any]:
    return [chunk["choices"][0]["delta"] for chunk in chunks(body) if chunk["choices"]]


class Prompted:
    """A model that says what it is given, when it is given it, until None; and knows whether somebody listens."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
        self.asked = asyncio.Event()
        self.left = asyncio.Event()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.asked.set()
        try:
            while (piece := await self.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.left.set()
