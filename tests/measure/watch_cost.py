"""What a streamed chunk costs while someone watches its run: an AG-UI client that joined, or the console.

    python -m tests.measure.watch_cost [--streams 20] [--chunks 100] [--rounds 5]

A server answers AG-UI clients with a model that sends one chunk every 20 ms. CPU is that of the server's process, from
the first chunk of all streams to their last; runs end after that. `joined` has a second AG-UI client at every run,
`console` one `live` stream of the operator API at every thread.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.conditions import until

GAP_S = 0.02
WAYS = ("alone", "joined", "console")
CONFIGURATION = """\
models:
  upstream: {{type: openai, model: fake, base_url: "http://127.0.0.1:{model}/v1", api_key: sk-fake}}
agents:
  default: {{type: loop, model: upstream}}
faces: [{{type: copilotkit}}, {{type: operator}}]
server: {{state_dir: "{folder}"}}
"""


class PacedModel:
    """Streams `chunks` chunks to each of `streams` requests. After the first chunk it waits for `go`, before the
    end for `measured`."""

    def __init__(self, streams: int, chunks: int) -> None:
        self.streams = streams
        self.chunks = chunks
        self.shut()

    def shut(self) -> None:
        self.go = asyncio.Event()
        self.measured = asyncio.Event()
        self.begun = asyncio.Barrier(self.streams + 1)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for index in range(self.chunks):
            delta = {"index": 0, "delta": {"content": f"word {index} "}, "finish_reason": None}
            await response.write(f"data: {json.dumps({'id': 'c', 'choices': [delta]})}\n\n".encode())
            if index == 0:
                await self.begun.wait()
                await self.go.wait()
            await asyncio.sleep(GAP_S)  # the rate that is measured
        await self.measured.wait()
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        await response.write(f"data: {json.dumps({'id': 'c', 'choices': [end]})}\n\ndata: [DONE]\n\n".encode())
        return response


@asynccontextmanager
async def model_server(model: PacedModel) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", model.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def rightseat(model: int) -> AsyncIterator[tuple[str, int]]:
    """The address and the process id of a server."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rightseat.yaml"
        file.write_text(CONFIGURATION.format(model=model, folder=folder))
        port = free_port()
        command = (sys.executable, "-m", "rightseat", "serve", "--config", str(file), "--port", str(port))
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
        )
        try:
            url = f"http://127.0.0.1:{port}"
            async with aiohttp.ClientSession() as client:
                await until(lambda: answers(client, f"{url}/health"), 60)
            yield url, process.pid
        finally:
            process.terminate()
            await process.wait()


async def answers(client: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with client.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def read_texts(response: aiohttp.ClientResponse, wanted: int) -> None:
    """Read until `wanted` chunks of text have come."""
    seen = 0
    async for line in response.content:
        seen += b"word " in line and b"elta" in line
        if seen >= wanted:
            return
    raise RuntimeError(f"{response.url} ended after {seen} of {wanted} chunks")


async def cost(way: str, model: PacedModel, url: str, pid: int) -> float:
    """CPU microseconds per chunk."""
    model.shut()
    threads = [str(uuid.uuid4()) for _ in range(model.streams)]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, connector=connector, timeout=aiohttp.ClientTimeout(120)) as client:
        opened = [await client.post("/copilotkit/agent/default/run", json=ask(thread)) for thread in threads]
        await model.begun.wait()
        if way == "joined":
            path = "/copilotkit/agent/default/connect"
            opened += [await client.post(path, json=ask(thread, joins=True)) for thread in threads]
        if way == "console":
            opened += [await client.get("/operator/live", params={"thread": thread}) for thread in threads]
        for response in opened:
            response.raise_for_status()
        await asyncio.sleep(1)  # what the requests themselves cost is over then
        before = cpu_seconds(pid)
        readers = [asyncio.create_task(read_texts(response, model.chunks)) for response in opened]
        model.go.set()
        await asyncio.gather(*readers)
        spent = cpu_seconds(pid) - before
        model.measured.set()
        for response in opened:
            response.close()
    await asyncio.sleep(1)  # what closing costs is over then
    return spent / (model.streams * (model.chunks - 1)) * 1e6


def ask(thread: str, *, joins: bool = False) -> dict[str, object]:
    messages = [] if joins else [{"id": str(uuid.uuid4()), "role": "user", "content": "Hello"}]
    ids = {"threadId": thread, "runId": str(uuid.uuid4())}
    return {**ids, "tools": [], "context": [], "forwardedProps": {}, "state": {}, "messages": messages}


async def measure(streams: int, chunks: int, rounds: int) -> None:
    model = PacedModel(streams, chunks)
    figures: dict[str, list[float]] = {way: [] for way in WAYS}
    async with model_server(model) as port, rightseat(port) as (url, pid):
        await cost("alone", model, url, pid)
        for _ in range(rounds):
            for way in WAYS:
                figures[way].append(await cost(way, model, url, pid))
    for way, found in figures.items():
        spread = f"{statistics.median(found):.1f} ({min(found):.1f} to {max(found):.1f})"
        sys.stdout.write(f"{way:8} {spread:>24} CPU us/chunk\n")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--streams", type=int, default=20)
    arguments.add_argument("--chunks", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    asyncio.run(measure(given.streams, given.chunks, given.rounds))
