"""What runs reach out to: a model that never says the same twice, and a shop that charges once for each key.

Both write down who asked for what, and when. Every word of the model names its generation, so that a text made of two
is seen as such. With an answer that broke off it goes on three times out of four, in words of that generation.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask
from rightseat.core.messages import Result
from rightseat.core.model import CallChunk, CannotContinue, Chunk, PartialOutput, Prompt, StopChunk, TextChunk
from rightseat.core.tools import Invocation, Tool
from tests.simulation.clock import Clock, pass_time

WORDS = 3


@dataclass(frozen=True, slots=True)
class Request:
    moment: float
    process: int
    run_id: str
    step: str
    executor: int | None
    """Who had the run then, as the database knew it."""


class Outside:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.generations = 0
        self.effects: dict[str, int] = {}
        self.requests: list[Request] = []


class Speaker:
    """The model, as one process reaches it: some words and a charge; then some words."""

    def __init__(
        self, outside: Outside, process: int, executor: "dict[str, int]", *, begins_again: bool = False
    ) -> None:
        self._outside = outside
        self._process = process
        self._executor = executor
        self._begins_again = begins_again

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self._outside.generations += 1
        async with aclosing(self._speak(prompt, self._outside.generations, 0)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def continue_stream(self, prompt: Prompt, begun: PartialOutput) -> AsyncIterator[Chunk]:
        said = begun.text.split()
        if not said or self._outside.clock.random.random() < 0.25:
            raise CannotContinue("not this time")
        place = 0 if self._begins_again else len(said)
        async with aclosing(self._speak(prompt, int(said[0].partition(".")[0]), place)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _speak(self, prompt: Prompt, mine: int, said: int) -> AsyncIterator[Chunk]:
        outside, random = self._outside, self._outside.clock.random
        done = sum(is_result(message.parts) for message in prompt.messages)
        thread = prompt.thread_id or ""
        run = prompt.messages[0].id
        outside.requests.append(
            Request(outside.clock.now, self._process, run, f"answer:{done}", self._executor.get(run))
        )
        for number in range(said, WORDS):
            await pass_time(random, 0.01, 0.9)
            yield TextChunk(f"{mine}.{number} ")
        if not done:
            yield CallChunk(0, "{}", f"call-{thread}", "charge")
        yield StopChunk("stop" if done else "tool_calls")


def is_result(parts: Sequence[object]) -> bool:
    return any(isinstance(part, Result) for part in parts)


class Shop:
    def __init__(self, outside: Outside, process: int, executor: "dict[str, int]") -> None:
        self._outside = outside
        self._process = process
        self._executor = executor

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return (Tool("charge", "Charge it.", {"type": "object"}, self._charge),)

    async def _charge(self, invocation: Invocation) -> str:
        outside, random, run = self._outside, self._outside.clock.random, invocation.ask.run_id
        await pass_time(random, 0.001, 0.05)
        step = f"tool:{invocation.call_id}"
        outside.requests.append(Request(outside.clock.now, self._process, run, step, self._executor.get(run)))
        outside.effects[invocation.key] = outside.effects.get(invocation.key, 0) + 1
        await pass_time(random, 0.001, 0.8)
        return "charged"
