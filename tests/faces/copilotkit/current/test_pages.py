"""Pages of other origins, and other AG-UI clients."""

import pytest
from ag_ui.core import (
    Event,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    UserMessage,
)
from pydantic import TypeAdapter

from rightseat.app import Assembly, application
from rightseat.config import ConfiguredPart, Server
from rightseat.core.errors import ModelUnreachable
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.tools import Invocation, Tool
from rightseat.faces import copilotkit
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import BASE, app, asking, read, visiting
from tests.faces.copilotkit.serving import runtime

PAGE = "http://localhost:3000"
EVENT: TypeAdapter[Event] = TypeAdapter(Event)


# Other origins


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/info"),
        ("POST", "/agent/default/run"),
        ("PATCH", "/threads/t-1"),
        ("DELETE", "/threads/t-1"),
        ("GET", "/threads/t-1/stream"),
        ("POST", ""),
    ],
)
async def test_a_page_that_may_call_may_call_every_operation(serve: Serve, method: str, path: str) -> None:
    asks = {
        "origin": PAGE,
        "access-control-request-method": method,
        "access-control-request-headers": "content-type,last-event-id,x-api-key",
    }
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.options(url + BASE + path, headers=asks)
        elsewhere = await client.options(url + BASE + path, headers=asks | {"origin": "https://evil.example"})

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert method in answer.headers["access-control-allow-methods"]
    assert elsewhere.status_code == 400
    assert "access-control-allow-origin" not in elsewhere.headers


async def test_a_page_may_send_the_headers_that_are_listed_and_no_others(serve: Serve) -> None:
    part = ConfiguredPart("faces", "copilotkit", copilotkit, copilotkit.Options())
    served = application(Assembly(runtime(), [part]), Server(headers=("x-app",)))

    async with serve(served) as url, visiting(url) as client:
        answers = [
            await client.options(
                url + BASE + "/info",
                headers={
                    "origin": PAGE,
                    "access-control-request-method": "GET",
                    "access-control-request-headers": name,
                },
            )
            for name in ("x-app", "X-Api-Key", "authorization", "x-other")
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 400]


async def test_every_answer_can_be_read_by_the_page_that_may_call(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url, origin=PAGE) as client:
        answers = [
            await client.post(url + BASE + "/agent/default/run", json=asking()),
            await client.post(url + BASE + "/agent/default/connect", json=asking(None)),
            await client.get(url + BASE + "/nothing"),
            await client.post(url + BASE + "/agent/nobody/run", json=asking()),
            await client.delete(url + BASE + "/threads/t-1"),
        ]

    assert {answer.headers["access-control-allow-origin"] for answer in answers} == {PAGE}


# Other clients


async def events(serve: Serve, model: ScriptedModel, given: RunAgentInput, *tools: Tool) -> list[Event]:
    """As the official models read them."""
    agent = Loop(model, [FunctionToolbox(tools)])
    async with serve(app(runtime(looking=agent))) as url, visiting(url) as client:
        answer = await client.post(
            url + BASE + "/agui/looking",
            content=given.model_dump_json(by_alias=True, exclude_none=True),
            headers={"content-type": "application/json", "accept": "text/event-stream"},
        )
    assert answer.headers["content-type"] == "text/event-stream"
    return [EVENT.validate_python(frame.data) for frame in read(answer.content)]


def given(**more: object) -> RunAgentInput:
    return RunAgentInput(
        thread_id="t-1", run_id="r-1", messages=[UserMessage(id="u", role="user", content="Hi")], **more
    )


async def test_any_ag_ui_client_has_an_address_for_each_agent(serve: Serve) -> None:
    async def look(invocation: Invocation) -> str:
        return f"{invocation.arguments['city']}: 21 °C"

    model = ScriptedModel([calls("look", '{"city": "Paris"}'), says("War", "m")])
    tool = Tool("look", "Look.", {"type": "object"}, run=look)

    first, *between, last = await events(serve, model, given(), tool)

    assert isinstance(first, RunStartedEvent)
    assert (first.thread_id, first.run_id) == ("t-1", "r-1")
    assert first.input is not None
    assert [message.id for message in first.input.messages] == ["u"]
    assert [event.content for event in between if isinstance(event, ToolCallResultEvent)] == ["Paris: 21 °C"]
    assert "".join(event.delta for event in between if isinstance(event, ToolCallArgsEvent)) == '{"city": "Paris"}'
    assert "".join(event.delta for event in between if isinstance(event, TextMessageContentEvent)) == "Warm"
    assert isinstance(last, RunFinishedEvent)


async def test_a_failure_is_an_event_that_any_client_reads(serve: Serve) -> None:
    *_, last = await events(serve, ScriptedModel([[ModelUnreachable("The model hung up.")]]), given())

    assert isinstance(last, RunErrorEvent)
    assert (last.message, last.code) == ("The model hung up.", "model_unreachable")


async def test_that_address_is_the_run_of_the_same_agent(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await client.post("/agui/default", json=asking())
        history = read((await client.post("/agent/default/connect", json=asking(None))).content)
        unknown = await client.post("/agui/nobody", json=asking())
        got = await client.get("/agui/default")

    assert history[-1].type == "RUN_FINISHED"
    assert (unknown.status_code, got.status_code, got.headers["allow"]) == (404, 405, "POST")
