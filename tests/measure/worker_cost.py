"""CPU per request and per chunk of a server with two workers, beside one process and two separate servers.

`python -m tests.measure.worker_cost [sqlite] [postgres] [--rounds 3] [--requests 200] [--streams 40] [--words 400]
[--concurrency 8] [--interval-ms 5]`

All get the same load, two servers half of it each. What two servers cost more than one process is the price of two
event loops with half of the streams; the rest of what two workers cost more is that of sharing the database.

CPU is that of all processes together, the supervisor included; PostgreSQL and Redis are not in it. The three
alternate, so that other work on the machine meets all of them. Requests and streams are AG-UI runs, which are stored.
Every request has a connection of its own, which the kernel gives to either worker.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp

from tests.services import REDIS, keys, schema

IDLE_S = 5.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServerCost(NamedTuple):
    """CPU in microseconds: of a request, of a chunk, and of a second at rest."""

    request: float
    chunk: float
    idle_second: float


class Arrangement(NamedTuple):
    servers: int
    workers: int


ARRANGEMENTS = {
    "1 process": Arrangement(servers=1, workers=1),
    "2 workers": Arrangement(servers=1, workers=2),
    "2 servers": Arrangement(servers=2, workers=1),
}


async def measure(store: str, options: argparse.Namespace) -> None:
    found: dict[str, list[ServerCost]] = {name: [] for name in ARRANGEMENTS}
    for _ in range(options.rounds):
        for name, arrangement in ARRANGEMENTS.items():
            async with AsyncExitStack() as stack:
                servers = [
                    stack.enter_context(serving(await stack.enter_async_context(storage(store)), arrangement, options))
                    for _ in range(arrangement.servers)
                ]
                found[name].append(await measure_servers(servers, options))
    for field in ServerCost._fields:
        costs = {name: statistics.median(getattr(cost, field) for cost in found[name]) for name in found}
        base = costs["1 process"] or 1
        shown = "  ".join(f"{name}: {cost:6.0f} µs ({cost / base:.2f})" for name, cost in costs.items())
        print(f"{store:9} {field:12} {shown}", flush=True)  # noqa: T201


@asynccontextmanager
async def storage(store: str) -> AsyncIterator[dict[str, object]]:
    if store == "sqlite":
        yield {}
        return
    async with schema() as database, keys() as prefix:
        log = {"type": "redis", "url": REDIS, "prefix": prefix}
        yield {"threads": {"type": "sql", "url": database}, "log": log}


@contextmanager
def serving(
    parts: dict[str, object], arrangement: Arrangement, options: argparse.Namespace
) -> Iterator[tuple[str, int]]:
    """The address of a server, and its process group."""
    configuration = {
        "models": {"default": {"type": "scripted", "chunk_delay": options.interval_ms / 1000}},
        "faces": [{"type": "copilotkit"}],
        "telemetry": {"log_level": "warning"},
    }
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0", "--workers", str(arrangement.workers)]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rightseat.yaml").write_text(json.dumps(configuration | parts))
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                assert process.stdout is not None
                yield (
                    next(url for line in process.stdout for url in re.findall(r"http://127\.0\.0\.1:\d+", line)),
                    process.pid,
                )
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()


async def measure_servers(servers: Sequence[tuple[str, int]], options: argparse.Namespace) -> ServerCost:
    urls, groups = [url for url, _ in servers], [group for _, group in servers]
    connector = aiohttp.TCPConnector(force_close=True, limit=options.concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await run_all(session, urls, options.requests // 4, 1)  # to load and to open everything
        request, words = await count_cpu(session, urls, groups, options.requests, 1)
        stream, many_words = await count_cpu(session, urls, groups, options.streams, options.words)
    before = read_cpu(groups)
    await asyncio.sleep(IDLE_S)  # the idle time that is measured
    return ServerCost(request, (stream - request) / (many_words - words), (read_cpu(groups) - before) / IDLE_S)


async def count_cpu(
    session: aiohttp.ClientSession, urls: Sequence[str], groups: Sequence[int], requests: int, words: int
) -> tuple[float, float]:
    """CPU and chunks of a request."""
    before = read_cpu(groups)
    chunks = await run_all(session, urls, requests, words)
    return (read_cpu(groups) - before) / requests, chunks / requests


async def run_all(session: aiohttp.ClientSession, urls: Sequence[str], requests: int, words: int) -> int:
    return sum(await asyncio.gather(*(run(session, urls[n % len(urls)], words) for n in range(requests))))


async def run(session: aiohttp.ClientSession, url: str, words: int) -> int:
    """The number of chunks. The model repeats the question word by word."""
    id = f"{time.monotonic_ns()}-{os.urandom(4).hex()}"
    body = {"threadId": id, "runId": id, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    question = {"id": f"m-{id}", "role": "user", "content": "word " * words}
    async with session.post(f"{url}/copilotkit/agent/default/run", json=body | {"messages": [question]}) as response:
        text = await response.text()
    assert "RUN_FINISHED" in text, text[-500:]
    return text.count("TEXT_MESSAGE_CONTENT")


def read_cpu(groups: Sequence[int]) -> float:
    """Microseconds of all processes in these groups, and of those that have ended."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[2]) in groups:
            total += sum(map(int, fields[11:15] if int(folder.name) in groups else fields[11:13]))
    return total * 1e6 / TICKS_PER_S


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"])
    for name, default in (("rounds", 3), ("requests", 200), ("streams", 40), ("words", 400)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--concurrency", type=int, default=8, help="streams at a time")
    parser.add_argument("--interval-ms", type=int, default=5, help="between two chunks of a stream")
    arguments = parser.parse_args()
    for each in arguments.stores:
        asyncio.run(measure(each, arguments))
