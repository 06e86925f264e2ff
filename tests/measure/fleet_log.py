"""What a shared log carries: one process writes, another follows, through a real server.

`python -m tests.measure.fleet_log redis|postgres [--url URL] [--runs 200] [--rate 50] [--seconds 10] [--wait 0]`

Prints how many events a second arrived, how long they were on their way from the writer's `append` to the reader (p50
and p99), and the CPU of each process an event: the log's alone, what the streams cost without it being taken away.
The load of the machine is printed too, because it says more about the tail than the log does.
"""

import argparse
import asyncio
import json
import os
import secrets
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import uvloop
from pydantic import SecretStr

from rightseat.core.events import RunFinished, TextDelta
from rightseat.logs import postgres, redis
from rightseat.logs.shared.log import SharedLog

URLS = {"redis": "redis://127.0.0.1:6379/0", "postgres": "postgresql://postgres@127.0.0.1:5432/test"}
MESSAGE = "msg_0123456789abcdef0123456789abcdef"


def build(asked: argparse.Namespace) -> SharedLog:
    url = SecretStr(asked.url or URLS[asked.log])
    if asked.log == "redis":
        log = redis.build(redis.Options(url=url, prefix=f"{asked.mark}:", min_replicas=asked.wait))
    else:
        log = postgres.build(postgres.Options(url=url))
    assert isinstance(log, SharedLog)
    return log


def run_ids(asked: argparse.Namespace) -> list[str]:
    return [f"{asked.mark}-{number}" for number in range(asked.runs)]


async def write(asked: argparse.Namespace) -> dict[str, Any]:
    """Create the runs, say that they are there, wait for a line, and speak."""
    async with build(asked) as log:
        for run_id in run_ids(asked):
            await log.create(run_id)
        print("created", flush=True)  # noqa: T201
        await asyncio.to_thread(sys.stdin.readline)
        bare = await spend(asked, None)
        whole = await spend(asked, log)
    return {"cpu": whole - bare}


async def spend(asked: argparse.Namespace, log: SharedLog | None) -> float:
    """CPU seconds of this process for all streams; without a log, of the same sleeps and nothing else."""
    before = time.process_time()
    await asyncio.gather(*(speak(asked, log, number, run_id) for number, run_id in enumerate(run_ids(asked))))
    return time.process_time() - before


async def speak(asked: argparse.Namespace, log: SharedLog | None, number: int, run_id: str) -> None:
    count, pause = int(asked.seconds * asked.rate), 1 / asked.rate
    await asyncio.sleep(number / asked.runs * pause)  # so that the streams do not send at the same moments
    if log is None:
        for _ in range(count):
            TextDelta(MESSAGE, repr(time.time()))
            await asyncio.sleep(pause)  # the rate that is measured
        return
    async with log.open(run_id, 1) as writer:
        for _ in range(count):
            await writer.append(TextDelta(MESSAGE, repr(time.time())))
            await asyncio.sleep(pause)  # the rate that is measured
        await writer.append(RunFinished("done"))


async def follow(asked: argparse.Namespace) -> dict[str, Any]:
    delays: list[float] = []
    times: list[float] = []

    async def hear(log: SharedLog, run_id: str) -> None:
        async for batch in log.follow(run_id):
            now = time.time()
            times.append(now)
            delays.extend(now - float(entry.event.text) for entry in batch if isinstance(entry.event, TextDelta))

    async with build(asked) as log:
        print("following", flush=True)  # noqa: T201
        before = time.process_time()
        await asyncio.gather(*(hear(log, run_id) for run_id in run_ids(asked)))
        cpu = time.process_time() - before
        await log.delete(run_ids(asked))
    return {"cpu": cpu, "delays": delays, "seconds": times[-1] - times[0]}


async def measure(asked: argparse.Namespace) -> str:
    asked.mark = f"measure_{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        if asked.log == "postgres" and not asked.url:
            asked = argparse.Namespace(**vars(asked) | {"url": await stack.enter_async_context(own_schema(asked.mark))})
        return await measured(asked)


@asynccontextmanager
async def own_schema(name: str) -> AsyncIterator[str]:
    connection = await asyncpg.connect(URLS["postgres"])
    try:
        await connection.execute(f"CREATE SCHEMA {name}")
        yield f"{URLS['postgres']}?options=-csearch_path%3D{name}"
    finally:
        await connection.execute(f"DROP SCHEMA {name} CASCADE")
        await connection.close()


async def measured(asked: argparse.Namespace) -> str:
    writer, reader = await start(asked, "write"), await start(asked, "follow")
    writer.stdin.write(b"\n")  # type: ignore[union-attr]
    wrote, heard = await result(writer), await result(reader)
    delays, count = heard["delays"], asked.runs * int(asked.seconds * asked.rate)
    assert len(delays) == count, f"{count - len(delays)} events were lost"
    p50, p99 = statistics.median(delays) * 1e3, statistics.quantiles(delays, n=100)[98] * 1e3
    cost = f"writer + reader {wrote['cpu'] / count * 1e6:.0f} + {heard['cpu'] / count * 1e6:.0f} us/event"
    arrived = f"{count / heard['seconds']:,.0f} of {asked.runs * asked.rate:,.0f} events/s"
    return f"{asked.log:8} {arrived}   p50 / p99 {p50:.1f} / {p99:.1f} ms   {cost}   load {os.getloadavg()[0]:.1f}"


async def start(asked: argparse.Namespace, part: str) -> asyncio.subprocess.Process:
    """A process that does one part, once it has said its first word."""
    options = [f"--{name}={getattr(asked, name)}" for name in ("runs", "rate", "seconds", "wait", "mark")]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.measure.fleet_log", asked.log, f"--part={part}", *options,
        *([f"--url={asked.url}"] if asked.url else []),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=2**30,
    )  # fmt: skip
    await child.stdout.readline()  # type: ignore[union-attr]
    return child


async def result(child: asyncio.subprocess.Process) -> Any:
    said, _ = await child.communicate()
    return json.loads(said.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", choices=URLS)
    parser.add_argument("--url")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--wait", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--part", choices=("write", "follow"), help=argparse.SUPPRESS)
    parser.add_argument("--mark", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(uvloop.run(write(asked) if asked.part == "write" else follow(asked))))  # noqa: T201
        return
    for _ in range(asked.rounds):
        print(uvloop.run(measure(asked)))  # noqa: T201


if __name__ == "__main__":
    main()
