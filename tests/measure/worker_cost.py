"""CPU per request and per chunk of a server with two workers, beside one process, and of both at rest.

`python -m tests.measure.worker_cost [sqlite] [postgres] [--rounds 3] [--requests 200] [--streams 40] [--words 400]`

CPU is that of all processes of the server together, its supervisor included; PostgreSQL and Redis are not in it.
Servers with one process and with two workers alternate, so that other work on the machine meets both. Requests and
streams are AG-UI runs, which are stored. Every request has a connection of its own, which the kernel gives to either
worker.
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
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp

from tests.services import REDIS, keys, schema

CONCURRENCY = 8
IDLE_S = 5.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServerCost(NamedTuple):
    """CPU in microseconds: of a request, of a chunk, and of a second at rest."""

    request: float
    chunk: float
    idle_second: float


async def measure(store: str, options: argparse.Namespace) -> None:
    found: dict[int, list[ServerCost]] = {1: [], 2: []}
    for _ in range(options.rounds):
        for workers in found:
            async with storage(store) as parts:
                with tempfile.TemporaryDirectory() as folder, serving(Path(folder), parts, workers) as (url, group):
                    found[workers].append(await measure_server(url, group, options))
    for name in ServerCost._fields:
        one, two = (statistics.median(getattr(cost, name) for cost in found[workers]) for workers in (1, 2))
        ratio = two / one if one else 0
        print(f"{store:9} {name:12} 1: {one:7.0f} µs  2: {two:7.0f} µs  ratio {ratio:.2f}", flush=True)  # noqa: T201


@asynccontextmanager
async def storage(store: str) -> AsyncIterator[dict[str, object]]:
    if store == "sqlite":
        yield {}
        return
    async with schema() as database, keys() as prefix:
        log = {"type": "redis", "url": REDIS, "prefix": prefix}
        yield {"threads": {"type": "sql", "url": database}, "log": log}


@contextmanager
def serving(folder: Path, parts: dict[str, object], workers: int) -> Iterator[tuple[str, int]]:
    """The address of a server, and its process group."""
    configuration = {
        "models": {"default": {"type": "scripted", "chunk_delay": 0.005}},
        "faces": [{"type": "copilotkit"}],
    }
    (folder / "rightseat.yaml").write_text(json.dumps(configuration | parts))
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0", "--workers", str(workers)]
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


async def measure_server(url: str, group: int, options: argparse.Namespace) -> ServerCost:
    connector = aiohttp.TCPConnector(force_close=True, limit=CONCURRENCY)
    async with aiohttp.ClientSession(connector=connector) as session:
        await run_all(session, url, options.requests // 4, 1)  # to load and to open everything
        request, words = await count_cpu(session, url, group, options.requests, 1)
        stream, many_words = await count_cpu(session, url, group, options.streams, options.words)
    before = read_cpu(group)
    await asyncio.sleep(IDLE_S)
    return ServerCost(request, (stream - request) / (many_words - words), (read_cpu(group) - before) / IDLE_S)


async def count_cpu(
    session: aiohttp.ClientSession, url: str, group: int, requests: int, words: int
) -> tuple[float, float]:
    """CPU and chunks of a request."""
    before = read_cpu(group)
    chunks = await run_all(session, url, requests, words)
    return (read_cpu(group) - before) / requests, chunks / requests


async def run_all(session: aiohttp.ClientSession, url: str, requests: int, words: int) -> int:
    return sum(await asyncio.gather(*(run(session, url, words) for _ in range(requests))))


async def run(session: aiohttp.ClientSession, url: str, words: int) -> int:
    """The number of chunks. The model repeats the question word by word."""
    id = f"{time.monotonic_ns()}-{os.urandom(4).hex()}"
    body = {"threadId": id, "runId": id, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    question = {"id": f"m-{id}", "role": "user", "content": "word " * words}
    async with session.post(f"{url}/copilotkit/agent/default/run", json=body | {"messages": [question]}) as response:
        text = await response.text()
    assert "RUN_FINISHED" in text, text[-500:]
    return text.count("TEXT_MESSAGE_CONTENT")


def read_cpu(group: int) -> float:
    """Microseconds of all processes in the group, and of those that have ended."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[2]) == group:
            total += sum(map(int, fields[11:15] if int(folder.name) == group else fields[11:13]))
    return total * 1e6 / TICKS_PER_S


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"])
    for name, default in (("rounds", 3), ("requests", 200), ("streams", 40), ("words", 400)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    for each in arguments.stores:
        asyncio.run(measure(each, arguments))
