"""The usage report and the state of the limits, over HTTP, and what the metrics say of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from rightseat.telemetry.metrics import Metrics
from tests.conditions import until
from tests.conftest import Serve

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
faces:
  - {{type: openai, path: /v1}}
  - {{type: usage}}
  - {{type: metrics}}
threads: {{type: {threads}}}
log: {{type: memory}}
server: {{state_dir: "{folder}"}}
prices: {{default: {{input: 1, output: 2}}}}
currency: EUR
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: bob, key: key-bob, user: bob}}
    - {{name: accountant, key: key-accountant, scopes: ["usage:*"]}}
{limits}
"""
LIMITS = """
limits:
  - {name: three, subject: user, requests_per_day: 3, concurrent_runs: 2}
  - {name: money, subject: everyone, cost_per_month: 10}
"""
QUESTION = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(params=["memory", "sql"])
def threads(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def serving(
    serve: Serve, folder: Path, threads: str = "memory", limits: str = LIMITS
) -> AsyncIterator[httpx2.AsyncClient]:
    text = CONFIGURATION.format(folder=folder, threads=threads, limits=limits)
    built = app.build(config.parse(text, environ={}))
    async with asyncio.timeout(60), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        yield client


async def ask(client: httpx2.AsyncClient, user: str) -> int:
    return (await client.post("/v1/chat/completions", json=QUESTION, headers=key(user))).status_code


async def get(client: httpx2.AsyncClient, path: str, user: str = "accountant") -> Any:
    return (await client.get(path, headers=key(user))).json()


def key(user: str) -> dict[str, str]:
    return {"x-api-key": f"key-{user}"}


async def test_the_report_has_what_users_used_and_what_was_refused(serve: Serve, tmp_path: Path, threads: str) -> None:
    async with serving(serve, tmp_path, threads) as client:
        statuses = [await ask(client, user) for user in ("alice", "alice", "alice", "alice", "bob")]
        report = await get(client, f"/usage?by=user,key,purpose&since={datetime.now(UTC):%Y-%m-%d}")
        later = await get(client, "/usage?by=user&since=2100-01-01")
        models = await get(client, "/usage?by=model")

    assert statuses == [200, 200, 200, 429, 200]
    assert report["currency"] == "EUR"
    alice, bob = report["rows"]
    assert (alice["user"], alice["key"], alice["purpose"]) == ("alice", "alice", "answer")
    assert (alice["requests"], alice["refused"], bob["requests"], bob["refused"]) == (3, 1, 1, 0)
    assert alice["estimated_tokens"] == 3 * bob["estimated_tokens"] > 0  # this model reports no tokens
    assert alice["input_tokens"] == alice["output_tokens"] == 0
    assert alice["cost"] == pytest.approx(3 * bob["cost"])
    assert alice["estimated_tokens"] / 1e6 < alice["cost"] < 2 * alice["estimated_tokens"] / 1e6
    assert later["rows"] == []
    assert sum(row["requests"] for row in models["rows"] if row["model"] == "default") == 4


async def test_a_key_sees_its_own_user_unless_it_has_the_scope_by_name(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as client:
        for user in ("alice", "bob"):
            await ask(client, user)
        rows = (await get(client, "/usage", "alice"))["rows"]
        limits = (await get(client, "/usage/limits", "alice"))["limits"]
        everything = (await get(client, "/usage/limits"))["limits"]
        refused = await client.get("/usage")

    assert [row["user"] for row in rows] == ["alice"]
    assert {(row["limit"], row["subject"]) for row in limits} == {("three", "alice")}
    assert {row["subject"] for row in everything} == {"alice", "bob", "everyone"}
    assert refused.status_code == 401


async def test_a_key_sees_the_limits_of_its_own_and_not_those_of_another_key(serve: Serve, tmp_path: Path) -> None:
    limits = "limits: [{name: by-key, subject: key, requests_per_day: 5}]"
    async with serving(serve, tmp_path, limits=limits) as client:
        for user in ("alice", "alice", "bob"):
            await ask(client, user)
        rows = (await get(client, "/usage/limits", "alice"))["limits"]

    assert [(row["limit"], row["subject"], row["used"]) for row in rows] == [("by-key", "alice", 2)]


async def test_limits_have_their_state_and_the_end_of_their_window(serve: Serve, tmp_path: Path, threads: str) -> None:
    async with serving(serve, tmp_path, threads) as client:
        await ask(client, "alice")
        rows = {(row["limit"], row["kind"]): row for row in (await get(client, "/usage/limits"))["limits"]}

    requests, runs, cost = rows["three", "requests"], rows["three", "runs"], rows["money", "cost"]
    assert (requests["most"], requests["used"], requests["reserved"]) == (3, 1, 0)
    assert requests["window_start"] == f"{datetime.now(UTC):%Y-%m-%d}T00:00:00+00:00"
    assert requests["resets_at"] > requests["window_start"]
    assert (runs["most"], runs["used"], runs["running"]) == (2, 0, 0)
    assert (cost["most"], cost["reserved"]) == (10, 0)
    assert 0 < cost["used"] < 0.001


async def test_usage_is_counted_without_limits(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.app.builder.USAGE_DELAY_S", 0.01)
    async with serving(serve, tmp_path, "sql", limits="") as client:
        await ask(client, "bob")

        async def read_rows() -> list[Any]:
            return list((await get(client, "/usage?by=user,model"))["rows"])

        rows = await until(read_rows)  # another task writes them
        limits = await get(client, "/usage/limits")

    assert [(row["user"], row["model"], row["requests"]) for row in rows] == [("bob", "default", 1)]
    assert limits == {"limits": []}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "by=user,colour",
            "`by` cannot be 'user,colour': use each of these once, separated by commas: day, user, key,",
        ),
        ("by=user,user", "`by` cannot be 'user,user'"),
        ("since=yesterday", "`since` is 'yesterday', not a day such as 2026-11-01."),
        ("from=2026-11-01", "Unknown parameter 'from'. Known are: by, since, until."),
    ],
)
async def test_a_query_with_an_error_is_refused_with_the_correction(
    serve: Serve, tmp_path: Path, query: str, message: str
) -> None:
    async with serving(serve, tmp_path) as client:
        refused = await client.get(f"/usage?{query}", headers=key("alice"))

    assert refused.status_code == 400
    assert refused.json()["message"].startswith(message)


async def test_metrics_have_refusals_reservations_and_cost_without_users(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Metrics()
    monkeypatch.setattr("rightseat.telemetry.metrics.SERVER", fresh)
    monkeypatch.setattr("rightseat.telemetry.metrics.SERVER", fresh)
    async with serving(serve, tmp_path) as client:
        for _ in range(4):
            await ask(client, "alice")
        text = (await client.get("/metrics", headers=key("alice"))).text

    lines = text.splitlines()
    assert 'rightseat_refused_total{code="budget_exceeded",limit="three"} 1.0' in lines
    assert 'rightseat_reserved{kind="runs",limit="three"} 0.0' in lines
    assert 'rightseat_reserved{kind="cost",limit="money"} 0.0' in lines
    assert any(
        line.startswith('rightseat_cost_total{agent="default",currency="EUR",model="default"}') for line in lines
    )
    assert "alice" not in text
