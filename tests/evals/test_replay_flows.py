"""Flows run anew, with their own model calls; their requests are served."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rightseat.config import Config
from tests.conftest import Serve
from tests.evals.directed_model import PROMPTS
from tests.evals.replays import loop, parse, replay, tell

OPENAPI = """
openapi: 3.1.0
info: {{title: Stock, version: 1.0.0}}
servers: [{{url: "{url}"}}]
paths:
  /stock:
    {method}:
      operationId: stock
      description: The number of pieces in stock.
      parameters:
        - {{name: article, in: query, required: true, description: The number of the article, schema: {{type: string}}}}
      responses:
        '200':
          description: The stock.
          content: {{application/json: {{schema: {{type: object}}}}}}
"""
RECORDED = {
    "flow": "stock/stock",
    "step": "start",
    "request": {"method": "GET", "path": "/stock", "arguments": {"article": "5"}, "server": "http://elsewhere"},
    "status": 200,
    "result": {"total": 120},
}
FILLED = json.dumps({"article": "5"})


@pytest.fixture
def received() -> list[str]:
    """The requests that reached the API."""
    PROMPTS.clear()
    return []


@asynccontextmanager
async def open_shop(serve: Serve, folder: Path, received: list[str], method: str = "get") -> AsyncIterator[Config]:
    async def stock(request: Request) -> JSONResponse:
        received.append(request.url.query)
        return JSONResponse({"total": 7})

    async with serve(Starlette(routes=[Route("/stock", stock, methods=[method.upper()])])) as url:
        yield write_plugin(folder, url, method)


def write_plugin(folder: Path, url: str, method: str) -> Config:
    plugin = folder / "plugins" / "stock"
    plugin.mkdir(parents=True)
    about = {"id": "stock", "name": "Stock", "description": "Pieces in stock.", "version": "1.0.0"}
    (plugin / "plugin.json").write_text(json.dumps(about | {"automatic_flow": True}))
    (plugin / "openapi.yaml").write_text(OPENAPI.format(url=url, method=method))
    toolbox = {
        "type": "plugins",
        "model": "m",
        "folders": [str(folder / "plugins")],
        "state": str(folder / "state"),
        "allow_private": {"stock": [url.removeprefix("http://")]},
    }
    return parse({"default": loop(toolboxes=["stock"])}, toolboxes={"stock": toolbox})


ASK = tell("$results", calls=[[["stock_stock", {"question": tell(FILLED)}]]])


async def test_a_request_of_a_flow_is_served(serve: Serve, tmp_path: Path, received: list[str]) -> None:
    async with open_shop(serve, tmp_path, received) as found:
        attempt = await replay(found, ask=ASK, recorded=[RECORDED])

    assert json.loads(attempt.text) == {"total": 120}
    assert [(call.name, call.served) for call in attempt.tool_calls] == [("stock_stock", "anew")]
    assert len(PROMPTS) == 3  # the agent, the arguments of the request, the agent
    assert received == []


@pytest.mark.parametrize("arguments", [{"article": "6"}, {"article": 5}])
async def test_another_request_diverges(
    serve: Serve, tmp_path: Path, received: list[str], arguments: dict[str, Any]
) -> None:
    recorded = {**RECORDED, "request": {"method": "GET", "path": "/stock", "arguments": arguments}}
    async with open_shop(serve, tmp_path, received) as found:
        attempt = await replay(found, ask=ASK, recorded=[recorded])

    assert attempt.diverged is not None
    assert '"article": "5"' in attempt.diverged
    assert received == []


async def test_a_recorded_failure_of_a_request_fails_again(serve: Serve, tmp_path: Path, received: list[str]) -> None:
    failed = {**RECORDED, "status": 404, "result": "There is no such article.", "error": "http_status"}
    async with open_shop(serve, tmp_path, received) as found:
        attempt = await replay(found, ask=ASK, recorded=[failed])

    assert attempt.tool_calls[0].error == "http_status"
    assert received == []


@pytest.mark.parametrize(("method", "requests"), [("get", ["article=5"]), ("post", [])])
async def test_live_sends_only_requests_that_read(
    serve: Serve, tmp_path: Path, received: list[str], method: str, requests: list[str]
) -> None:
    async with open_shop(serve, tmp_path, received, method) as found:
        attempt = await replay(found, "live", ask=ASK)

    assert received == requests
    assert (attempt.diverged is None) == bool(requests)


async def test_a_stub_answers_the_step(serve: Serve, tmp_path: Path, received: list[str]) -> None:
    async with open_shop(serve, tmp_path, received) as found:
        attempt = await replay(found, {"stub": "sold out"}, ask=ASK)

    assert "sold out" in attempt.text
    assert received == []
