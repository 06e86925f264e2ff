"""Questions of flows to people, as CopilotKit's GraphQL clients get and answer them."""

from pathlib import Path
from typing import Any

import pytest

from tests.faces.copilotkit import urql
from tests.faces.copilotkit.serving import chat, post
from tests.faces.plugged import SCAN, plugged

Patch = pytest.MonkeyPatch

NAMED = [{"type": "copilotkit", "agents": ["default"]}]


async def say(
    url: str, question: str, response: str | None = None, asked: str = "", agent: str | None = "default"
) -> dict[str, Any]:
    """What a client ends up with. With a response, it answers what it was asked."""
    answers = [{"name": "LangGraphInterruptEvent", "value": asked, "response": response}] if response else []
    answer = await post(url, chat(question, thread="t-1", agent=agent, metaEvents=answers))
    whole: dict[str, Any] = urql.merge(urql.parts(answer.content))["generateCopilotResponse"]
    return whole


def told(response: dict[str, Any]) -> str:
    return "".join(piece for message in response["messages"] for piece in message.get("content", ()))


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ('{"decision": "allow"}', "The scan has begun. Its number is scan-db-01-1."),
        ("true", "The scan has begun. Its number is scan-db-01-1."),
        ('{"decision": "edit", "arguments": {"host_id": "web-01"}}', "Its number is scan-web-01-1."),
        ('{"decision": "deny"}', "All right, nothing was scanned."),
        ("false", "All right, nothing was scanned."),
        ("yes", "All right, nothing was scanned."),
    ],
)
async def test_R_10_5_a_client_is_asked_for_approval_and_the_flow_continues(
    tmp_path: Path, monkeypatch: Patch, response: str, said: str
) -> None:
    async with plugged(tmp_path, monkeypatch, faces=NAMED) as url:
        (question,) = (await say(url, SCAN))["metaEvents"]
        answered = await say(url, SCAN, response, question["value"])

    assert (question["type"], question["name"]) == ("MetaEvent", "LangGraphInterruptEvent")
    assert "/api/scans\n- host_id: db-01 (question)\n- depth: quick (default)" in question["value"]
    assert told(answered).endswith(said)
    assert answered["metaEvents"] == []


async def test_a_client_is_asked_for_what_is_missing(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch, faces=NAMED) as url:
        (question,) = (await say(url, "What will the weather be?"))["metaEvents"]
        answered = await say(url, "What will the weather be?", '{"city": "Hangzhou"}', question["value"])

    assert "needs some input from you: city." in question["value"]
    assert "°C" in told(answered)


async def test_R_10_5_a_chat_without_an_agent_reports_why_it_cannot_ask(tmp_path: Path, monkeypatch: Patch) -> None:
    async with plugged(tmp_path, monkeypatch) as url:
        answered = await say(url, SCAN, agent=None)

    assert answered["metaEvents"] == []
    assert told(answered).endswith("cannot ask for it. Nothing was scanned.")
