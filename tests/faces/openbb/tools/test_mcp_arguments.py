"""What a model says to a tool of somebody else's server is held against that tool's schema before it leaves."""

from typing import Any

import pytest

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.tools.mcp import check_arguments
from rightseat.testing import ScriptedModel, says
from tests.conftest import Serve
from tests.faces.openbb.serving import app, ask, call_of, calls_of, names, question, said_to, text_of, widget

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"symbol": {"type": "string"}, "days": {"type": "integer"}, "how": {"enum": ["open", "close"]}},
    "required": ["symbol"],
    "additionalProperties": False,
}
TOOL = {"server_id": "1", "name": "market_quote", "url": "http://x.test", "description": "", "input_schema": SCHEMA}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, '"symbol" is a required property'),
        ({"symbol": 7}, 'symbol: 7 is not of type "string"'),
        ({"symbol": "A", "how": "high"}, "how: "),
        ({"symbol": "A", "nonsense": 1}, "'nonsense' was unexpected"),
    ],
)
def test_invalid_arguments_are_reported_with_their_path(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadRequest, match="market_quote") as found:
        check_arguments(arguments, SCHEMA, "market_quote")

    assert fault in found.value.message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "#/nowhere"},
        {"$schema": "http://no.test/"},
    ],
)
def test_an_invalid_schema_checks_nothing(schema: dict[str, Any]) -> None:
    check_arguments({"anything": 1}, schema, "market_quote")


async def test_invalid_arguments_go_back_to_the_model_and_workspace_gets_only_valid_ones(serve: Serve) -> None:
    right = {"symbol": "AAPL", "days": 3}
    model = ScriptedModel([calls_of(("market_quote", {"days": "3"})), calls_of(("market_quote", right))])

    async with serve(app(model)) as url:
        sent = await ask(url, question(tools=[TOOL]))

    assert call_of(sent)["input_arguments"]["parameters"] == right
    (reply,) = said_to(model.prompts[-1].messages, "tool")
    assert '"symbol" is a required property' in reply


async def test_an_argument_that_a_widget_does_not_have_goes_back_to_the_model(serve: Serve) -> None:
    model = ScriptedModel([calls_of(("read_eod_price", {"ticker": "MSFT"})), says("So be it.")])

    async with serve(app(model)) as url:
        sent = await ask(url, question(widget()))

    assert "copilotFunctionCall" not in names(sent)
    assert text_of(sent) == "So be it."
    assert said_to(model.prompts[-1].messages, "tool") == ["Eod Price has no argument ticker. It has: symbol."]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"widget": "read_news", "param": "sector"}, "There is no widget 'read_news'"),
        ({"widget": "read_screener", "param": "country"}, "Screener has no options for 'country'"),
    ],
)
async def test_options_of_what_is_not_there_are_not_asked_for(
    arguments: dict[str, Any], problem: str, serve: Serve
) -> None:
    sector = {"name": "sector", "type": "endpoint", "description": "", "get_options": True}
    model = ScriptedModel([calls_of(("get_params_options", arguments)), says("So be it.")])

    async with serve(app(model)) as url:
        sent = await ask(url, question(widget("screener", params=[sector]), widget("news")))

    assert "copilotFunctionCall" not in names(sent)
    assert problem in said_to(model.prompts[-1].messages, "tool")[0]
