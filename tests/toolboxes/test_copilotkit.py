"""A remote endpoint's actions as tools, against CopilotKit's own SDK; and its agents, to hand over to."""

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.agents.copilotkit import EndpointAgents
from rightseat.agents.copilotkit import Options as AgentOptions
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import AgentUnreachable
from rightseat.core.events import Custom, Event, RunFinished, TextDelta, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Model
from rightseat.core.tools import Invocation, Tool, Toolbox
from rightseat.egress.endpoint import Endpoint
from rightseat.operations.own_memories import OwnMemories
from rightseat.stores.files import MemoryArtifacts
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.copilotkit import ActionToolbox, Options
from tests.servers.running import Start, start

__all__ = ["start"]

SDKS = ("copilotkit 0.1.63", "copilotkit 0.1.96")


class Shelf:
    """The endpoint's agents, as the application has them."""

    def __init__(self, url: str) -> None:
        options = AgentOptions(url=url)
        self.several = EndpointAgents(options, Endpoint(options))
        self.artifacts = MemoryArtifacts()
        self.pins = None
        self.secret_uses = None

    memories: OwnMemories | None = None

    def agent(self, name: str) -> Agent:
        part, _, member = name.partition("/")
        assert part == "remote"
        return self.several.member(member)

    def model(self, name: str) -> Model:
        raise AssertionError

    def toolbox(self, name: str) -> Toolbox:
        raise AssertionError

    def toolboxes(self, references: Iterable[str]) -> Sequence[Toolbox]:
        raise AssertionError


@asynccontextmanager
async def actions(url: str, **options: Any) -> AsyncIterator[ActionToolbox]:
    shelf = Shelf(f"{url}/remote")
    async with shelf.several, ActionToolbox(Options(url=f"{url}/remote", **options), shelf) as built:
        yield built


def named(tools: Sequence[Tool], name: str) -> Tool:
    return next(tool for tool in tools if tool.name == name)


@pytest.mark.servers
@pytest.mark.parametrize("sdk", SDKS)
async def test_actions_of_the_sdk_are_tools(start: Start, sdk: str) -> None:
    ask = Ask(messages=(user("Hi"),))
    async with actions(start(sdk).url) as built:
        tools = await built.tools(ask)
        tool = named(tools, "nameOf")
        assert tool.run is not None
        result = await tool.run(Invocation("c1", {"userId": "7"}, ask, "k"))

    assert [one.name for one in tools] == ["nameOf", "explode"]
    assert tool.parameters == {
        "type": "object",
        "properties": {"userId": {"type": "string", "description": "Whose."}},
        "required": ["userId"],
    }
    assert json.loads(result) == {"name": "User_7"}
    assert tool.effect == "unknown"


@pytest.mark.servers
@pytest.mark.parametrize("sdk", SDKS)
async def test_a_failed_action_is_reported_and_its_details_are_only_logged(
    start: Start, sdk: str, caplog: pytest.LogCaptureFixture
) -> None:
    ask = Ask(messages=(user("Hi"),))
    async with actions(start(sdk).url) as built:
        tool = named(await built.tools(ask), "explode")
        assert tool.run is not None
        with pytest.raises(AgentUnreachable) as raised:
            await tool.run(Invocation("c1", {}, ask, "k"))

    assert "/srv/secret.py" not in raised.value.message
    assert "/srv/secret.py" in caplog.text


@pytest.mark.servers
async def test_a_model_hands_over_to_an_agent_which_has_the_last_word(start: Start) -> None:
    ask = Ask(messages=(user("hi"),))
    model = ScriptedModel([calls("graph")])
    async with actions(start("copilotkit 0.1.63").url, agents="remote") as built:
        events = [event async for event in Loop(model, (built,)).run(ask, DirectSteps())]

    assert ToolCallReturned("call_1", "graph", "graph agent started") in events
    assert text_of(events) == "Hello from LangGraph"
    assert [event.name for event in events if isinstance(event, Custom)] == ["agent.entered", "agent.left"]
    assert events[-1] == RunFinished("done")
    assert len(model.prompts) == 1


@pytest.mark.parametrize("writes", [("nameOf",), ("*",)])
@pytest.mark.servers
async def test_actions_that_write_can_be_named(start: Start, writes: tuple[str, ...]) -> None:
    async with actions(start("copilotkit 0.1.63").url, write_tools=writes) as built:
        tools = await built.tools(Ask(messages=()))

    assert named(tools, "nameOf").effect == "write"
    assert named(tools, "explode").effect == ("write" if writes == ("*",) else "unknown")


async def test_an_unreachable_endpoint_removes_its_tools_and_is_reported() -> None:
    model = ScriptedModel([says("Hello")])
    async with actions("http://127.0.0.1:9") as built:
        events = [event async for event in Loop(model, (built,)).run(Ask(messages=(user("Hi"),)), DirectSteps())]

    missing = events[0]
    assert isinstance(missing, Custom)
    assert missing.name == "tools.unavailable"
    assert "Connection refused" in str(missing.value)
    assert text_of(events) == "Hello"


def text_of(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
