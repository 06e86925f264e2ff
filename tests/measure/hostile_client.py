"""What one hostile client with one ordinary key costs another user: a row for each attack, as a Markdown table.

    python -m tests.measure.hostile_client [NAME …] [--seconds 15]

For each attack of `tests.measure.hostile_attacks` a server is started with its defaults, in one process, with SQLite. A
well-behaved user asks the attacked face 50 ms after each response, first alone and then while the attack goes on. A
wait that is longer than the pause counts for all the requests that it kept from being sent. Memory is the highest
resident size of the server, less what it had before the attacker stored anything. The attacker is at nice 10, because
it would not be on the machine of the server. The exit status is 1 if a bound is passed.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import aiohttp

from tests.conditions import Paced, until
from tests.measure.hostile_attacks import ATTACKS, Attack
from tests.measure.watch_cost import answers, free_port

PAUSE_S = 0.05
SAMPLE_S = 0.05
LONGEST_S = 20.0
MAX_DELAY_MS, MAX_GROWTH_MB = 250, 300
ALICE, MALLORY, AUTHOR = "key-alice-0123456789", "key-mallory-0123456789", "key-author-0123456789"
AUTHOR_SCOPES = ["*", "operator.watch:*", "operator.read:*", "operator.author:*"]
QUERY = "query { availableAgents { agents { id name } } }"
RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Request(NamedTuple):
    method: str
    path: str
    body: object = None


class Row(NamedTuple):
    name: str
    attack: Attack
    growth_mb: float
    alone_ms: float
    p99_ms: float
    worst_ms: float
    requests: int
    failed: int
    statuses: dict[str, int]


def build_requests() -> dict[str, Request]:
    """What the well-behaved user asks of each face. Runs are stored, each in a thread of its own."""
    ids = {"threadId": str(uuid.uuid4()), "runId": str(uuid.uuid4())}
    said = [{"id": "m", "role": "user", "content": "Hello"}]
    run = {**ids, "messages": said, "tools": [], "context": [], "state": {}, "forwardedProps": {}}
    part = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    return {
        "copilotkit": Request("POST", "/copilotkit/agent/default/run", run),
        "graphql": Request("POST", "/copilotkit", {"query": QUERY}),
        "openai": Request("POST", "/v1/chat/completions", {"model": "default", "messages": said}),
        "anthropic": Request(
            "POST", "/anthropic/v1/messages", {"model": "default", "max_tokens": 9, "messages": said[:1]}
        ),
        "responses": Request("POST", "/v1/responses", {"model": "default", "input": "Hello"}),
        "ai_sdk": Request("POST", "/api/chat", {"id": str(uuid.uuid4()), "messages": [part]}),
        "openbb": Request("POST", "/openbb/v1/query/default", {"messages": [{"role": "human", "content": "Hello"}]}),
        "mcp": Request("POST", "/mcp", RPC),
        "feedback": Request("GET", "/v1/feedback?threadId=none"),
        "operator": Request("GET", "/operator/threads"),
        "usage": Request("GET", "/usage/limits"),
    }


def configure(folder: Path, model: int) -> Path:
    """The defaults of the server, two users and an author with a key each, and every face."""
    plugin = folder / "plugins" / "own"
    (plugin / "flows").mkdir(parents=True)
    described = {"id": "own", "name": "Own", "description": "A flow.", "version": "1.0.0"}
    (plugin / "plugin.json").write_text(json.dumps(described))
    step = {"name": "start", "call_type": "llm", "params": {"user_prompt": "{question}"}, "next": "end"}
    flow = {"name": "say", "description": "Says it.", "steps": [step, {"name": "end", "call_type": "none"}]}
    (plugin / "flows" / "say.yaml").write_text(json.dumps(flow))
    url = f"http://127.0.0.1:{model}/v1"
    keys: list[dict[str, object]] = [{"name": key, "key": key, "user": key.split("-")[1]} for key in (ALICE, MALLORY)]
    keys.append({"name": AUTHOR, "key": AUTHOR, "user": "author", "scopes": AUTHOR_SCOPES})
    agent = {"model": "default", "toolboxes": ["plugins"]}
    faces: list[dict[str, object]] = [
        {"type": kind} for kind in ("copilotkit", "openai", "anthropic", "openbb", "operator", "usage")
    ]
    faces += [{"type": "openbb", "path": "/openbb"}]
    faces += [{"type": "ai_sdk", "path": "/api/chat", "agent": "default"}, {"type": "mcp", "agents": ["default"]}]
    configuration = {
        "models": {"default": {"type": "openai", "model": "fake", "base_url": url, "api_key": "sk-fake"}},
        "toolboxes": {"plugins": {"type": "plugins", "folders": [str(folder / "plugins")]}},
        "agents": {"default": agent},
        "faces": faces,
        "access": {"keys": keys},
        "limits": [{"name": "day", "subject": "user", "tokens_per_day": 10**12}],
        "server": {"state_dir": str(folder / "state")},
    }
    file = folder / "rightseat.json"
    file.write_text(json.dumps(configuration))
    return file


@asynccontextmanager
async def process_of(*command: str, nice: int = 0) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=(lambda: os.nice(nice)) if nice else None,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def read_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode().strip()
    if not line:
        raise RuntimeError("a process has ended before it was ready")
    return line


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[str, int]]:
    """The address of a server, and its process id."""
    async with process_of("tests.measure.hostile_attacks", "model") as model:
        file, port = configure(folder, int(await read_line(model))), free_port()
        url = f"http://127.0.0.1:{port}"
        with (folder / "server.log").open("w") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "rightseat", "serve", "--config", str(file), "--port", str(port)),
                stdout=log,
                stderr=log,
            )
            try:
                async with aiohttp.ClientSession() as client:
                    await until(lambda: has_begun(process, client, url), 120)
                if process.returncode is not None:
                    raise RuntimeError((folder / "server.log").read_text())
                yield url, process.pid
            finally:
                with suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()


async def has_begun(process: asyncio.subprocess.Process, client: aiohttp.ClientSession, url: str) -> bool:
    """Whether the server answers, or has ended."""
    return process.returncode is not None or await answers(client, f"{url}/health")


async def ask(client: aiohttp.ClientSession, request: Request) -> bool:
    """Whether the response came, whole, with status 200 and without an error in it."""
    accept = {"accept": "application/json, text/event-stream", "x-api-key": ALICE}
    try:
        async with client.request(request.method, request.path, json=request.body, headers=accept) as response:
            text = await response.text()
            return response.status == 200 and "RUN_ERROR" not in text
    except (aiohttp.ClientError, TimeoutError):
        return False


async def keep_asking(url: str, face: str, seconds: float) -> tuple[list[float], int]:
    """The waits in milliseconds, sorted, and how many requests failed."""
    waits: list[float] = []
    failed = 0
    timeout = aiohttp.ClientTimeout(LONGEST_S)
    end = time.monotonic() + seconds
    async with aiohttp.ClientSession(url, timeout=timeout) as client:
        async for began in Paced(iter(time.monotonic, None), PAUSE_S):
            if began > end:
                break
            failed += not await ask(client, build_requests()[face])
            took = time.monotonic() - began
            waits += [1000 * (took - late * PAUSE_S) for late in range(int(took / PAUSE_S) + 1)]
    return sorted(waits), failed


def percentile_99(waits: Sequence[float]) -> float:
    return waits[min(len(waits) - 1, int(len(waits) * 0.99))]


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


class MemoryWatch:
    """How much a process has grown at most, in MB."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = resident_mb(pid)
        self.growth = 0.0

    async def sample(self) -> None:
        async for _ in Paced(itertools.count(), SAMPLE_S):
            self.growth = max(self.growth, resident_mb(self._pid) - self._before)


