"""A run that is refused because its user has too many, in each protocol's own form."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from rightseat import app, config
from tests.access.examples import run_input
from tests.conftest import Serve
from tests.faces.copilotkit.serving import chat

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
  slow: {{type: scripted, chunk_delay: 60}}
agents:
  default: {{tools: ["tests.faces.mcp.tools:add"]}}
  slow: {{model: slow}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: openai, path: /v1}}
  - {{type: openbb, path: /openbb, agent: default}}
  - {{type: mcp, path: /mcp, agents: [default]}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}", max_concurrent_runs_per_user: 1}}
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: alice too, key: key-alice-too, user: alice}}
    - {{name: bob, key: key-bob, user: bob}}
"""
MESSAGE = "The limit of 1 concurrent runs per user is reached."
BUSY = {"model": "slow", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
PLAIN = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}


@asynccontextmanager
async def busy(serve: Serve, folder: Path) -> AsyncIterator[tuple[httpx2.AsyncClient, str]]:
    """A server on which alice has the one run that she may have, by another key of hers."""
    built = app.build(config.parse(CONFIGURATION.format(folder=folder), environ={}))
    async with (
        asyncio.timeout(60),
        serve(built) as url,
        httpx2.AsyncClient(base_url=url, headers={"x-api-key": "key-alice"}) as client,
        client.stream("POST", "/v1/chat/completions", json=BUSY, headers={"x-api-key": "key-alice-too"}),
    ):
        yield client, url


async def test_openai_is_answered_with_429_in_its_form(serve: Serve, tmp_path: Path) -> None:
    async with busy(serve, tmp_path) as (client, _):
        refused = await client.post("/v1/chat/completions", json=PLAIN)
        other = await client.post("/v1/chat/completions", json=PLAIN, headers={"x-api-key": "key-bob"})

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    error = refused.json()["error"]
    assert error.pop("message").startswith(MESSAGE)
    assert error == {"type": "requests", "param": None, "code": "concurrency_limit_exceeded"}
    assert other.status_code == 200


@pytest.mark.parametrize("path", ["run", "suggest"])
async def test_agui_is_answered_with_a_run_that_failed_and_is_not_kept(path: str, serve: Serve, tmp_path: Path) -> None:
    async with busy(serve, tmp_path) as (client, _):
        refused = await client.post(f"/copilotkit/agent/default/{path}", json=run_input())
        threads = await client.get("/copilotkit/threads")

    assert refused.status_code == 200
    assert refused.headers["content-type"].startswith("text/event-stream")
    started, failed = (json.loads(line.removeprefix("data: ")) for line in refused.text.split("\n\n") if line)
    assert started["type"] == "RUN_STARTED"
    assert (failed["type"], failed["code"]) == ("RUN_ERROR", "concurrency_limit_exceeded")
    assert failed["message"].startswith(MESSAGE)
    assert threads.json()["threads"] == []


async def test_graphql_is_answered_as_with_its_other_failures(serve: Serve, tmp_path: Path) -> None:
    async with busy(serve, tmp_path) as (client, _):
        refused = await client.post("/copilotkit", json=chat("Hi"))

    assert refused.status_code == 200
    (error,) = refused.json()["errors"]
    assert error["message"].startswith(MESSAGE)
    assert error["extensions"]["statusCode"] == 429


async def test_openbb_shows_the_refusal_in_the_chat(serve: Serve, tmp_path: Path) -> None:
    async with busy(serve, tmp_path) as (client, _):
        refused = await client.post("/openbb/v1/query", json={"messages": [{"role": "human", "content": "Hi"}]})

    assert refused.status_code == 200
    assert "copilotMessageChunk" in refused.text
    assert MESSAGE in refused.text


async def test_mcp_gets_a_result_that_is_an_error(serve: Serve, tmp_path: Path) -> None:
    async with (
        busy(serve, tmp_path) as (_, url),
        httpx2.AsyncClient(headers={"x-api-key": "key-alice"}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        result: Any = await client.call_tool("add", {"a": 1, "b": 2})

    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert block.text.startswith(MESSAGE)
    assert result.meta["rightseat/code"] == "concurrency_limit_exceeded"
    assert result.meta["rightseat/retry_after"] == 1


async def test_a_client_that_goes_away_frees_the_slot(serve: Serve, tmp_path: Path) -> None:
    built = app.build(config.parse(CONFIGURATION.format(folder=tmp_path), environ={}))
    async with (
        asyncio.timeout(60),
        serve(built) as url,
        httpx2.AsyncClient(base_url=url, headers={"x-api-key": "key-alice"}) as client,
    ):
        async with client.stream("POST", "/v1/chat/completions", json=BUSY):
            assert (await client.post("/v1/chat/completions", json=PLAIN)).status_code == 429
        while (await client.post("/v1/chat/completions", json=PLAIN)).status_code == 429:
            pass  # until the server has noticed
