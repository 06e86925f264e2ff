"""The spans, totals and cost of runs in the operator API, with real tools and a real flow."""

import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rightseat.core.events import Event, SpanEnded, SpanStarted
from rightseat.core.stream import codec
from rightseat.testing import check_order
from tests.conftest import Serve
from tests.faces.operator.test_lists import get, run
from tests.faces.operator.test_operator import Server, serving

STEPS = Path(__file__).parents[2] / "acceptance" / "console" / "plugins" / "steps"
CONFIGURATION = """
models: {{upstream: {{type: tests.faces.operator.counting_model}}}}
toolboxes:
  steps:
    type: plugins
    model: upstream
    folders: ["{folder}"]
    allow_private: {{steps: ["{address}"]}}
    secrets: [{{name: STEPS_TOKEN, plugins: [steps], hosts: ["{address}"]}}]
agents: {{default: {{model: upstream, toolboxes: [steps], tools: ["tests.acceptance.console_tools:get_weather"]}}}}
prices: {{upstream: {{input: 1.0, cached_input: 0.5, output: 2.0}}}}
currency: EUR
log: {{type: sqlite}}
threads: {{type: sql}}
server: {{state_dir: "{state}"}}
faces: [{{type: operator, keep_alive: 0.2}}]
"""


@pytest.fixture
async def server(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setenv("RIGHTSEAT_SECRET_STEPS_TOKEN", "a-token-of-steps")

    async def step(request: Request) -> Response:
        return JSONResponse({"step": request.url.path})

    async with serve(Starlette(routes=[Route("/{step}", step)])) as url:
        folder = tmp_path / "plugins"
        shutil.copytree(STEPS, folder / "steps")
        address = url.removeprefix("http://")
        for file in (folder / "steps").glob("*.*"):
            file.write_text(file.read_text().replace("127.0.0.1:39190", address))
        text = CONFIGURATION.format(folder=folder, address=address, state=tmp_path / "state")
        async with serving(serve, text) as server:
            yield server


async def events_of(server: Server, run: str) -> list[Event]:
    answer = await server.client.get(f"/operator/runs/{run}/entries")
    return [codec.decode(json.dumps(json.loads(line)["event"]).encode()) for line in answer.text.splitlines()]


async def test_a_run_with_tools_and_a_flow_has_a_span_for_each_piece_of_work(server: Server) -> None:
    id = await run(server, "all in all", "t1")
    events, shown = await events_of(server, id), await get(server, f"runs/{id}")

    check_order(events)
    started = {event.span: event for event in events if isinstance(event, SpanStarted)}
    ended = {event.span: event for event in events if isinstance(event, SpanEnded)}
    assert Counter(span.kind for span in started.values()) == {"run": 1, "model": 3, "tool": 3, "step": 5}
    assert {span.name for span in started.values() if span.kind == "model"} == {"upstream"}
    flow = next(span for span in started.values() if span.name == "steps_five")
    steps = [span for span in started.values() if span.kind == "step"]
    assert [(span.name, span.parent, span.about) for span in steps] == [
        (name, flow.span, {"flow": "five", "plugin": "steps"}) for name in ("start", "second", "third", "fourth", "end")
    ]
    one, two = (span for span in started.values() if span.name == "getWeather")
    assert one.at < ended[two.span].at
    assert two.at < ended[one.span].at  # side by side, each with its own time
    assert shown["spans"] == [span_line(started[id], ended[id]) for id in started]


def span_line(started: SpanStarted, ended: SpanEnded) -> dict[str, Any]:
    usage = ended.usage
    tokens = {"input_tokens": 11, "output_tokens": 7, "cache_read_tokens": 2}
    return {
        "span": started.span,
        "kind": started.kind,
        "name": started.name,
        "from": started.at,
        "to": ended.at,
        "parent": started.parent,
        "about": started.about,
        "first": ended.first,
        "usage": tokens if usage else None,
        "reason": ended.reason,
        "error": ended.error,
    }


async def test_totals_are_the_sums_over_the_spans(server: Server) -> None:
    id = await run(server, "all in all", "t1")
    shown, listed = await get(server, f"runs/{id}"), await get(server, "runs")
    thread, me = await get(server, "threads/t1"), await get(server, "me")

    cost = (3 * 9 * 1.0 + 3 * 2 * 0.5 + 3 * 7 * 2.0) / 1_000_000
    tokens = {"in": 33, "out": 21, "cached": 6}
    line = {key: value for key, value in shown.items() if key not in ("spans", "totals")}
    assert listed["runs"] == thread["runs"] == [line]
    assert (line["model_calls"], line["tool_calls"], line["tokens"]) == (3, 3, tokens)
    assert line["flow"] == "steps.five"
    assert line["cost"] == pytest.approx(cost, abs=1e-12)
    assert shown["totals"] == {
        "spans": 12,
        "model_calls": 3,
        "tool_calls": 3,
        "tokens": tokens,
        "cost": line["cost"],
        "currency": "EUR",
        "models": [{"name": "upstream", "model": "ScriptedModel", "calls": 3, "tokens": tokens, "cost": line["cost"]}],
    }
    assert me["currency"] == "EUR"


async def test_runs_are_listed_by_their_flow(server: Server) -> None:
    id = await run(server, "all in all", "t1")
    await run(server, "Hello", "t2")
    found, others = await get(server, "runs", flow="steps.five"), await get(server, "runs", flow="steps.branch")

    assert [one["id"] for one in found["runs"]] == [id]
    assert others["runs"] == []


async def test_the_entries_of_a_run_come_in_pages(server: Server) -> None:
    id = await run(server, "all in all", "t1")
    whole = (await server.client.get(f"/operator/runs/{id}/entries")).text.splitlines()

    pages: list[list[str]] = []
    while not pages or len(pages[-1]) == 7:
        query = {"limit": "7"} | ({"after": json.loads(pages[-1][-1])["id"]} if pages else {})
        pages.append((await server.client.get(f"/operator/runs/{id}/entries", params=query)).text.splitlines())

    assert [line for page in pages for line in page] == whole
    texts = [json.loads(line)["event"].get("text") for line in whole if "TextDelta" in line]
    assert texts == ["All of it is done."]  # adjacent deltas are one


async def test_a_run_whose_log_is_gone_has_the_totals_of_the_store(server: Server) -> None:
    id = await run(server, "all in all", "t1")
    await server.assembly.runtime._log.delete((id,))

    shown = await get(server, f"runs/{id}")

    assert (shown["spans"], shown["totals"]["spans"], shown["model_calls"], shown["tool_calls"]) == ([], 0, 3, 3)