@asynccontextmanager
async def watching_memory(pid: int) -> AsyncIterator[MemoryWatch]:
    watch = MemoryWatch(pid)
    task = asyncio.create_task(watch.sample())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def measure(name: str, seconds: float) -> Row:
    attack = ATTACKS[name]
    key = AUTHOR if attack.is_author else MALLORY
    with tempfile.TemporaryDirectory() as folder:
        async with serving(Path(folder)) as (url, pid):
            await keep_asking(url, attack.face, 2)  # the first requests import modules
            alone, failed_alone = await keep_asking(url, attack.face, 5)
            if failed_alone:
                raise RuntimeError(f"{name}: {failed_alone} requests failed before the attack")
            async with (
                process_of("tests.measure.hostile_attacks", name, url, key, nice=10) as attacker,
                watching_memory(pid) as memory,
            ):
                await read_line(attacker)
                waits, failed = await keep_asking(url, attack.face, seconds)
                growth = memory.growth
                assert attacker.stdin is not None
                attacker.stdin.close()
                statuses: dict[str, int] = json.loads(await read_line(attacker))
    return Row(
        name, attack, growth, percentile_99(alone), percentile_99(waits), waits[-1], len(waits), failed, statuses
    )


def write_row(row: Row) -> str:
    answered = ", ".join(f"{count:,} × {status}" for status, count in sorted(row.statuses.items())) or "none"
    delays = f"{row.alone_ms:.0f} | {row.p99_ms:.0f} | {row.worst_ms:.0f} | {row.requests} | {row.failed}"
    return f"| {row.attack.face} | {row.attack.about} | {answered} | {row.growth_mb:.0f} | {delays} |"


async def main(names: Sequence[str], seconds: float) -> int:
    print("| face | attack | its responses | memory, MB | p99 alone, ms | p99, ms | worst, ms | n | failed |")  # noqa: T201
    print("|---|---|---|---|---|---|---|---|---|")  # noqa: T201
    exceeded = []
    for name in names:
        row = await measure(name, seconds)
        print(write_row(row), flush=True)  # noqa: T201
        if row.p99_ms > MAX_DELAY_MS or row.growth_mb > MAX_GROWTH_MB or row.failed:
            exceeded.append(name)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"\n{os.cpu_count()} processors, load {load}. Beyond the bounds: {', '.join(exceeded) or 'none'}.")  # noqa: T201
    return 1 if exceeded else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ATTACKS))
    parser.add_argument("--seconds", type=float, default=15)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.names or list(ATTACKS), given.seconds)))
