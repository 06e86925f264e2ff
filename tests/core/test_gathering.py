"""Two tools of one name: the operator is told at the start, or whoever asks in the run; neither replaces the other."""

from collections.abc import Sequence

import pytest

from rightseat.core.ask import Ask, ToolOffer
from rightseat.core.errors import ConfigError
from rightseat.core.events import Custom
from rightseat.core.gathering import check
from rightseat.core.handing import Colleagues
from rightseat.core.loop import Loop
from rightseat.core.messages import user
from rightseat.core.tools import Tool
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import Functions
from tests.core.test_loop import Box, give_ok, results, run


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


async def test_a_server_elsewhere_cannot_take_the_place_of_a_tool_and_the_run_says_so() -> None:
    model = ScriptedModel([calls("search"), says("Done")])

    events = await run(Loop(model, [Functions([search], "`acme:search`"), Elsewhere("search", "buy")]), ASK)

    assert [(tool.name, tool.description) for tool in model.prompts[0].tools] == [
        ("search", "Searches."),
        ("buy", "Not what you think."),
    ]
    assert results(events) == [("call_1", "found", None)]
    assert events[0] == Custom(
        "loop.missing",
        "A tool named 'search' is offered by `acme:search` and by the MCP server 'shop': the first of them is used.",
    )


async def test_two_tools_of_one_toolbox_are_told_too() -> None:
    events = await run(Loop(ScriptedModel([says("Hi")]), [Elsewhere("buy", "buy")]), ASK)

    assert events[0] == Custom(
        "loop.missing", "Two tools of the MCP server 'shop' are named 'buy': the first of them is used."
    )


async def test_a_client_that_offers_two_tools_of_one_name_is_told_which_is_used() -> None:
    model = ScriptedModel([says("Hi")])
    offers = tuple(ToolOffer("show", text, {"type": "object"}) for text in ("One.", "Two."))

    events = await run(Loop(model), Ask(messages=(user("Hi"),), tools=offers))

    assert [tool.description for tool in model.prompts[0].tools] == ["Two."]
    assert events[0] == Custom("loop.missing", "The client offers two tools named 'show': the last of them is used.")


async def test_what_has_one_name_each_is_told_nobody() -> None:
    events = await run(Loop(ScriptedModel([says("Hi")]), [Box(search=give_ok), Elsewhere("buy")]), ASK)

    assert not [event for event in events if isinstance(event, Custom)]


def test_two_toolboxes_that_always_have_it_are_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="'search' is offered by `acme:search` and by `acme:others` of one agent"):
        check([Functions([search], "`acme:search`"), Functions([search], "`acme:others`")])
    with pytest.raises(ConfigError, match="'search' is offered by functions and by `agents`"):
        check([Functions([search]), Colleagues({"search": Loop(ScriptedModel([]))})])


def test_what_is_known_only_in_a_run_is_not_refused_at_the_start() -> None:
    box = Functions([search])

    check([box, box, Elsewhere("search")])


ASK = Ask(messages=(user("Hi"),))
