"""The metrics of a running server: all that dashboard and alerts name, bounded in number, and they move."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from rightseat import app, config
from rightseat.operations.database_metrics import PoolState
from rightseat.telemetry.metrics import Metrics
from rightseat.telemetry.server_metrics import Sampler, ServerMetrics
from tests.conditions import until
from tests.conftest import serving
from tests.databases import migrated_database

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "rightseat.json").read_text())
ALERTS = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
RUNBOOKS = (HOW_TO / "runbooks.md").read_text()
NAMES = re.compile(r"\b(?:rightseat|http_server|db_client|process)_\w+")
LABELS = re.compile(r"\{[^}]*\}|\b(?:by|without|on)\s*\([^)]*\)")
ASKED = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in ALERTS)
    yield from (target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ()))


def samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with migrated_database() as database:
        parts: dict[str, Any] = {
            "models": {"default": {"type": "scripted", "chunk_delay": 0}},
            "threads": {"type": "sql", "url": database},
            "log": {"type": "memory"},
            "limits": [
                {
                    "name": "all",
                    "subject": "everyone",
                    "concurrent_runs": 9,
                    "on_exceed": "queue",
                    "queue": {"wait": 9, "most": 9},
                }
            ],
            "faces": [{"type": "openai"}, {"type": "metrics"}],
        }
        read = config.parse(json.dumps(parts), environ={})
        async with asyncio.timeout(60), serving(app.build(read)) as url, httpx2.AsyncClient(base_url=url) as client:
            yield client


async def test_a_server_has_every_metric_that_the_dashboard_and_the_alerts_name(client: httpx2.AsyncClient) -> None:
    await client.post("/v1/chat/completions", json=ASKED)
    await client.get("/nowhere/1")
    await client.request("BREW", "/nowhere/2")
    text = (await client.get("/metrics")).text
    have = samples(text)
    named = {name for expression in expressions() for name in NAMES.findall(LABELS.sub("", expression))}

    assert "# TYPE db_client_connection_count untyped" in text  # promtool refuses a gauge of this name
    assert named
    assert named - have.keys() == set()
    requests = [labels for labels, _ in have["http_server_request_duration_seconds_count"]]
    face = {"http_request_method": "POST", "http_response_status_code": "200", "rightseat_face": "openai"}
    assert face in requests
    assert {"http_request_method": "GET", "http_response_status_code": "404", "rightseat_face": "server"} in requests
    assert all(labels["http_request_method"] != "BREW" for labels in requests)
    first = [labels for labels, count in have["rightseat_first_chunk_seconds_count"] if count]
    assert {"rightseat_face": "openai", "agent": "default"} in first
    ready = {labels["dependency"]: value for labels, value in have["rightseat_ready"]}
    assert (ready["threads"], ready["lease"]) == (1, 1)
    assert have["rightseat_lease_age_seconds"][0][1] < 5
    assert ({"limit": "all"}, 0) in have["rightseat_queued"]
    assert {labels["db_system_name"] for labels, _ in have["db_client_operation_duration_seconds_count"]} >= {
        "postgresql"
    }


def test_each_alert_has_a_summary_and_a_section_among_the_runbooks() -> None:
    titles = {title.lower() for title in re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE)}

    assert len(ALERTS) >= 6
    for rule in ALERTS:
        page, _, section = rule["annotations"]["runbook_url"].partition("#")
        assert page == "docs/how-to/runbooks.md"
        assert section == rule["alert"].lower()
        assert rule["annotations"]["summary"]
    assert titles == {rule["alert"].lower() for rule in ALERTS}


def test_the_pages_name_the_panels_of_the_dashboard() -> None:
    page = (HOW_TO / "observability.md").read_text()
    shown = {panel["title"]: panel["targets"][0]["expr"] for panel in DASHBOARD["panels"]}
    rows = re.findall(
        r"^\| ([^|]+) \| `(.*)` \|$", page.partition("### Dashboard")[2].partition("### Alerts")[0], re.MULTILINE
    )
    named = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", RUNBOOKS))

    assert dict(rows) == shown
    assert named
    assert all(any(title.startswith(name) for title in shown) for name in named)


def test_what_is_not_ready_is_red() -> None:
    [panel] = [panel for panel in DASHBOARD["panels"] if panel["title"] == "Ready"]
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]

    assert [(step["value"], step["color"]) for step in steps] == [(None, "red"), (1, "green")]
    assert panel["fieldConfig"]["defaults"]["color"] == {"mode": "thresholds"}


async def test_the_delay_of_the_event_loop_is_measured_and_gauges_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.telemetry.server_metrics.TICK_S", 0.001)
    monkeypatch.setattr("rightseat.telemetry.server_metrics.SAMPLE_TICKS", 1)
    registry = CollectorRegistry()
    metrics, samplers = ServerMetrics(registry), set[Sampler]()

    class Pool:
        def observe_operations(self, observe: object) -> None: ...

        def pool_states(self) -> list[PoolState]:
            return [PoolState("threads", 2, 3, 15)]

    async def states() -> dict[str, bool]:
        return {"threads": True, "lease": False}

    async with Sampler(metrics, samplers, states, [Pool()], None, has_workers=True):
        assert len(samplers) == 1
        await until(lambda: bool(registry.get_sample_value("process_open_fds")))

    pool = {"db_client_connection_pool_name": "threads"}
    assert registry.get_sample_value("rightseat_event_loop_delay_seconds_count") or 0 > 0
    assert registry.get_sample_value("rightseat_ready", {"dependency": "lease"}) == 0
    assert registry.get_sample_value("rightseat_lease_age_seconds") == 0
    assert registry.get_sample_value("db_client_connection_max", pool) == 15
    used = pool | {"db_client_connection_state": "used"}
    assert registry.get_sample_value("db_client_connection_count", used) == 2
    assert registry.get_sample_value("process_resident_memory_bytes") or 0 > 1_000_000
    assert not samplers


def test_every_outcome_of_a_takeover_is_counted_from_the_start() -> None:
    registry = CollectorRegistry()
    metrics = ServerMetrics(registry)
    metrics.count_takeover("resumed")

    assert registry.get_sample_value("rightseat_takeovers_total", {"outcome": "resumed"}) == 1
    assert registry.get_sample_value("rightseat_takeovers_total", {"outcome": "cut_off"}) == 0


def test_a_server_without_limits_has_a_queue_of_0() -> None:
    metrics = Metrics()
    metrics.limits.expect(())

    assert metrics.registry.get_sample_value("rightseat_queued", {"limit": ""}) == 0
