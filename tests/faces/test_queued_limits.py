"""Requests that wait for a limit, in each protocol's own form: comments while they wait, then the run or the error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from rightseat.faces._shared import queued_start
from rightseat.faces.openbb import query
from tests.access.examples import run_input
from tests.conftest import Serve
from tests.faces.copilotkit.serving import chat

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
  slow: {{type: scripted, chunk_delay: 60}}
  small: {{type: scripted, chunk_delay: 0}}
agents:
  default: {{}}
  slow: {{model: slow}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: openai, path: /v1}}
  - {{type: openbb, path: /openbb, agent: default}}
  - {{type: ai_sdk, path: /api/chat}}
  - {{type: usage}}
  - {{type: metrics}}
  - {{type: operator}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}"}}
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: ops, key: key-ops, user: ops, scopes: ["*", "usage:*", "operator:*"]}}
limits:
  - {limits}
"""
QUEUE = "{{name: one, subject: user, concurrent_runs: 1, on_exceed: queue, queue: {{wait: {}, most: {}}}}}"
MESSAGE = "The limit 'one' of 1 concurrent run is reached, and waiting for it took too long."
PLAIN: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
SLOW = PLAIN | {"model": "slow", "stream": True}
COMMENT = b": keep-alive\n\n"
UI_MESSAGE = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
EVENTS = {"accept": "text/event-stream"}
STREAMS: dict[str, tuple[str, Any, dict[str, str], bytes, str]] = {
    "chat": ("/v1/chat/completions", PLAIN | {"stream": True}, {}, COMMENT, '"code":"queue_timeout"'),
    "responses": ("/v1/responses", {"model": "default", "input": "Hi", "stream": True}, {}, COMMENT, MESSAGE),
    "agui": ("/copilotkit/agent/default/run", None, {}, COMMENT, '"code":"queue_timeout"'),
    "graphql": ("/copilotkit", chat("Hi"), EVENTS, COMMENT, MESSAGE),
    "graphql multipart": ("/copilotkit", chat("Hi"), {"accept": "multipart/mixed"}, b"\r\n", MESSAGE),
    "openbb": ("/openbb/v1/query", {"messages": [{"role": "human", "content": "Hi"}]}, {}, COMMENT, MESSAGE),
    "ai_sdk": ("/api/chat", {"id": "c1", "messages": [UI_MESSAGE], "trigger": "submit-message"}, {}, COMMENT, MESSAGE),
}
"""By face: the path, the body, headers, the comment, and a part of the error."""


@asynccontextmanager
async def serving(serve: Serve, folder: Path, limits: str) -> AsyncIterator[httpx2.AsyncClient]:
    built = app.build(config.parse(CONFIGURATION.format(folder=folder, limits=limits), environ={}))
    async with (
        asyncio.timeout(60),
        serve(built) as url,
        httpx2.AsyncClient(base_url=url, headers={"x-api-key": "key-alice"}) as client,
    ):
        yield client


