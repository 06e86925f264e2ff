"""Durable runs of `rightseat serve --workers` on SQLite files: a worker is killed, another one continues."""

import asyncio
import json
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cli.server_process import WAIT_S
from tests.cli.test_workers import run_serve, serving
from tests.conditions import until

pytestmark = pytest.mark.whole

RUNS = 6
CONFIGURATION: dict[str, object] = {
    "models": {"default": {"type": "scripted", "chunk_delay": 0.1}},
    "agents": {"default": {"model": "default", "durable": True, "tools": ["refunds:approve_refund"]}},
    "engine": {"type": "dbos"},
    "faces": [{"type": "copilotkit"}, {"type": "openai"}, {"type": "metrics"}],
    "server": {"shutdown_timeout": 20},
}

TOOL = """
from rightseat.toolboxes.functions import tool

@tool(description="refund an order", approval="Refund the order?")
async def approve_refund(order: str) -> str:
    return f"{order} is refunded."
"""

Event = dict[str, Any]


@pytest.fixture(autouse=True)
def tools(folder: Path) -> None:
    (folder / "refunds.py").write_text(TOOL)


class Client:
    """Every request has a connection of its own, which the kernel gives to either worker."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/copilotkit"
        self._connector = aiohttp.TCPConnector(force_close=True, limit=0)
        self.session = aiohttp.ClientSession(connector=self._connector, timeout=aiohttp.ClientTimeout(WAIT_S))
        self._deltas: Counter[str] = Counter()

    async def until_text(self, way: str, threads: list[str]) -> None:
        """Until some text was received of the runs of all threads in this way, "run" or "follow"."""
        await until(lambda: all(self._deltas[f"{way} {thread}"] for thread in threads))

    async def run(self, thread: str, text: str, **more: object) -> list[Event]:
        """The events until the stream ends or breaks off."""
        body: dict[str, object] = {
            "threadId": thread,
            "runId": f"run-{thread}",
            "state": {},
            "tools": [],
            "context": [],
        }
        body |= {"forwardedProps": {}, "messages": [{"id": f"m-{thread}", "role": "user", "content": text}], **more}
        return await self._read(f"run {thread}", self.session.post(f"{self._url}/agent/default/run", json=body))

    async def follow(self, thread: str) -> list[Event]:
        return await self._read(f"follow {thread}", self.session.get(f"{self._url}/threads/{thread}/stream"))

    async def _read(self, name: str, request: Any) -> list[Event]:
        found = b""
        with suppress(aiohttp.ClientError):  # its worker was killed
            async with request as response:
                async for line in response.content:
                    found += line
                    self._deltas[name] += b"TEXT_MESSAGE_CONTENT" in line
        return [json.loads(line[6:]) for line in found.splitlines() if line.startswith(b"data: ")]


def text_of(events: list[Event]) -> str:
    """What a client shows: a snapshot replaces everything before it."""
    texts: dict[str, str] = {}
    for event in events:
        if event["type"] == "MESSAGES_SNAPSHOT":
            texts = {one["id"]: one["content"] for one in event["messages"] if one["role"] == "assistant"}
        elif event["type"] == "TEXT_MESSAGE_CONTENT":
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    return "".join(texts.values())


def test_durable_runs_of_a_killed_worker_are_continued_by_another(folder: Path) -> None:
    async def work(url: str, pid: int) -> list[list[Event]]:
        client = Client(url)
        async with client.session:
            threads = [f"t{number}" for number in range(RUNS)]
            starting = [asyncio.create_task(client.run(thread, "Hello")) for thread in threads]
            await client.until_text("run", threads)
            following = [asyncio.create_task(client.follow(thread)) for thread in threads]
            await client.until_text("follow", threads)
            os.kill(pid, signal.SIGKILL)
            await asyncio.gather(*starting, *following)
            return [await client.follow(thread) for thread in threads]

    with serving(CONFIGURATION) as (_, url, pids):
        final = asyncio.run(work(url, pids[0]))

    texts = {text_of(events) for events in final}
    assert [events[-1]["type"] for events in final] == ["RUN_FINISHED"] * RUNS
    assert len(texts) == 1
    assert texts.pop().endswith("call it: approve_refund.")


@pytest.mark.night  # the contracts of stores answer a question on another server in one process
def test_a_question_that_one_worker_asked_is_answered_at_any(folder: Path) -> None:
    async def work(url: str) -> list[list[Event]]:
        client = Client(url)
        async with client.session:
            return [await ask_and_approve(client, f"t{number}") for number in range(RUNS)]

    with serving(CONFIGURATION) as (_, url, _):
        found = asyncio.run(work(url))

    assert [events[-1]["type"] for events in found] == ["RUN_FINISHED"] * RUNS
    assert all("is refunded." in text_of(events) for events in found)


async def ask_and_approve(client: Client, thread: str) -> list[Event]:
    asked = await client.run(thread, "approve_refund order 7")
    [question] = asked[-1]["outcome"]["interrupts"]
    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
    return await client.run(thread, "approve_refund order 7", resume=[answer])


@pytest.mark.night  # test_workers replaces workers whose streams end first; the suite faults kills servers
def test_a_rolling_restart_keeps_streams_that_can_be_resumed(folder: Path) -> None:
    async def work(url: str, supervisor: Any) -> list[list[Event]]:
        client = Client(url)
        async with client.session:
            threads = [f"t{number}" for number in range(RUNS)]
            starting = [asyncio.create_task(client.run(thread, "Hello")) for thread in threads]
            await client.until_text("run", threads)
            supervisor.send_signal(signal.SIGHUP)
            await asyncio.gather(*starting)
            return [await client.follow(thread) for thread in threads]

    slow = {"default": {"type": "scripted", "chunk_delay": 0.7}}  # no run ends before its worker is replaced
    with serving(CONFIGURATION | {"models": slow, "server": {"shutdown_timeout": 1}}) as (server, url, _):
        found = asyncio.run(work(url, server.process))
        server.wait_for("All workers were replaced.")

    assert [events[-1]["type"] for events in found] == ["RUN_FINISHED"] * RUNS
    assert {text_of(events)[-15:] for events in found} == {"approve_refund."}


def test_a_server_with_workers_owns_its_file(folder: Path) -> None:
    with serving(CONFIGURATION):
        single, several = run_serve("--port", "0"), run_serve("--workers", "2", "--port", "0")

    assert "is in use by another rightseat." in single.stderr
    assert "is in use by another rightseat." in several.stderr
