"""What guards cost a stream, in microseconds a piece: `quiet python -m tests.measure.guard_cost`.

Each figure is the median of nine answers of 20,000 pieces, with the lowest and the highest.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps as StepsLike
from rightseat.core.events import Event, TextDelta, TextEnded, TextStarted
from rightseat.core.guard import Guard
from rightseat.core.guards.pipeline import make_guard_wrapper
from rightseat.core.messages import user
from rightseat.guards import patterns, personal_data
from tests.core.loop.test_agent_loop import Steps

PIECES = 20_000
TIMES = 9
TEXT = "The quick brown fox jumps over the lazy dog, again and again, in the yard behind the old house."
WORDS = [word + " " for word in TEXT.split()]
ASK = Ask(messages=(user("Hi"),))


class Says:
    description = ""

    async def run(self, ask: Ask, steps: StepsLike) -> AsyncIterator[Event]:
        yield TextStarted("m")
        for number in range(PIECES):
            yield TextDelta("m", WORDS[number % len(WORDS)])
        yield TextEnded("m")


async def once(guards: list[Guard]) -> float:
    agent = make_guard_wrapper(guards)(Says())
    began = time.perf_counter()
    async for _ in agent.run(ASK, Steps()):
        pass
    return (time.perf_counter() - began) / PIECES * 1e6


async def main() -> None:
    phrases = patterns.Options(phrases=("project nightjar", "internal use only"), patterns=("sk-[A-Za-z0-9]{20,64}",))
    one = patterns.Options(phrases=("project nightjar",))
    kinds: dict[str, list[Guard]] = {
        "no guard": [],
        "one phrase": [patterns.build(one, None)],  # type: ignore[arg-type]  # it asks for no parts
        "two phrases and a pattern": [patterns.build(phrases, None)],  # type: ignore[arg-type]
        "personal data": [personal_data.build(personal_data.Options(), None)],  # type: ignore[arg-type]
    }
    figures: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(TIMES):
        for name, guards in kinds.items():
            figures[name].append(await once(guards))
    for name, took in figures.items():
        print(f"{name:28} {statistics.median(took):6.2f} [{min(took):.2f}-{max(took):.2f}]")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
