"""The examples in the docstrings of the protocols of the core, as code that mypy and tests check."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from rightseat.core.ask import Ask
from rightseat.core.engine import Engine, Perform, Steps
from rightseat.core.errors import GuardDenied
from rightseat.core.events import Event, RunFinished, RunStarted, TextDelta, TextEnded, TextStarted
from rightseat.core.guard import BaseGuard, question_text
from rightseat.core.log import Log
from rightseat.core.messages import Message, Text
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.threads import Thread, Threads
from rightseat.core.tools import Invocation, Tool


class EchoModel:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield TextChunk(prompt.messages[-1].text)
        yield StopChunk("stop")


class OrderAgent:
    description = "Places an order."

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        number = await steps.do("order", int, self._place_order)
        yield TextStarted("m1")
        yield TextDelta("m1", f"Your order is number {number}.")
        yield TextEnded("m1")

    async def _place_order(self) -> int:
        return 7


class ClockToolbox:
    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [Tool("tell_time", "Return the time in UTC.", {"type": "object"}, self._tell_time)]

    async def _tell_time(self, invocation: Invocation) -> str:
        return datetime.now(UTC).isoformat()


class PolitenessGuard(BaseGuard):
    name = "politeness"

    async def check_question(self, ask: Ask) -> None:
        if "please" not in question_text(ask).lower():
            raise GuardDenied("Say please.", self.name)


async def write_and_follow(log: Log) -> list[Event]:
    await log.create("r1")
    async with log.open("r1", epoch=1) as writer:
        first = await writer.append(RunStarted("r1", "t1", "default"))
        await writer.append(RunFinished("done"))
    return [entry.event async for entries in log.follow("r1", after=first.id) for entry in entries]


async def claim_and_finish(threads: Threads, ask: Ask) -> Thread | None:
    await threads.claim(ask)  # from now on another ask for the thread raises `ThreadBusy`
    response = Message("assistant", (Text("Hello."),), id="m1")
    await threads.finish(ask, (response,), None, RunFinished("done"))
    return await threads.load(ask.thread_id, ask.principal)


async def start_and_cancel(engine: Engine, ask: Ask, perform: Perform) -> bool:
    await engine.open(perform)
    await engine.start(ask, perform)
    was_running = await engine.cancel(ask.run_id)
    await engine.close()
    return was_running
