"""Two tools of one name: the operator is told at the start, or whoever asks in the run; neither replaces the other."""

from collections.abc import Sequence

import pytest

from rightseat.core.ask import Ask, ToolOffer
from rightseat.core.errors import ConfigError
from rightseat.core.events import Custom
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox
from rightseat.core.loop.toolset import check
from rightseat.core.messages import user
from rightseat.core.tools import Tool
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.core.loop.test_agent_loop import Box, give_ok, results, run


async def search(query: str = "") -> str:
    """Searches."""
    return "found"


class Elsewhere:
    """A toolbox of a server that may offer anything."""

    label = "the MCP server 'shop'"

    def __init__(self, *names: str) -> None:
        self._names = names

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [Tool(name, "Not what you think.", {"type": "object"}, give_ok) for name in self._names]


async def test_a_tool_of_an_mcp_server_does_not_replace_another_tool_and_the_run_reports_it() -> None:
    model = ScriptedModel([calls("search"), says("Done")])

    events = await run(Loop(model, [FunctionToolbox([search], "`acme:search`"), Elsewhere("search", "buy")]), ASK)

    assert [(tool.name, tool.description) for tool in model.prompts[0].tools] == [
        ("search", "Searches."),
        ("buy", "Not what you think."),
    ]
    assert results(events) == [("call_1", "found", None)]
    assert events[0] == Custom(
        "tools.unavailable",
        "A tool named 'search' is offered by `acme:search` and by the MCP server 'shop'. The first is used.",
    )


async def test_two_tools_of_one_toolbox_with_one_name_are_reported() -> None:
    events = await run(Loop(ScriptedModel([says("Hi")]), [Elsewhere("buy", "buy")]), ASK)

    assert events[0] == Custom(
        "tools.unavailable", "Two tools of the MCP server 'shop' are named 'buy'. The first is used."
    )


async def test_two_client_tools_with_one_name_are_reported_and_the_last_is_used() -> None:
    model = ScriptedModel([says("Hi")])
    offers = tuple(ToolOffer("show", text, {"type": "object"}) for text in ("One.", "Two."))

    events = await run(Loop(model), Ask(messages=(user("Hi"),), tools=offers))

    assert [tool.description for tool in model.prompts[0].tools] == ["Two."]
    assert events[0] == Custom("tools.unavailable", "The client offers two tools named 'show'. The last is used.")


async def test_tools_with_distinct_names_cause_no_report() -> None:
    events = await run(Loop(ScriptedModel([says("Hi")]), [Box(search=give_ok), Elsewhere("buy")]), ASK)

    assert not [event for event in events if isinstance(event, Custom)]


def test_two_toolboxes_that_always_have_it_are_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="'search' is offered by `acme:search` and by `acme:others` of one agent"):
        check([FunctionToolbox([search], "`acme:search`"), FunctionToolbox([search], "`acme:others`")])
    with pytest.raises(ConfigError, match="'search' is offered by functions and by `agents`"):
        check([FunctionToolbox([search]), AgentToolbox({"search": Loop(ScriptedModel([]))})])


def test_what_is_known_only_in_a_run_is_not_refused_at_the_start() -> None:
    box = FunctionToolbox([search])

    check([box, box, Elsewhere("search")])


ASK = Ask(messages=(user("Hi"),))
