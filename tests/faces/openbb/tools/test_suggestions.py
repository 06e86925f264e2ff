"""Questions to ask next: only where the user wants them, and only through their tool."""

from typing import Any

import pytest

from rightseat.core.ask import Ask
from rightseat.core.errors import BadRequest
from rightseat.core.events import Custom, Event
from rightseat.core.messages import user
from rightseat.core.tools import Invocation
from rightseat.faces.openbb.tools import suggestions as suggesting
from tests.faces.openbb.serving import session_of

WANTED = {"prompt-suggestions": True}


async def suggest(suggestions: Any) -> list[Event]:
    emitted: list[Event] = []
    (tool,) = suggesting.tools(session_of(options=WANTED))
    assert tool.run is not None
    await tool.run(
        Invocation("c", {"suggestions": suggestions}, Ask(messages=(user("Hi"),)), "k", None, emitted.append)
    )
    return emitted


def test_the_tool_is_there_only_where_the_user_switched_it_on() -> None:
    assert [tool.name for tool in suggesting.tools(session_of(options=WANTED))] == ["suggest_prompts"]
    assert not suggesting.tools(session_of(options={"prompt-suggestions": False}))
    assert not suggesting.tools(session_of(options={}))
    assert not suggesting.tools(session_of(version="legacy", options=WANTED))


async def test_suggestions_are_given_once_each() -> None:
    assert await suggest(["Compare with MSFT", " Show a chart ", "Show a chart"]) == [
        Custom("openbb.suggestions", ["Compare with MSFT", "Show a chart"])
    ]


@pytest.mark.parametrize("suggestions", [None, [], "text", [1], [" "], ["x" * 201], ["x"] * 6])
async def test_a_value_that_is_no_list_of_texts_is_returned_to_the_model(suggestions: Any) -> None:
    with pytest.raises(BadRequest, match="suggestions"):
        await suggest(suggestions)
