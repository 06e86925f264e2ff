"""Requests beyond a configured limit, in each protocol's own form, and the headers of those within it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from rightseat import app, config
from tests.access.examples import run_input
from tests.conftest import Serve
from tests.faces.copilotkit.serving import chat

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
agents:
  default: {{tools: ["tests.faces.mcp.tools:add"]}}
  other: {{}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: openai, path: /v1}}
  - {{type: anthropic}}
  - {{type: openbb, path: /openbb, agent: default}}
  - {{type: mcp, path: /mcp, agents: [default]}}
  - {{type: ai_sdk, path: /api/chat}}
  - {{type: operator}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}"}}
prices: {{default: {{input: 1, output: 1}}}}
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: alice too, key: key-alice-too, user: alice}}
    - {{name: bob, key: key-bob, user: bob}}
limits:
  - {limits}
"""
ONE = "{name: tiny, subject: user, match: alice, requests_per_hour: 1}"
MESSAGE = "The limit 'tiny' of 1 request per hour is reached. Try again in "
CHANGING = {"x-rightseat": "1"}
PLAIN = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}


@asynccontextmanager
async def serving(serve: Serve, folder: Path, limits: str = ONE) -> AsyncIterator[tuple[httpx2.AsyncClient, str]]:
    built = app.build(config.parse(CONFIGURATION.format(folder=folder, limits=limits), environ={}))
    async with (
        asyncio.timeout(60),
        serve(built) as url,
        httpx2.AsyncClient(base_url=url, headers={"x-api-key": "key-alice"}) as client,
    ):
        yield client, url