@asynccontextmanager
async def busy(
    serve: Serve, folder: Path, wait: float = 1.0, most: int = 5
) -> AsyncIterator[tuple[httpx2.AsyncClient, Any]]:
    """A server on which alice has the one run that she may have. Closing its stream ends it."""
    async with serving(serve, folder, QUEUE.format(wait, most)) as client:
        stream = client.stream("POST", "/v1/chat/completions", json=SLOW)
        await stream.__aenter__()
        try:
            yield client, stream
        finally:
            await stream.__aexit__(None, None, None)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments every 0.2 seconds instead of 5."""
    monkeypatch.setattr(queued_start, "COMMENT_INTERVAL_S", 0.2)
    monkeypatch.setattr(query, "COMMENT_INTERVAL_S", 0.2)


async def count_waiting(client: httpx2.AsyncClient) -> int:
    shown = await client.get("/usage/limits", headers={"x-api-key": "key-ops"})
    return sum(row["waiting"] for row in shown.json()["limits"])


async def until_waiting(client: httpx2.AsyncClient, number: int) -> None:
    while await count_waiting(client) != number:
        pass


@pytest.mark.parametrize("name", list(STREAMS))
@pytest.mark.usefixtures("quick")
async def test_a_stream_that_waits_gets_comments_then_the_error_of_its_protocol(
    name: str, serve: Serve, tmp_path: Path
) -> None:
    path, body, headers, comment, error = STREAMS[name]
    async with busy(serve, tmp_path, wait=2) as (client, _):
        waited = await client.post(path, json=body or run_input(), headers=headers)

    assert waited.status_code == 200
    assert waited.content.startswith(comment * 2)
    assert error in waited.text.replace('": "', '":"')


@pytest.mark.parametrize("name", list(STREAMS))
@pytest.mark.usefixtures("quick")
async def test_a_stream_that_waits_goes_on_when_a_run_ends(name: str, serve: Serve, tmp_path: Path) -> None:
    path, body, headers, comment, _ = STREAMS[name]
    async with (
        busy(serve, tmp_path, wait=20) as (client, running),
        client.stream("POST", path, json=body or run_input(), headers=headers) as response,
    ):
        pieces = response.aiter_bytes()
        received = await anext(pieces)
        await running.__aexit__(None, None, None)
        received += b"".join([piece async for piece in pieces])

    assert response.status_code == 200
    assert received.startswith(comment)
    assert b"queue_timeout" not in received
    assert b"Hi" in received.removeprefix(comment)


async def test_a_request_without_a_stream_is_refused_after_its_time(serve: Serve, tmp_path: Path) -> None:
    async with busy(serve, tmp_path, wait=0.3) as (client, _):
        refused = await client.post("/v1/chat/completions", json=PLAIN)
        operator = await client.post("/operator/agents/default/runs", json={"text": "Hi"}, headers={"x-rightseat": "1"})

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.headers["x-rightseat-limit"] == "one"
    error = refused.json()["error"]
    assert error.pop("message").startswith(MESSAGE)
    assert error == {"type": "requests", "param": None, "code": "queue_timeout"}
    assert (operator.status_code, operator.json()["error"]) == (429, "queue_timeout")


async def test_a_full_queue_refuses_at_once_and_a_client_that_leaves_makes_room(serve: Serve, tmp_path: Path) -> None:
    async with busy(serve, tmp_path, wait=20, most=1) as (client, running):
        leaving = asyncio.create_task(client.post("/v1/chat/completions", json=PLAIN))
        await until_waiting(client, 1)
        full = await client.post("/v1/chat/completions", json=PLAIN)
        leaving.cancel()
        await until_waiting(client, 0)
        staying = asyncio.create_task(client.post("/v1/chat/completions", json=PLAIN))
        await until_waiting(client, 1)
        metrics = (await client.get("/metrics", headers={"x-api-key": "key-ops"})).text
        await running.__aexit__(None, None, None)
        admitted = await staying

    assert (full.status_code, full.json()["error"]["code"]) == (429, "queue_full")
    assert admitted.status_code == 200
    assert 'rightseat_queued{limit="one"} 1.0' in metrics
    assert 'rightseat_queue_seconds_count{limit="one"}' in metrics
    assert "\nrightseat_admission_seconds_count " in metrics


async def test_another_model_answers_beyond_a_limit_that_downgrades(serve: Serve, tmp_path: Path) -> None:
    limit = "{name: first, subject: user, requests_per_day: 1, on_exceed: downgrade, downgrade: small}"
    async with serving(serve, tmp_path, limit) as client:
        first, second = [await client.post("/v1/chat/completions", json=PLAIN) for _ in range(2)]
        response = await client.post("/v1/responses", json={"model": "default", "input": "Hi"})
        id = response.json()["id"]
        stored = await client.get(f"/v1/responses/{id}")
        streamed = await client.get(f"/v1/responses/{id}", params={"stream": "true"})
        next_one = {"model": "default", "input": "And?", "previous_response_id": id}
        continued = await client.post("/v1/responses", json=next_one)
        small = await client.post("/v1/chat/completions", json=PLAIN | {"model": "small"})
        started = await client.post("/operator/agents/default/runs", json={"text": "Hi"}, headers={"x-rightseat": "1"})
        run: dict[str, Any] = {"outcome": "running"}
        while run["outcome"] == "running":
            run = (await client.get(f"/operator/runs/{started.json()['run']}")).json()
        metrics = (await client.get("/metrics", headers={"x-api-key": "key-ops"})).text

    assert (first.json()["model"], first.headers.get("x-rightseat-downgraded")) == ("default", None)
    assert (second.json()["model"], second.headers["x-rightseat-downgraded"]) == ("small", "first")
    assert (response.json()["model"], response.headers["x-rightseat-downgraded"]) == ("small", "first")
    assert stored.json()["model"] == "small"
    assert '"model":"small"' in streamed.text
    assert '"model":"default"' not in streamed.text
    assert (continued.status_code, continued.json()["model"]) == (200, "small")
    assert (small.status_code, small.json()["error"]["code"]) == (429, "budget_exceeded")
    assert run["downgraded"] == {"model": "small", "limit": "first"}
    assert [span["name"] for span in run["spans"] if span["kind"] == "model"] == ["small"]
    assert 'rightseat_downgraded_total{limit="first"}' in metrics
