"""Servers that are killed in the middle of a real model's answer: a real llama-server with SmolLM2, in real processes.

Whoever reads along gets one message, whose text is whole. What the backend was asked is written down on the way to it.
"""

import asyncio
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conditions import Paced, until
from tests.databases import migrated_database
from tests.faces.copilotkit import urql
from tests.faces.copilotkit.recorded import ACCEPT
from tests.faces.copilotkit.serving import chat
from tests.local_models import require_llama_server
from tests.services import REDIS, keys

pytestmark = [pytest.mark.backends, pytest.mark.whole]

ROOT = Path(__file__).parents[2]
STORY = "Tell me a long story about a small robot and its garden."
TOKENS = 150
LEASE = 2.0


@dataclass
class Tap:
    """Hands on what the backend is asked, a little slower than it answers, and keeps it."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    again: asyncio.Event = field(default_factory=asyncio.Event)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
async def backend() -> AsyncIterator[Tap]:
    found, port = require_llama_server(), free_port()
    command = [str(found.binary()), "-m", str(found.model("smollm2")), "--host", "127.0.0.1", "--port", str(port)]
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, "-t", "1", "-c", "4096", "-np", "2", "--jinja", stdout=nowhere, stderr=nowhere
    )
    tap = Tap()
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            await until(lambda: is_healthy(client), 120)
        async with await asyncio.start_server(lambda r, w: hand_on(tap, port, r, w), "127.0.0.1", 0) as server:
            tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield tap
    finally:
        process.kill()
        await process.wait()


async def is_healthy(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/health")).status_code == 200
    except httpx2.TransportError:
        return False


async def hand_on(tap: Tap, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, for one request after another."""
    there, to = await asyncio.open_connection("127.0.0.1", port)

    async def back() -> None:
        async for _ in Paced(count(), 0.01):
            if not (piece := await there.read(2048)):
                return
            writer.write(piece)
            await writer.drain()

    answering = asyncio.create_task(back())
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int((re.findall(rb"content-length: *(\d+)", head.lower()) or [b"0"])[0])
            body = await reader.readexactly(length)
            if b"/completion" in head.splitlines()[0]:
                tap.asked.append(json.loads(body))
                if len(tap.asked) > 1:
                    tap.again.set()
            to.write(head + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # whoever asked is gone
    finally:
        answering.cancel()
        to.close()
        writer.close()


def configuration(backend: Tap, folder: Path) -> dict[str, Any]:
    model = {"type": "completion", "backend": {"type": "llama_cpp", "url": backend.url}}
    return {
        "engine": {"type": "dbos"},
        "models": {"default": {**model, "temperature": 0, "max_tokens": TOKENS}},
        "agents": {name: {"model": "default", "durable": True} for name in ("default", "teller")},
        "faces": [{"type": "copilotkit"}, {"type": "openai"}, {"type": "openbb"}],
        "server": {"state_dir": str(folder)},
    }


@asynccontextmanager
async def serving(whole: dict[str, Any], folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    port = free_port()
    file = folder / f"{port}.yaml"
    file.write_text(json.dumps(whole))  # JSON is YAML
    command = [sys.executable, "-m", "rightseat", "serve", "--config", str(file), "--port", str(port)]
    with (folder / "errors").open("ab") as errors:
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=errors, stderr=errors)
    url = f"http://127.0.0.1:{port}"
    try:
        async with httpx2.AsyncClient(base_url=url) as client:

            async def is_serving() -> bool:
                assert process.returncode is None, (folder / "errors").read_text()
                return await is_healthy(client)

            await until(is_serving, 60)
        yield process, url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def events_of(answer: httpx2.Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of a stream, with the id of the last entry that was seen whole."""
    last = ""
    async for line in answer.aiter_lines():
        if line.startswith("id:"):
            last = line.removeprefix("id:").strip()
        elif line.startswith("data:"):
            yield last, json.loads(line.removeprefix("data:"))


def question(run: str = "r") -> dict[str, Any]:
    said = [{"id": "u", "role": "user", "content": STORY}]
    return {
        "threadId": "t",
        "runId": run,
        "state": {},
        "messages": said,
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


async def first_half(
    url: str, process: asyncio.subprocess.Process, attempts: int = 1
) -> tuple[str, list[dict[str, Any]]]:
    """What a client sees of the answer until its server is killed, and the id of the last entry.

    It tries again as long as the model is being loaded.
    """
    async for attempt in Paced(range(attempts), 0.5):
        last, seen = await heard(url, process, f"r{attempt}")
        if seen[-1]["type"] != "RUN_ERROR":
            break
    return last, seen


async def heard(url: str, process: asyncio.subprocess.Process, run: str) -> tuple[str, list[dict[str, Any]]]:
    seen: list[dict[str, Any]] = []
    last = ""
    try:
        async with (
            httpx2.AsyncClient(base_url=url, timeout=60) as client,
            client.stream("POST", "/copilotkit/agent/default/run", json=question(run)) as answer,
        ):
            assert answer.status_code == 200
            async for last, event in events_of(answer):  # noqa: B007  # the last one is wanted
                seen.append(event)
                if sum(one["type"] == "TEXT_MESSAGE_CONTENT" for one in seen) == 30:
                    process.kill()
    except httpx2.TransportError:
        pass
    return last, seen


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


async def test_a_client_that_comes_back_gets_the_rest_in_the_same_message(backend: Tap, tmp_path: Path) -> None:
    whole = configuration(backend, tmp_path / "state")
    async with asyncio.timeout(50):
        async with serving(whole, tmp_path) as (process, url):
            last, before = await first_half(url, process)
        async with serving(whole, tmp_path) as (_, url), httpx2.AsyncClient(base_url=url, timeout=60) as client:
            async with client.stream("GET", "/copilotkit/threads/t/stream", headers={"last-event-id": last}) as answer:
                after = [event async for _, event in events_of(answer)]
            async with client.stream("GET", "/copilotkit/threads/t/stream") as answer:
                late = [event async for _, event in events_of(answer)]
            kept = (await client.get("/copilotkit/threads/t/messages")).json()["messages"]

    kinds = [event["type"] for event in [*before, *after]]
    assert kinds.count("TEXT_MESSAGE_START") == kinds.count("TEXT_MESSAGE_END") == 1
    assert "MESSAGES_SNAPSHOT" not in kinds
    assert kinds[-1] == "RUN_FINISHED"
    told = text_of(before) + text_of(after)
    assert [message["content"] for message in kept] == [STORY, told]
    assert text_of(late) == told or told in json.dumps(late, ensure_ascii=False)
    first, second = backend.asked
    begun = second["prompt"].removeprefix(first["prompt"])
    assert begun
    assert told.startswith(begun)
    assert len(told) > len(begun)
    assert second["n_predict"] < first["n_predict"] == TOKENS


async def test_a_run_waits_for_a_backend_that_died_with_its_server(tmp_path: Path) -> None:
    """The server started it, and starts it anew."""
    found = require_llama_server()
    backend = {"type": "llama_cpp", "model": str(found.model("smollm2")), "binary": str(found.binary()), "threads": 1}
    whole = configuration(Tap("http://unused"), tmp_path / "state")
    whole["models"]["default"]["backend"] = backend
    async with asyncio.timeout(50):
        async with serving(whole, tmp_path) as (process, url):
            last, before = await first_half(url, process, attempts=40)
        async with (
            serving(whole, tmp_path) as (_, url),
            httpx2.AsyncClient(base_url=url, timeout=60) as client,
            client.stream("GET", "/copilotkit/threads/t/stream", headers={"last-event-id": last}) as answer,
        ):
            after = [event async for _, event in events_of(answer)]

    kinds = [event["type"] for event in [*before, *after]]
    assert kinds.count("TEXT_MESSAGE_START") == kinds.count("TEXT_MESSAGE_END") == 1
    assert kinds[-1] == "RUN_FINISHED"
    assert text_of(after)


def told_in_agui(body: bytes) -> list[str]:
    events = [json.loads(line.removeprefix(b"data:")) for line in body.splitlines() if line.startswith(b"data:")]
    ids = {event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"}
    return [text_of([event for event in events if event.get("messageId") == id]) for id in ids]


def told_in_graphql(body: bytes) -> list[str]:
    said = urql.merge(urql.parts(body))["generateCopilotResponse"]["messages"]
    return ["".join(message["content"]) for message in said if "content" in message]


Told = Callable[[bytes], list[str]]


@pytest.mark.parametrize(
    ("path", "body", "piece", "told"),
    [
        pytest.param("/copilotkit/agent/default/run", question(), b"TEXT_MESSAGE_CONTENT", told_in_agui, id="agui"),
        pytest.param("/copilotkit", chat(STORY, thread="t", agent="teller"), b'"items"', told_in_graphql, id="graphql"),
    ],
)
async def test_a_client_of_a_server_that_slept_sees_how_another_went_on(
    path: str, body: dict[str, Any], piece: bytes, told: Told, backend: Tap, tmp_path: Path
) -> None:
    """Its run was taken over meanwhile; its connection lived on, and reads what the other one writes.

    The runs of OpenAI's and OpenBB's clients belong to one request, and are not durable.
    """
    async with asyncio.timeout(50), migrated_database() as database, keys() as prefix:
        shared = {
            "threads": {"type": "sql", "url": database, "lease_seconds": LEASE},
            "log": {"type": "redis", "url": REDIS, "prefix": prefix},
            "engine": {"type": "dbos", "url": database},
        }
        one, two = (configuration(backend, tmp_path / name) | shared for name in ("one", "two"))
        async with serving(one, tmp_path) as (process, url), serving(two, tmp_path):
            read, wakes = b"", list[asyncio.Task[None]]()
            async with (
                httpx2.AsyncClient(base_url=url, timeout=60) as client,
                client.stream("POST", path, json=body, headers={"accept": f"{ACCEPT}, text/event-stream"}) as answer,
            ):
                assert answer.status_code == 200
                async for some in answer.aiter_bytes():
                    read += some
                    if read.count(piece) >= 30 and not wakes:
                        process.send_signal(signal.SIGSTOP)
                        wakes.append(asyncio.create_task(wake(process, backend)))
            await asyncio.gather(*wakes)

    assert len(backend.asked) == 2, read
    first, second = backend.asked
    (text,), begun = told(read), second["prompt"].removeprefix(first["prompt"])
    assert begun
    assert text.startswith(begun)
    assert len(text) > len(begun)


async def wake(process: asyncio.subprocess.Process, backend: Tap) -> None:
    """Once another server has asked the backend to go on."""
    await backend.again.wait()
    os.kill(process.pid, signal.SIGCONT)