async def test_every_face_refuses_in_its_own_form(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as (client, url):
        first = await client.post("/v1/chat/completions", json=PLAIN)
        completion = await client.post("/v1/chat/completions", json=PLAIN)
        response = await client.post("/v1/responses", json={"model": "default", "input": "Hi"})
        message = await client.post("/anthropic/v1/messages", json={**PLAIN, "max_tokens": 9})
        agui = await client.post("/copilotkit/agent/default/run", json=run_input())
        threads = await client.get("/copilotkit/threads")
        graphql = await client.post("/copilotkit", json=chat("Hi"))
        openbb = await client.post("/openbb/v1/query", json={"messages": [{"role": "human", "content": "Hi"}]})
        hello = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
        ai_sdk = await client.post("/api/chat", json={"id": "c1", "messages": [hello], "trigger": "submit-message"})
        operator = await client.post("/operator/agents/default/runs", json={"text": "Hi"}, headers=CHANGING)
        other_key = await client.post("/v1/chat/completions", json=PLAIN, headers={"x-api-key": "key-alice-too"})
        bob = await client.post("/v1/chat/completions", json=PLAIN, headers={"x-api-key": "key-bob"})
        async with (
            httpx2.AsyncClient(headers={"x-api-key": "key-alice"}) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as mcp,
        ):
            called: Any = await mcp.call_tool("add", {"a": 1, "b": 2})

    assert first.status_code == 200
    assert (first.headers["x-ratelimit-limit-requests"], first.headers["x-ratelimit-remaining-requests"]) == ("1", "0")
    assert first.headers["x-rightseat-limit"] == "tiny"
    for refused in (completion, response):
        assert refused.status_code == 429
        assert 3600 <= int(refused.headers["retry-after"]) <= 4200
        assert refused.headers["x-ratelimit-reset-requests"].startswith("1h")
        error = refused.json()["error"]
        assert error.pop("message").startswith(MESSAGE)
        assert error == {"type": "requests", "param": None, "code": "rate_limit_exceeded"}
    assert (message.status_code, message.json()["error"]["type"]) == (429, "rate_limit_error")
    names = [f"anthropic-ratelimit-requests-{name}" for name in ("limit", "remaining", "reset")]
    most, left, reset = (message.headers[name] for name in names)
    assert (most, left, datetime.fromisoformat(reset) > datetime.now(UTC)) == ("1", "0", True)
    assert "x-ratelimit-limit-requests" not in message.headers
    started, failed = (json.loads(line.removeprefix("data: ")) for line in agui.text.split("\n\n") if line)
    assert (agui.status_code, started["type"], failed["type"]) == (200, "RUN_STARTED", "RUN_ERROR")
    assert failed["code"] == "rate_limit_exceeded"
    assert agui.headers["x-rightseat-limit"] == "tiny"
    assert threads.json()["threads"] == []
    (problem,) = graphql.json()["errors"]
    assert (problem["message"].startswith(MESSAGE), problem["extensions"]["statusCode"]) == (True, 429)
    assert "copilotMessageChunk" in openbb.text
    assert MESSAGE in openbb.text
    assert (ai_sdk.status_code, ai_sdk.text.startswith(MESSAGE)) == (429, True)
    assert (operator.status_code, operator.json()["error"]) == (429, "rate_limit_exceeded")
    assert operator.json()["message"].startswith(MESSAGE)
    assert failed["message"].startswith(MESSAGE)
    assert failed["message"].endswith("The operator of this server sets it under `limits`.")
    assert (other_key.status_code, bob.status_code) == (429, 200)
    assert "x-rightseat-limit" not in bob.headers
    assert called.is_error
    assert called.meta["rightseat/code"] == "rate_limit_exceeded"
    assert called.meta["rightseat/retry_after"] >= 3600
    assert called.content[0].text.startswith(MESSAGE)


async def test_a_key_an_agent_and_an_address_have_counters_of_their_own(serve: Serve, tmp_path: Path) -> None:
    statuses = {}
    other = PLAIN | {"model": "other"}
    for subject, second in (
        ("key", {"headers": {"x-api-key": "key-alice-too"}, "json": PLAIN}),
        ("agent", {"json": other}),
        ("address", {"headers": {"x-forwarded-for": "203.0.113.9"}, "json": PLAIN}),
        ("everyone", {"headers": {"x-api-key": "key-bob"}, "json": other}),
    ):
        limit = f"{{name: one, subject: {subject}, requests_per_day: 1}}"
        async with serving(serve, tmp_path, limit) as (client, _):
            first = await client.post("/v1/chat/completions", json=PLAIN)
            again = await client.post("/v1/chat/completions", json=PLAIN)
            different: Any = await client.post("/v1/chat/completions", **second)
            statuses[subject] = (first.status_code, again.status_code, different.status_code)
            assert again.json()["error"]["type"] == "insufficient_quota"
            assert again.headers["x-should-retry"] == "false"

    # The server trusts a proxy on this machine, so the header names the client.
    assert statuses == {
        "key": (200, 429, 200),
        "agent": (200, 429, 200),
        "address": (200, 429, 200),
        "everyone": (200, 429, 429),
    }


@pytest.mark.parametrize("stream", [True, False])
async def test_a_budget_that_does_not_fit_refuses_before_the_first_token(
    stream: bool, serve: Serve, tmp_path: Path
) -> None:
    limit = "{name: day, subject: user, tokens_per_day: 400}"
    async with serving(serve, tmp_path, limit) as (client, _):
        asked = PLAIN | {"stream": stream}
        fits = await client.post("/v1/chat/completions", json=asked | {"max_tokens": 20})
        too_much = await client.post("/v1/chat/completions", json=asked | {"max_tokens": 300})
        too_large = await client.post("/v1/chat/completions", json=asked | {"max_tokens": 500})

    assert (fits.status_code, fits.headers["x-ratelimit-limit-tokens"]) == (200, "400")
    assert (too_much.status_code, too_much.headers["x-should-retry"]) == (429, "false")
    assert too_much.json()["error"]["code"] == "budget_exceeded"
    assert too_much.json()["error"]["type"] == "insufficient_quota"
    message = too_much.json()["error"]["message"]
    assert re.match(
        r"The budget 'day' of 400 tokens per day has \d+ tokens left, and this call may need \d+ tokens\. "
        r"It opens again at \d{4}-\d\d-\d\d 00:00 \(UTC\)\. The operator of this server sets it under `limits`\.",
        message,
    )
    assert too_large.headers["x-rightseat-limit"] == "day"
    assert (too_large.status_code, too_large.json()["error"]["code"]) == (413, "request_too_large")


async def test_a_repeated_request_that_does_not_start_is_not_counted(serve: Serve, tmp_path: Path) -> None:
    limit = "{name: two, subject: user, requests_per_day: 2}"
    async with serving(serve, tmp_path, limit) as (client, _):
        unknown = await client.post("/copilotkit/agent/nobody/run", json=run_input())
        left = [
            (await client.post("/v1/chat/completions", json=PLAIN)).headers["x-ratelimit-remaining-requests"]
            for _ in range(2)
        ]

    assert unknown.status_code == 404
    assert left == ["1", "0"]


async def test_every_face_ends_a_run_at_the_call_that_does_not_fit_in_its_own_form(
    serve: Serve, tmp_path: Path
) -> None:
    """The first call asks for the tool `add`, and fits; the second one does not."""
    part = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "add"}]}
    said = [{"id": "m1", "role": "user", "content": "add"}]
    asks: dict[str, tuple[str, Any, int]] = {
        "completions": ("/v1/chat/completions", PLAIN | {"messages": said, "stream": True}, 300),
        "responses": ("/v1/responses", {"model": "default", "input": "add", "stream": True}, 300),
        "ai_sdk": ("/api/chat", {"id": "c1", "messages": [part], "trigger": "submit-message"}, 300),
        "agui": ("/copilotkit/agent/default/run", run_input() | {"messages": said}, 300),
        "openbb": ("/openbb/v1/query", {"messages": [{"role": "human", "content": "add"}]}, 650),
    }
    ends: dict[str, Any] = {}
    for name, (path, body, most) in asks.items():
        limit = f"{{name: day, subject: user, tokens_per_day: {most}}}\nlimits_reserve: {{default: 50}}"
        async with serving(serve, tmp_path / name, limit) as (client, _):
            text = (await client.post(path, json=body)).text
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        ends[name] = json.loads(data[-1] if data else text)  # without any data before, the response is a refusal

    messages = {
        "completions": ends["completions"]["error"].pop("message"),
        "responses": ends["responses"]["response"]["error"]["message"],
        "ai_sdk": ends["ai_sdk"].pop("errorText"),
        "agui": ends["agui"].pop("message"),
        "openbb": ends["openbb"].pop("delta").strip(),
    }
    assert ends["completions"]["error"] == {"type": "insufficient_quota", "param": None, "code": "budget_exceeded"}
    assert ends["responses"]["type"] == "response.failed"
    assert ends["ai_sdk"] == {"type": "error"}
    assert ends["agui"] == {"type": "RUN_ERROR", "code": "budget_exceeded"}
    for text in messages.values():
        assert re.fullmatch(r"The budget 'day' of .* left, and .* It opens again at .* sets it under `limits`\.", text)
