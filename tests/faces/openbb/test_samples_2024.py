"""The requests that OpenBB's description of 2024 prints, sent as they stand there."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2

from rightseat.core.errors import ModelUnreachable
from rightseat.testing import ScriptedModel, calls, says
from tests.conftest import Serve
from tests.faces.openbb.serving import app, ask, events, post, said_to, text_of

SAMPLES = Path(__file__).parents[2] / "recordings" / "openbb-2024"
QUESTION = {"messages": [{"role": "human", "content": "Hi there."}]}
"""For samples that show one field of a request alone."""

MISSING_BRACKET = ("    }\n}\n", "    }\n  ]\n}\n")
"""The second request about AAPL does not close its list of widgets."""

AAPL = "38181a68-9650-4940-84fb-a3f29c8869f3"


def sample(name: str) -> dict[str, Any]:
    """The request without the comments and ellipses of the page."""
    text = (SAMPLES / f"{name}.txt").read_text()
    if name == "aapl-second":
        text = text.replace(*MISSING_BRACKET)
    text = re.sub(r"^# .*$|  *# <--.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *\.\.\.,?\n", "", text, flags=re.MULTILINE)
    found: dict[str, Any] = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return found


async def test_the_whole_schema_is_taken(serve: Serve) -> None:
    model = ScriptedModel([says("Hi!")])

    async with serve(app(model)) as url:
        sent = await ask(url, sample("schema"))

    assert text_of(sent) == "Hi!"
    assert "<metadata key>=<metadata value>" in "\n".join(said_to(model.prompts[0].messages, "system"))


async def test_one_message_and_several_reach_the_model_in_their_order(serve: Serve) -> None:
    model = ScriptedModel([says("Hi!"), says("Sunny.")])

    async with serve(app(model)) as url:
        first = await ask(url, sample("one-message"))
        second = await ask(url, sample("several-messages"))

    assert (text_of(first), text_of(second)) == ("Hi!", "Sunny.")
    assert said_to(model.prompts[0].messages, "user") == ["Hi there."]
    roles = [message.role for message in model.prompts[1].messages if message.role != "system"]
    assert roles == ["user", "assistant", "user"]


async def test_the_example_of_three_chunks_is_sent_to_the_byte(serve: Serve) -> None:
    async with serve(app(ScriptedModel([says("H", "i", "!")]))) as url:
        answer = await post(url, sample("one-message"))

    assert answer.text.replace("\r\n", "\n").strip() == (SAMPLES / "three-chunks.txt").read_text().strip()


async def test_context_reaches_the_model_with_its_metadata(serve: Serve) -> None:
    model = ScriptedModel([says("Up.")])

    async with serve(app(model)) as url:
        await ask(url, QUESTION | sample("context"))

    known = "\n".join(said_to(model.prompts[0].messages, "system"))
    for words in ("Analyst Estimates", "Contains analyst estimates for a ticker", "Earnings Transcripts", "<data>"):
        assert words in known
    assert "symbol=AAPL, period=quarter, source=Financial Modelling Prep, lastUpdated=1728998071322" in known
    assert "symbol=AAPL, period=quarter, source=Intrinio, lastUpdated=1728998071322" in known
    assert re.search(r"source=Financial Modelling Prep, lastUpdated=\d+\n<data>\n", known)


async def test_each_widget_is_a_tool_with_a_description_of_its_data(serve: Serve) -> None:
    model = ScriptedModel([says("Hi!")])

    async with serve(app(model)) as url:
        await ask(url, QUESTION | sample("widgets"))

    assert [tool.description for tool in model.prompts[0].tools if tool.name.startswith("read_")] == [
        'Reads the widget "Stock Price Quote Widget". Contains the current stock price of a ticker. '
        "On the dashboard: ticker=AAPL.",
        'Reads the widget "Financial Ratios Widget". Displays key financial ratios for a company. '
        "On the dashboard: ticker=AAPL, period=TTM.",
    ]


async def test_a_widget_on_the_dashboard_is_not_described_as_picked_for_the_question(serve: Serve) -> None:
    bare = {"uuid": AAPL, "name": "News", "description": "Headlines"}
    today = {"uuid": AAPL, "origin": "O", "widget_id": "news", "name": "News", "description": "Headlines"}
    model = ScriptedModel([says("Hi!"), says("Hi!"), says("Hi!")])

    async with serve(app(model)) as url:
        for widgets in ([bare], {"secondary": [today]}, {"primary": [today]}):
            await ask(url, QUESTION | {"widgets": widgets})

    said = 'Reads the widget "News"'
    assert [prompt.tools[0].description for prompt in model.prompts] == [
        f"{said}. Headlines. It is on the dashboard.",
        f"{said} of O. Headlines.",
        f"{said} of O. Headlines. The user picked it for this question.",
    ]
    prompts = "\n".join(said_to(model.prompts[0].messages, "system"))
    assert "picked" not in prompts


async def test_a_call_and_its_result_come_back_in_the_messages(serve: Serve) -> None:
    model = ScriptedModel([says("It is that.")])
    request = sample("call-and-result") | sample("widgets")
    request["messages"] = [*QUESTION["messages"], *request["messages"]]

    async with serve(app(model)) as url:
        sent = await ask(url, request)

    assert text_of(sent) == "It is that."


async def test_the_price_of_aapl_is_read_from_its_widget_and_sent_to_the_user(serve: Serve) -> None:
    said = "The current stock price of Apple Inc. (AAPL) is $150.75."
    model = ScriptedModel([calls("read_Historical_Stock_Price"), says(said)])

    async with serve(app(model)) as url:
        first = await ask(url, sample("aapl-first"))
        second = await ask(url, sample("aapl-second"))

    (name, call), *more = first
    assert (name, more) == ("copilotFunctionCall", [])
    assert call["function"] == "get_widget_data"
    assert call["input_arguments"] == {"widget_uuid": AAPL}
    assert {name for name, _ in second} == {"copilotMessageChunk"}
    assert text_of(second) == said
    assert "233.85" in str(model.prompts[1].messages)


async def test_a_failure_is_sent_in_an_event_that_clients_of_2024_know(serve: Serve) -> None:
    model = ScriptedModel([[ModelUnreachable("upstream timeout")]])

    async with serve(app(model)) as url:
        sent = await ask(url, sample("one-message"))

    assert {name for name, _ in sent} == {"copilotMessageChunk"}
    assert "upstream timeout" in text_of(sent)


async def test_an_address_with_the_name_of_an_agent_is_of_today(serve: Serve) -> None:
    model = ScriptedModel([[ModelUnreachable("upstream timeout")]])

    async with serve(app(model)) as url, httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/v1/query/default", json=sample("one-message"))

    assert "copilotStatusUpdate" in {name for name, _ in events(answer.text)}
