"""What it costs to record what models are sent (`evals.record_prompts`): CPU of this process, and bytes in SQLite.

`python -m tests.measure.prompt_cost [--runs 20] [--rounds 7]`

A run makes 20 model calls: 19 call a tool, whose result has 2 KB, and the last one answers. Its instructions have 2 KB,
and the agent 10 tools. Each run has a thread of its own, so that no content is shared. The rounds alternate.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

from rightseat.core.ask import Ask, Principal
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.engines.local import LocalEngine
from rightseat.limits.admission import LimitedAdmission
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.logs.memory import MemoryLog
from rightseat.operations.prompt_recorder import PromptRecording
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads

CALLS = 20
RESULT = "0123456789 zebra " * 120
KINDS = ("stored", "recorded", "transient")


class Calling:
    """Calls a tool until it has been called often enough."""

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        called = sum(message.role == "tool" for message in prompt.messages)
        if called < CALLS - 1:
            yield CallChunk(0, "{}", f"c{called}", "tool_0")
        else:
            yield TextChunk("Enough.")
        yield UsageChunk(100, 10)
        yield StopChunk("stop")


class Tools:
    async def tools(self, ask: Ask) -> list[Tool]:
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": {"id": {"type": "integer", "description": "The number of the order."}},
        }
        return [Tool(f"tool_{number}", "Looks up an order. " * 5, schema, self._run) for number in range(10)]

    async def _run(self, invocation: Invocation) -> str:
        return f"{invocation.call_id}: {RESULT}"


class Measured:
    """One kind of run, with a database of its own."""

    def __init__(self, kind: str, path: Path) -> None:
        self.kind, self.path = kind, path
        self.threads = SqlThreads(connect(path))
        recording = PromptRecording(self.threads.model_calls, 14, includes_transient=False)
        agent = Loop(
            meter_model(Calling(), CallCounter()), [Tools()], instructions="Help customers. " * 128, max_turns=CALLS
        )
        self.runtime = Runtime(
            {"default": agent},
            log=MemoryLog(),
            threads=self.threads,
            engine=LocalEngine(),
            admission=LimitedAdmission(None, None, recording.find_recorder if kind == "recorded" else None),
        )

    async def measure(self, runs: int) -> float:
        """The milliseconds of CPU of a run."""
        began = time.process_time()
        for _ in range(runs):
            ask = Ask(messages=(user("Hi"),), principal=Principal("anna"), transient=self.kind == "transient")
            await self.runtime.start(ask)
            async for _ in self.runtime.follow(ask.run_id):
                pass
        return (time.process_time() - began) / runs * 1000

    def count_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*"))


async def measure(runs: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            kinds = [Measured(kind, Path(folder, f"{kind}.db")) for kind in KINDS]
            for one in kinds:
                await stack.enter_async_context(one.threads)
                stack.push_async_callback(one.runtime.close)
                await one.runtime.open()
                await one.measure(2)
            found: dict[str, list[float]] = {kind: [] for kind in KINDS}
            for _ in range(rounds):
                for one in kinds:
                    found[one.kind].append(await one.measure(runs))
            calls = (await kinds[1].threads.model_calls.read_user("anna"))[-CALLS:]
        made = rounds * runs + 2
        for one in kinds:
            spread = sorted(found[one.kind])
            size = one.count_bytes() / made / 1024  # closed: the write-ahead log is in the file
            rate = f"{statistics.median(spread):7.2f} ms  ({spread[0]:.2f} to {spread[-1]:.2f})"
            print(f"{one.kind:10} {rate}  {size:7.1f} KB")  # noqa: T201
        print(f"{len(calls)} calls of the last run, of {made} runs of each kind")  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    asyncio.run(measure(given.runs, given.rounds))
