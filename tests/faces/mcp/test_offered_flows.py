"""Flows of the example plugins that MCP clients call: the SDK's own client, over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.faces.mcp.test_mcp import Person, text
from tests.faces.plugged import SCAN, WEATHER, plugged

Patch = pytest.MonkeyPatch

CONFIGURED: dict[str, Any] = {
    "agents": {"default": {"type": "loop", "toolboxes": ["ops"]}},
    "faces": [{"type": "mcp"}],
}


@asynccontextmanager
async def connected(folder: Path, monkeypatch: Patch, **options: Any) -> AsyncIterator[Client]:
    async with (
        plugged(folder, monkeypatch, **CONFIGURED) as url,
        Client(streamable_http_client(f"{url}/mcp"), **options) as client,
    ):
        yield client


async def test_flows_are_listed_with_what_they_are_for(tmp_path: Path, monkeypatch: Patch) -> None:
    async with connected(tmp_path, monkeypatch) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert {"weather_forecast", "host_security_scan_host", "sales_insight_chart_sales"} <= listed.keys()
    assert listed["weather_forecast"].input_schema["required"] == ["question"]
    assert listed["weather_forecast"].description


async def test_a_flow_is_called_and_reports_its_steps_and_its_result(tmp_path: Path, monkeypatch: Patch) -> None:
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with connected(tmp_path, monkeypatch) as client:
        result = await client.call_tool("weather_forecast", {"question": WEATHER}, progress_callback=hear)

    assert not result.is_error
    assert "Hangzhou" in text(result)
    assert told == ["start", "end"]


@pytest.mark.parametrize(
    ("person", "is_error", "said"),
    [
        (Person("accept", {"decision": "allow"}), False, "scan-db-01-1"),
        (Person("accept", {"decision": "deny"}), True, "nothing was scanned"),
        (Person("decline"), True, "nothing was scanned"),
    ],
)
async def test_R_10_5_a_flow_that_asks_first_asks_through_the_client(
    tmp_path: Path, monkeypatch: Patch, person: Person, is_error: bool, said: str
) -> None:
    async with connected(tmp_path, monkeypatch, elicitation_callback=person) as client:
        result = await client.call_tool("host_security_scan_host", {"question": SCAN})

    (asked,) = person.asked
    assert "/api/scans\n- host_id: db-01 (question)" in asked.message
    assert (result.is_error, said in text(result)) == (is_error, True), text(result)


async def test_R_10_5_without_a_person_to_ask_the_flow_reports_why_it_did_nothing(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async with connected(tmp_path, monkeypatch) as client:
        result = await client.call_tool("host_security_scan_host", {"question": SCAN})

    assert result.is_error
    assert text(result).endswith("cannot ask for it. Nothing was scanned.")
