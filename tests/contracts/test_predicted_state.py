"""State that an agent's model is still writing, from the servers of their own makers to CopilotKit's clients.

The graph of `tests/servers/programs` has a model write a story as the argument of a call, and says that the argument
becomes the state.
"""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

from rightseat.core.agent import Agent
from rightseat.core.events import Custom, Event, RunFinished, StateReplaced, ToolCallDelta, ToolCallEnded
from rightseat.core.types import JsonValue
from tests.conftest import Serve
from tests.contracts.agents import SUBJECTS, Subject
from tests.contracts.test_agents import agent, asking, run, server, state_of, text_of
from tests.contracts.test_agents_and_faces import AGUI, GraphQL, frames, running
from tests.faces.copilotkit import recorded
from tests.faces.copilotkit.urql import merge, parts
from tests.servers.running import Server, start

__all__ = ["agent", "server", "start"]

pytestmark = pytest.mark.servers

STORY = "Once upon a time"
RULES: JsonValue = [{"state_key": "story", "tool": "write_story", "tool_argument": "text"}]
WORKED_OUT = "copilotkit: copilotkit 0.1.63"
"""Its server works the state out itself, and tells each of them."""


@pytest.fixture(params=[name for name, subject in SUBJECTS.items() if subject.name == "LangGraph"])
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


async def test_the_state_is_foretold_while_the_call_is_written(agent: Agent, subject: Subject) -> None:
    events = await run(agent, asking("story"))

    assert text_of(events) == "Done: kept"
    assert events[-1] == RunFinished("done")
    assert state_of(events)["story"] == STORY
    if subject is SUBJECTS[WORKED_OUT]:
        told = [event.state for event in events if isinstance(event, StateReplaced)]
        grown = [state.get("story") for state in told if isinstance(state, dict)]
        assert "Once" in grown
        assert "Once upon" in grown
    else:
        foretold = events.index(Custom("PredictState", RULES))
        assert foretold < place(events, ToolCallDelta) < place(events, ToolCallEnded)


def place(events: list[Event], kind: type[Event]) -> int:
    return next(number for number, event in enumerate(events) if isinstance(event, kind))


async def test_a_client_of_graphql_sees_it_grow(subject: Subject, server: Server, serve: Serve, tmp_path: Path) -> None:
    async with running(subject, server, serve, tmp_path) as url, httpx2.AsyncClient() as http:
        path, body = GraphQL(url, http).request("story")
        async with asyncio.timeout(30):
            answer = await http.post(url + path, json=body, headers={"accept": recorded.ACCEPT})

    said = merge(parts(answer.content))["generateCopilotResponse"]["messages"]
    states = [json.loads(one["state"]) for one in said if one["__typename"] == "AgentStateMessageOutput"]
    grown = list(dict.fromkeys(state["story"] for state in states if state.get("story")))
    assert grown[0] in ("Once", "Once upon")
    assert grown[-1] == STORY


async def test_an_agui_client_gets_the_rules_for_predicted_state(
    subject: Subject, server: Server, serve: Serve, tmp_path: Path
) -> None:
    async with running(subject, server, serve, tmp_path) as url, httpx2.AsyncClient() as http:
        path, body = AGUI(url, http).request("story")
        async with asyncio.timeout(30):
            events = frames((await http.post(url + path, json=body)).text)

    states = [one["snapshot"].get("story") for one in events if one["type"] == "STATE_SNAPSHOT"]
    assert states[-1] == STORY
    if subject is SUBJECTS[WORKED_OUT]:
        assert "Once" in states
    else:
        assert [one["value"] for one in events if one.get("name") == "PredictState"] == [RULES]
