"""A model whose server plays an answer, asked one question: what the tests of every provider have in common."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

import pytest

from rightseat.core.errors import ModelError
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Model, Prompt, ReasoningChunk, TextChunk
from rightseat.models.upstream import EventDecoder
from rightseat.wire import sse
from tests.tcp import Script, Server, answers, playing

PROMPT = Prompt((user("Hi"),))


class Opened(Model, Protocol):
    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


M = TypeVar("M", bound=Opened)


@asynccontextmanager
async def asking(script: Script | bytes, make: Callable[[str], M]) -> AsyncIterator[tuple[M, Server]]:
    """`make` gets the server's address."""
    async with (
        playing(script if callable(script) else answers(script)) as server,
        asyncio.timeout(30),
        make(server.url) as model,
    ):
        yield model, server


async def answer_of(model: Model) -> list[Chunk]:
    """Without pieces that are empty."""
    return [chunk async for chunk in model.stream(PROMPT) if chunk not in (TextChunk(""), ReasoningChunk(""))]


async def failure_of(model: Model) -> tuple[list[Chunk], ModelError]:
    """What was said before it failed, and how it did."""
    chunks: list[Chunk] = []
    try:
        async for chunk in model.stream(PROMPT):
            chunks.append(chunk)  # noqa: PERF401  # what came before the error is wanted too
    except ModelError as error:
        return chunks, error
    pytest.fail(f"no error after {chunks}")


def assert_cut_anywhere(recording: Path, make: Callable[[], EventDecoder]) -> None:
    """The same chunks come of a recording, in pieces of whatever size its bytes come."""
    body = recording.read_bytes().partition(b"\r\n\r\n")[2]

    def chunks(size: int) -> list[Chunk]:
        decoder, reader, found = sse.SseDecoder(), make(), list[Chunk]()
        try:
            for at in range(0, len(body), size):
                for data in decoder.feed(body[at : at + size]):
                    found += reader.read(data)
        except sse.StreamError:
            pass  # what a server broke off is cut as well
        return found

    whole = chunks(len(body))
    assert whole
    assert all(chunks(size) == whole for size in (1, 2, 3, 7, 64))
