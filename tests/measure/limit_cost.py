"""What three limits add to a request: time with one request at a time, CPU with one and with ten at once.

`python -m tests.measure.limit_cost [sqlite] [postgres] [postgres-locked] [--requests 200] [--rounds 3]`

Only the parts of limits run: admission, the reservation of one model call, and its settlement with the slot. The same
calls without limits are measured too, and taken away. CPU is that of this process, threads included; that of PostgreSQL
is not in it.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import uvloop

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, TextChunk, UsageChunk
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter import METER, RunMeter
from rightseat.limits.meter_context import Metering
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.limits.prices import Price, Prices
from rightseat.limits.rules import Limit, LimitRule, Limits
from rightseat.limits.windows import CalendarWindow, SlidingWindow
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.services import schema

MOST = 10**12
LIMITS = Limits(
    [
        Limit("a", "user", [LimitRule("requests", MOST, SlidingWindow(3600)), LimitRule("runs", MOST)]),
        Limit("b", "everyone", [LimitRule("tokens", MOST, CalendarWindow("day"))]),
        Limit("c", "agent", [LimitRule("cost", MOST, CalendarWindow("month"))]),
    ]
)
PROMPT = Prompt((user("How much is left?"),))


class Answering:
    """A model that answers at once, as cheaply as possible."""

    name = "big"

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield TextChunk("Enough.")
        yield UsageChunk(20, 5)


class RequestCost(NamedTuple):
    """Milliseconds of one request."""

    p50: float
    cpu: float


async def request(metering: Metering) -> None:
    meter = RunMeter(metering, Ask(messages=PROMPT.messages, principal=Principal("anna")))
    model = meter_model(Answering(), CallCounter())
    await meter.admit(model)
    METER.set(meter)
    async for _ in model.stream(PROMPT):
        pass
    meter.release()
    await meter.flush()


async def measure_requests(metering: Metering, count: int, at_once: int) -> RequestCost:
    times: list[float] = []

    async def take_turns() -> None:
        for _ in range(count // at_once):
            began = time.perf_counter()
            await request(metering)
            times.append(time.perf_counter() - began)

    before = time.process_time()
    await asyncio.gather(*(take_turns() for _ in range(at_once)))
    return RequestCost(statistics.median(times) * 1e3, (time.process_time() - before) / len(times) * 1e3)


@asynccontextmanager
async def sqlite() -> AsyncIterator[SqlThreads]:
    with tempfile.TemporaryDirectory() as folder:
        async with SqlThreads(connect(Path(folder) / "state" / "rightseat.db")) as threads:
            yield threads


@asynccontextmanager
async def postgres() -> AsyncIterator[SqlThreads]:
    async with schema() as url, SqlThreads(connect(url)) as threads:
        yield threads


@asynccontextmanager
async def postgres_locked() -> AsyncIterator[SqlThreads]:
    """As where other servers change the same counters all the time: every transaction locks its rows first."""
    async with postgres() as threads:
        threads.limits._locked_batches = 10**9
        yield threads


STORES: dict[str, Callable[[], AbstractAsyncContextManager[SqlThreads]]] = {
    "sqlite": sqlite,
    "postgres": postgres,
    "postgres-locked": postgres_locked,
}


async def measure(name: str, count: int) -> str:
    prices = Prices({"big": Price(10, 30, 1)})
    found: list[str] = []
    async with STORES[name]() as threads, Ledger(threads.limits) as ledger, Ledger(threads.limits, 3600) as idle:
        limited, free = Metering(LIMITS, ledger, prices), Metering(Limits(), idle, prices)
        for at_once in (1, 10):
            await measure_requests(limited, 20, at_once)
            bare, whole = [await measure_requests(one, count, at_once) for one in (free, limited)]
            added = RequestCost(whole.p50 - bare.p50, whole.cpu - bare.cpu)
            found.append(f"{at_once:2} at once: p50 {added.p50:5.2f} ms, CPU {added.cpu:5.2f} ms")
    return f"{name:15} {'    '.join(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", nargs="*", metavar="STORE")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    for _ in range(asked.rounds):
        for name in asked.stores or STORES:
            print(uvloop.run(measure(name, asked.requests)))  # noqa: T201


if __name__ == "__main__":
    main()
