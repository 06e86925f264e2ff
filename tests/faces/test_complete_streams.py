"""No stream ends without the end or the error of its protocol, whatever happens to the log, the store or the disk."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from rightseat import app, config, sqlite_writer
from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask
from rightseat.faces._shared import queued_start, run_response
from rightseat.faces.openbb import query
from tests.access.examples import run_input
from tests.conftest import Serve
from tests.faces.copilotkit.serving import chat

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0.02}}
agents:
  default: {{}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: openai, path: /v1}}
  - {{type: openbb, path: /openbb, agent: default}}
  - {{type: ai_sdk, path: /api/chat}}
server: {{state_dir: "{folder}"}}
{parts}
"""
QUESTION = "one two three four five six seven eight nine ten"
PLAIN: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
UI_MESSAGE = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}
EVENTS = {"accept": "text/event-stream"}
MULTIPART = {"accept": "multipart/mixed"}


class Stream(NamedTuple):
    """A request; patterns of a body that ended, and of one that ended with an error."""

    path: str
    body: Any
    end: str
    error: str
    headers: dict[str, str] | None = None


STREAMS = {
    "chat": Stream("/v1/chat/completions", PLAIN, r'data: (\[DONE\]|\{"error":\{[^\n]*)\n\n$', r'data: \{"error":\{'),
    "responses": Stream(
        "/v1/responses",
        {"model": "default", "input": QUESTION, "stream": True},
        r"event: response\.(completed|failed)\n[^\n]+\n\n$",
        r"event: response\.failed\n",
    ),
    "agui": Stream(
        "/copilotkit/agent/default/run",
        run_input() | {"messages": [{"id": "m1", "role": "user", "content": QUESTION}]},
        r'"type":"RUN_(FINISHED|ERROR)"[^\n]*\n\n$',
        r'"type":"RUN_ERROR"',
    ),
    "graphql": Stream("/copilotkit", chat(QUESTION), r"event: complete\ndata:\n\n$", r"FailedResponseStatus", EVENTS),
    "graphql multipart": Stream("/copilotkit", chat(QUESTION), r"-----\r\n$", r"FailedResponseStatus", MULTIPART),
    "openbb": Stream(
        "/openbb/v1/query",
        {"messages": [{"role": "human", "content": QUESTION}]},
        r"\n\n$",
        r'"delta":"(\\n\\n|Something went wrong)',
    ),
    "ai_sdk": Stream(
        "/api/chat",
        {"id": "c1", "messages": [UI_MESSAGE], "trigger": "submit-message"},
        r"data: \[DONE\]\n\n$",
        r'"type":"error"',
    ),
}


@asynccontextmanager
async def serving(serve: Serve, folder: Path, parts: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    built = app.build(config.parse(CONFIGURATION.format(folder=folder, parts=parts), environ={}))
    async with asyncio.timeout(60), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        yield client


@pytest.mark.parametrize("failure", ["expired", "unreachable", "locked", "ended"])
@pytest.mark.parametrize("name", list(STREAMS))
async def test_a_stream_whose_log_fails_ends_with_the_error_of_its_protocol(
    name: str, failure: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_response, "LOST_LOG_TIMEOUT_S", 0.1)
    stream = STREAMS[name]
    parts = f"log: {{type: tests.faces.broken_log, failure: {failure}}}\nthreads: {{type: memory}}"
    async with serving(serve, tmp_path, parts) as client:
        response = await client.post(stream.path, json=stream.body, headers=stream.headers)

    assert response.status_code == 200
    assert re.search(stream.error, response.text), response.text[-500:]
    assert re.search(stream.end, response.text), response.text[-500:]


STORED = ["agui", "ai_sdk", "responses"]
"""Streams of runs that are written to the disk."""


async def test_a_stream_waits_while_another_connection_locks_the_file(serve: Serve, tmp_path: Path) -> None:
    stream = STREAMS["agui"]
    async with serving(serve, tmp_path) as client:
        body = await read_while_locked(client, stream, tmp_path / "rightseat.db", seconds=11)

    assert not re.search(stream.error, body), body[-500:]
    assert re.search(stream.end, body), body[-500:]
    assert "ten" in body


@pytest.mark.parametrize("name", STORED)
async def test_a_stream_ends_with_an_error_if_the_file_is_locked_for_too_long(
    name: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_S", 0.3)
    stream = STREAMS[name]
    async with serving(serve, tmp_path) as client:
        body = await read_while_locked(client, stream, tmp_path / "rightseat.db", seconds=3)

    assert re.search(stream.error, body), body[-500:]
    assert re.search(stream.end, body), body[-500:]


async def read_while_locked(client: httpx2.AsyncClient, stream: Stream, file: Path, seconds: float) -> str:
    """The body of a stream during which another connection locks the file."""
    body = ""
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        async with client.stream("POST", stream.path, json=stream.body, headers=stream.headers) as response:
            async for text in response.aiter_text():
                body += text
                if "three" in body and not other.in_transaction and seconds:
                    other.execute("BEGIN IMMEDIATE")
                    asyncio.get_running_loop().call_later(seconds, other.execute, "ROLLBACK")
                    seconds = 0
    return body


@pytest.mark.parametrize("name", list(STREAMS))
async def test_a_queued_stream_whose_run_cannot_start_ends_with_the_error_of_its_protocol(
    name: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued_start, "COMMENT_INTERVAL_S", 0.05)
    monkeypatch.setattr(query, "COMMENT_INTERVAL_S", 0.05)
    has_begun = asyncio.Event()

    async def fail(ask: Ask, artifact: StoredArtifact | None = None) -> Ask:
        await has_begun.wait()
        raise RuntimeError("a part that fails")

    stream = STREAMS[name]
    limit = "{name: one, subject: user, concurrent_runs: 1, on_exceed: queue, queue: {wait: 5, most: 5}}"
    found = config.parse(CONFIGURATION.format(folder=tmp_path, parts=f"limits:\n  - {limit}"), environ={})
    assembly = app.assemble(found)
    monkeypatch.setattr(assembly.runtime, "start", fail)
    async with (
        asyncio.timeout(60),
        serve(app.application(assembly, found.server)) as url,
        httpx2.AsyncClient(base_url=url) as client,
        client.stream("POST", stream.path, json=stream.body, headers=stream.headers) as response,
    ):
        body = ""
        async for text in response.aiter_text():
            body += text
            has_begun.set()

    assert re.search(stream.error, body), body[-500:]
    assert re.search(stream.end, body), body[-500:]


async def test_a_run_whose_log_has_no_end_is_sent_with_the_outcome_that_the_store_has(
    serve: Serve, tmp_path: Path
) -> None:
    stream = STREAMS["agui"]
    parts = "log: {type: tests.faces.broken_log, failure: unread end}\nthreads: {type: memory}"
    async with serving(serve, tmp_path, parts) as client:
        await client.post(stream.path, json=stream.body)
        again = await client.post("/copilotkit/agent/default/connect", json=stream.body)

    assert again.text.count('"type":"RUN_FINISHED"') == 1
    assert re.search(stream.end, again.text), again.text[-500:]
