"""How long a stream may be silent, in time that passes only when everybody waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from starlette.types import Message

from rightseat.core.ask import Ask
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces._shared.run_response import KEEP_ALIVE_COMMENT, RAW_SEND, RunResponse
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.wire.agui import AguiEncoder

Sent = list[tuple[float, bytes]]
"""When, and what."""


class Simulated(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer as soon as nothing else is to be done."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        loop: Any = self
        if not loop._ready and loop._scheduled:
            self.now = max(self.now, loop._scheduled[0].when())
        super()._run_once()  # type: ignore[misc]  # nowhere else does the loop look at its clock


class Slow:
    """A model that is silent for so many seconds before each word, and before its end."""

    def __init__(self, pauses: Sequence[float]) -> None:
        self.pauses = pauses

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        for chunks_left, pause in zip(reversed(range(len(self.pauses))), self.pauses, strict=True):
            await asyncio.sleep(pause)  # of the simulated time
            yield TextChunk("word") if chunks_left else StopChunk("stop")


@pytest.fixture(params=[True, False], ids=["straight", "through middleware"])
def streamed(request: pytest.FixtureRequest) -> Callable[..., Sent]:
    """What was sent of a run with such a model, and when."""

    def run(pauses: Sequence[float], keep_alive: float | None) -> Sent:
        with asyncio.Runner(loop_factory=Simulated) as runner:
            return runner.run(stream(pauses, keep_alive, raw_send=request.param))

    return run


async def stream(pauses: Sequence[float], keep_alive: float | None, *, raw_send: bool) -> Sent:
    model, loop, sent = Slow(pauses), asyncio.get_running_loop(), Sent()
    runtime = Runtime({"default": Loop(model)}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())

    async def send(message: Message) -> None:
        if body := message.get("body"):
            sent.append((loop.time(), body))

    async def receive() -> Message:
        raise AssertionError("nobody listens to the client")

    ask = await runtime.start(Ask(messages=(), thread_id="t"))
    writer = AguiEncoder("0.0.59", "t", "r")
    response = RunResponse(
        runtime, ask.run_id, writer.feed, headers={}, cancel_on_disconnect=False, keep_alive=keep_alive
    )
    await response({"type": "http"} | ({RAW_SEND: send} if raw_send else {}), receive, send)
    assert not [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
    return sent


def comments(sent: Sent) -> list[float]:
    return [when for when, body in sent if body == KEEP_ALIVE_COMMENT]


def test_a_stream_that_talks_gets_no_comments(streamed: Callable[..., Sent]) -> None:
    assert comments(streamed([14, 14, 14.9, 1, 14, 14], 15)) == []


def test_a_comment_comes_after_as_much_silence_as_is_allowed(streamed: Callable[..., Sent]) -> None:
    assert comments(streamed([16, 14, 16, 40], 15)) == [15, 45, 61, 76]


def test_a_comment_stands_between_frames(streamed: Callable[..., Sent]) -> None:
    body = b"".join(body for _, body in streamed([40, 40], 15))

    assert body.count(KEEP_ALIVE_COMMENT) == 4
    assert all(frame.startswith((b"id: ", b":")) for frame in body.split(b"\n\n")[:-1])


def test_without_a_limit_there_are_none(streamed: Callable[..., Sent]) -> None:
    assert comments(streamed([1000, 1000], None)) == []
