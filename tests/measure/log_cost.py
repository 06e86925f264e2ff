"""What an event costs in each log: CPU, with 50 streams of 25 events a second, each followed by one reader.

`python -m tests.measure.log_cost [memory] [sqlite] [--seconds 5] [--rounds 3]`

The same streams without a log are measured too, and taken away: what is left is the log's. The reader has a tap, as the
faces have. CPU is that of the whole process, threads included.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import uvloop

from rightseat.core.events import RunFinished, TextDelta
from rightseat.core.log import Entry, Log
from rightseat.logs.memory import MemoryLog
from rightseat.logs.sqlite.log import SqliteLog

STREAMS, RATE = 50, 25.0
MESSAGE = "msg_0123456789abcdef0123456789abcdef"


@asynccontextmanager
async def memory() -> AsyncIterator[Log]:
    yield MemoryLog()


@asynccontextmanager
async def sqlite() -> AsyncIterator[Log]:
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteLog(Path(folder) / "log.db") as log:
            yield log


LOGS: dict[str, Callable[[], AbstractAsyncContextManager[Log]]] = {"memory": memory, "sqlite": sqlite}


class Follower:
    """Takes entries as a face does, by its tap, and notes how long they were on their way."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    def tap(self, entry: Entry) -> bool:
        if isinstance(entry.event, TextDelta):
            self.delays.append(time.perf_counter() - float(entry.event.text))
        return True

    async def follow(self, log: Log, run_id: str) -> None:
        async for batch in log.follow(run_id, tap=self.tap):
            for entry in batch:
                self.tap(entry)


async def stream(log: Log | None, number: int, seconds: float, follower: Follower) -> None:
    """One answer that trickles; without a log, the same sleeps and nothing else."""
    run_id = f"run_{number}"
    await asyncio.sleep(number / STREAMS / RATE)  # so that the streams do not send at the same moments
    if log is None:
        for _ in range(int(seconds * RATE)):
            TextDelta(MESSAGE, repr(time.perf_counter()))
            await asyncio.sleep(1 / RATE)  # the rate that is measured
        return
    await log.create(run_id)
    following = asyncio.create_task(follower.follow(log, run_id))
    async with log.open(run_id, 1) as writer:
        for _ in range(int(seconds * RATE)):
            await writer.append(TextDelta(MESSAGE, repr(time.perf_counter())))
            await asyncio.sleep(1 / RATE)  # the rate that is measured
        await writer.append(RunFinished("done"))
    await following


async def cost(log: Log | None, seconds: float) -> tuple[float, list[float]]:
    """Microseconds of CPU an event, and how long the events were on their way."""
    followers = [Follower() for _ in range(STREAMS)]
    before = time.process_time()
    await asyncio.gather(*(stream(log, number, seconds, one) for number, one in enumerate(followers)))
    spent = time.process_time() - before
    return spent / (STREAMS * int(seconds * RATE)) * 1e6, [delay for one in followers for delay in one.delays]


async def measure(name: str, seconds: float) -> str:
    bare, _ = await cost(None, seconds)
    async with LOGS[name]() as log:
        whole, delays = await cost(log, seconds)
    p50, p99 = statistics.median(delays) * 1e3, statistics.quantiles(delays, n=100)[98] * 1e3
    shown = f"shown after {p50:.1f} / {p99:.1f} ms (p50 / p99)"
    return f"{name:8} {whole - bare:6.1f} us/event   (streams alone {bare:.1f})   {shown}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", metavar="LOG")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    for _ in range(asked.rounds):
        for name in asked.logs or LOGS:
            print(uvloop.run(measure(name, asked.seconds)))  # noqa: T201


if __name__ == "__main__":
    main()
