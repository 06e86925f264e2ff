"""The face on a real server, as today's clients use it: what they send, and how they read what comes."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import httpx2
from fastapi import FastAPI

from rightseat.app import Assembly, application, build_authenticator, build_router
from rightseat.config import Access, ConfiguredPart, Server
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Threads
from rightseat.faces import copilotkit
from rightseat.operations.own_threads import OwnThreads
from rightseat.operations.store import store_of
from tests.faces.copilotkit.serving import Way

BASE = "/copilotkit"
ALICE, BOB = {"x-api-key": "key-alice"}, {"x-api-key": "key-bob"}
KEYS = Access.model_validate({"keys": [{"name": name, "key": f"key-{name}"} for name in ("alice", "bob")]})


def app(
    runtime: Runtime, way: Way = "ours", *, access: Access | None = None, can_search: bool = True, **options: Any
) -> FastAPI:
    part = ConfiguredPart("faces", "copilotkit", copilotkit, copilotkit.Options(**options))
    threads = cast(Threads, runtime.threads)  # tests give the runtime the store itself
    records = store_of(threads).records if can_search else None
    assembly = Assembly(
        runtime,
        [part],
        authenticator=build_authenticator(access or Access()),
        own_threads=OwnThreads(records) if records is not None else None,
    )
    if way == "ours":
        return application(assembly, Server())
    somebodys = FastAPI()
    somebodys.include_router(build_router(assembly))
    return somebodys


def asking(text: str | None = "Hi", *, thread: str = "t-1", run: str = "r-1", **more: Any) -> dict[str, Any]:
    """The input of a run, as a client sends it."""
    said = [] if text is None else [{"id": f"u-{run}", "role": "user", "content": text}]
    given = {"threadId": thread, "runId": run, "messages": said}
    return given | {"state": {}, "tools": [], "context": [], "forwardedProps": {}} | more


def visiting(url: str, **headers: str) -> httpx2.AsyncClient:
    """A client whose paths begin at the face. It brings no certificates, which take longer to read than most tests."""
    return httpx2.AsyncClient(base_url=url + BASE, headers=headers, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


@dataclass(frozen=True, slots=True)
class Frame:
    """A server-sent event: its `id:`, if it has one, and its data."""

    id: str | None
    data: dict[str, Any]

    @property
    def type(self) -> str:
        found: str = self.data["type"]
        return found


def read(body: bytes) -> list[Frame]:
    """All frames of a body, which ends behind one. Nothing but `id:`, `data:` and comments is in it."""
    *blocks, rest = body.decode().split("\n\n")
    assert rest == ""
    return [frame for block in blocks if (frame := read_frame(block))]


def read_frame(block: str) -> Frame | None:
    lines = block.split("\n")
    if all(line.startswith(":") for line in lines):
        return None
    data = lines.pop()
    assert data.startswith("data: ")
    assert len(lines) <= 1
    assert all(line.startswith("id: ") for line in lines)
    return Frame(lines[0].removeprefix("id: ") if lines else None, json.loads(data.removeprefix("data: ")))


def text_of(frames: Sequence[Frame]) -> str:
    return "".join(frame.data["delta"] for frame in frames if frame.type == "TEXT_MESSAGE_CONTENT")


class Reader:
    """An answer that is read while it comes. Whatever takes longer than five seconds is a failure."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.frames: list[Frame] = []
        self.comments: list[str] = []
        self._blocks = self._read()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, path: str, body: object = None, *, method: str = "POST", **headers: str
    ) -> "AsyncIterator[Reader]":
        content: dict[str, Any] = {} if body is None else {"json": body}
        async with visiting(url) as client, client.stream(method, path, headers=headers, **content) as response:
            yield cls(response)

    async def _read(self) -> AsyncIterator[str]:
        rest = ""
        async for piece in self.response.aiter_text():
            *blocks, rest = (rest + piece).split("\n\n")
            for block in blocks:
                yield block
        assert rest == ""

    async def next(self) -> Frame | None:
        """The next frame; None when the body has ended. Comments go to `comments`."""
        async with asyncio.timeout(30):
            async for block in self._blocks:
                if frame := read_frame(block):
                    self.frames.append(frame)
                    return frame
                self.comments.append(block)
        return None

    async def until(self, type: str, **fields: Any) -> Frame:
        """Read on to a frame of this type, and with these fields."""
        while frame := await self.next():
            if frame.type == type and fields.items() <= frame.data.items():
                return frame
        raise AssertionError(f"The answer ended without {type} {fields}: {self.types}")

    async def rest(self) -> list[Frame]:
        """All frames, when the body has ended."""
        while await self.next():
            pass
        return self.frames

    @property
    def types(self) -> list[str]:
        return [frame.type for frame in self.frames]

    @property
    def text(self) -> str:
        return text_of(self.frames)


class Told:
    """A model that says a word whenever it is told to, and ends its answer at `None`."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.prompts: list[Prompt] = []
        self.asked = asyncio.Event()
        self.closed = asyncio.Event()

    def say(self, *words: str | None) -> None:
        for word in words:
            self.words.put_nowait(word)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.prompts.append(prompt)
        self.asked.set()
        try:
            while (word := await self.words.get()) is not None:
                yield TextChunk(word)
            yield StopChunk("stop")
        finally:
            self.closed.set()
