"""Workspace's side of a question: a widget that is read, the agent's own tool, a table and a citation."""

import json
from collections.abc import Mapping
from typing import Any

from analyst import app, copilot, fair_value
from fastapi.testclient import TestClient

from rightseat.testing import ScriptedModel, calls, says

WIDGET = {
    "uuid": "1",
    "origin": "OpenBB API",
    "widget_id": "eod_price",
    "name": "Eod Price",
    "description": "Prices at the end of the day.",
    "params": [{"name": "symbol", "type": "ticker", "description": "Ticker", "current_value": "AAPL"}],
    "metadata": {},
}
PRICES = [{"date": "2026-11-18", "close": 233.85}, {"date": "2026-11-17", "close": 231.3}]
TABLE = {"name": "Price and value", "description": "AAPL", "data": [{"symbol": "AAPL", "close": 233.85, "fair": 187.5}]}
QUESTION = {
    "messages": [{"role": "human", "content": "Is AAPL dear?"}],
    "widgets": {"primary": [WIDGET], "secondary": [], "extra": []},
}


def query(client: TestClient, body: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The events of an answer: names and data."""
    address = client.get("/agents.json").json()["analyst"]["endpoints"]["query"]
    answer = client.post(address, json=body)
    assert answer.status_code == 200
    found = [
        dict(line.split(": ", 1) for line in one.splitlines()) for one in answer.text.split("\n\n") if "event: " in one
    ]
    return [(event["event"], json.loads(event["data"])) for event in found]


def answer_of_widget(call: Mapping[str, Any]) -> dict[str, Any]:
    """The next request, with the rows that Workspace has read for the agent."""
    repeated = {"function": call["function"], "input_arguments": call["input_arguments"]}
    items = [{"content": json.dumps(PRICES), "data_format": {"data_type": "object", "parse_as": "table"}}]
    result = {"role": "tool", **repeated, "data": [{"items": items}], "extra_state": call.get("extra_state", {})}
    messages = [*QUESTION["messages"], {"role": "ai", "content": json.dumps(repeated)}, result]
    return {**QUESTION, "messages": messages}


def test_the_tool_is_a_function() -> None:
    assert fair_value("AAPL").usd == 187.5


def test_a_question_reads_a_widget_and_shows_a_table_with_its_source() -> None:
    model = ScriptedModel(
        [
            calls("read_eod_price"),
            calls("fair_value", '{"symbol": "AAPL"}', id="call_2"),
            calls("create_table", json.dumps(TABLE), id="call_3"),
            says("AAPL closed at 233.85 on 18 November [S1]. ", "Our fair value is 187.5."),
        ]
    )
    with copilot.override(model=model), TestClient(app) as client:
        assert client.get("/agents.json").json()["analyst"]["name"] == "Our analyst"
        (*_, (name, call)) = query(client, QUESTION)
        assert name == "copilotFunctionCall"
        events = query(client, answer_of_widget(call))

    text = "".join(data["delta"] for name, data in events if name == "copilotMessageChunk")
    tables = [data for name, data in events if name == "copilotMessageArtifact"]
    citations = [one for name, data in events if name == "copilotCitationCollection" for one in data["citations"]]
    assert text == "AAPL closed at 233.85 on 18 November. Our fair value is 187.5."
    assert [(table["type"], table["name"], table["content"]) for table in tables] == [
        ("table", "Price and value", TABLE["data"])
    ]
    assert [one["source_info"]["name"] for one in citations] == ["Eod Price"]
