"""The usage of a flow is the sum of its model calls in every face: those that choose, fill in and word, too."""

import importlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from rightseat.core.model import Chunk, Prompt, StopChunk, UsageChunk
from tests.faces.ai_sdk import serving as ai_sdk
from tests.faces.copilotkit import serving as graphql
from tests.faces.copilotkit.current.serving import asking, visiting
from tests.faces.openai.serving import sdk
from tests.faces.openbb import serving as openbb
from tests.faces.plugged import EXAMPLE, WEATHER, plugged

FACES = [
    {"type": "copilotkit"},
    {"type": "openai", "path": "/v1"},
    {"type": "openbb", "path": "/openbb"},
    {"type": "ai_sdk"},
    {"type": "mcp", "agents": ["tools"]},
    {"type": "operator"},
    {"type": "usage"},
]
AGENTS = {"default": {"type": "flows", "toolbox": "ops"}, "tools": {"type": "loop", "toolboxes": ["ops"]}}
LIMITS = [{"name": "many", "subject": "everyone", "tokens_per_day": 1_000_000}]
QUESTION: Any = [{"role": "user", "content": WEATHER}]

Counts = list[tuple[int, int]]
Reported = tuple[int, int] | None


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """The usage that the model of the example reports: another for each call, so that no two sums are the same."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    demo: Any = importlib.import_module("ops.demo_model").DemoModel
    stream = demo.stream
    reported: Counts = []

    async def counting(model: Any, prompt: Prompt) -> AsyncIterator[Chunk]:
        usage = 100 * 2 ** len(reported), 2 ** len(reported)
        reported.append(usage)
        async for chunk in stream(model, prompt):
            if isinstance(chunk, StopChunk):
                yield UsageChunk(*usage)
            yield chunk

    monkeypatch.setattr(demo, "stream", counting)
    return reported


async def by_chat_completion(url: str) -> Reported:
    async with sdk(url) as client:
        said = await client.chat.completions.create(model="default", messages=QUESTION)
    assert said.usage is not None
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens
    return said.usage.prompt_tokens, said.usage.completion_tokens


async def by_streamed_chat_completion(url: str) -> Reported:
    async with sdk(url) as client:
        streamed = await client.chat.completions.create(
            model="default",
            messages=QUESTION,
            stream=True,
            stream_options={"include_usage": True},
        )
        (usage,) = [chunk.usage async for chunk in streamed if chunk.usage is not None]
    return usage.prompt_tokens, usage.completion_tokens


async def by_response(url: str) -> Reported:
    async with sdk(url) as client:
        said = await client.responses.create(model="default", input=WEATHER)
    assert said.usage is not None
    return said.usage.input_tokens, said.usage.output_tokens


async def by_streamed_response(url: str) -> Reported:
    async with sdk(url) as client:
        streamed = await client.responses.create(model="default", input=WEATHER, stream=True)
        (last,) = [event async for event in streamed if event.type == "response.completed"]
    assert last.response.usage is not None
    return last.response.usage.input_tokens, last.response.usage.output_tokens


async def by_agui(url: str) -> Reported:
    async with visiting(url) as client:
        await client.post("/agent/default/run", json=asking(WEATHER))
    return None


async def by_graphql(url: str) -> Reported:
    await graphql.post(url, graphql.chat(WEATHER))
    return None


async def by_openbb(url: str) -> Reported:
    await openbb.ask(f"{url}/openbb", openbb.question(text=WEATHER))
    return None


async def by_ai_sdk(url: str) -> Reported:
    await ai_sdk.send(url, ai_sdk.user(WEATHER))
    return None


async def by_mcp(url: str) -> Reported:
    async with httpx2.AsyncClient() as http, Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
        called = await client.call_tool("weather_forecast", {"question": WEATHER})
    assert not called.is_error
    return None


@pytest.mark.parametrize(
    ("send", "min_calls"),
    [
        (by_chat_completion, 3),
        (by_streamed_chat_completion, 3),
        (by_response, 3),
        (by_streamed_response, 3),
        (by_agui, 4),  # it words suggestions as well
        (by_graphql, 3),
        (by_openbb, 3),
        (by_ai_sdk, 3),
        (by_mcp, 1),  # its client chose the flow, and words the answer
    ],
)
async def test_the_usage_of_a_flow_is_the_sum_of_its_model_calls(
    send: Callable[[str], Awaitable[Reported]],
    min_calls: int,
    counts: Counts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "rightseat.runs")
    async with plugged(tmp_path, monkeypatch, faces=FACES, agents=AGENTS, limits=LIMITS) as url:
        reported = await send(url)
        async with httpx2.AsyncClient(base_url=url) as client:
            runs = (await client.get("/operator/runs")).json()["runs"]
            (row,) = (await client.get("/usage", params={"by": "user"})).json()["rows"]

    assert len(counts) >= min_calls
    total = sum(given for given, _ in counts), sum(written for _, written in counts)
    logged = re.findall(r"(\d+) tokens in, (\d+) tokens out", caplog.text)
    assert len(runs) == len(logged) == (0 if send is by_mcp else 1)  # a call of a tool is not a run
    assert (row["input_tokens"], row["output_tokens"]) == total
    assert reported in (None, total)
    assert [(run["tokens"]["in"], run["tokens"]["out"]) for run in runs] in ([], [total])
    assert [(int(given), int(written)) for given, written in logged] in ([], [total])
