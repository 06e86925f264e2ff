"""Agents that speak AG-UI: what they are sent, and how they fail. What they say is in `tests/contracts`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rightseat.agents.agui import AguiAgent, Options
from rightseat.agents.event_normalizer import InvalidAgentEvent
from rightseat.core.ask import Answer, Ask, Context, ToolOffer
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import AgentEndpointNotFound, AgentError, AgentRefused, AgentTimeout, AgentUnreachable
from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    TextDelta,
    TextEnded,
    ToolCallReturned,
)
from rightseat.core.events import TextStarted as Started
from rightseat.core.messages import Call, Message, user
from rightseat.core.types import JsonValue
from rightseat.wire.agui import BadEvent
from tests.conditions import Paced
from tests.conftest import Serve
from tests.tcp import Visit, playing

BEGIN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


class Script:
    """An agent that says these events, and remembers what it was sent."""

    def __init__(self, *events: dict[str, Any], status: int = 200, kind: str = "text/event-stream") -> None:
        self.events = events
        self.status = status
        self.kind = kind
        self.sent: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    async def answer(self, request: Request) -> Response:
        self.sent.append(await request.json())
        self.headers.append(dict(request.headers))
        if self.status != 200:
            return JSONResponse({"detail": "key sk-secret-1 in /srv/app.py"}, self.status)
        frames = (f"data: {json.dumps(event)}\n\n" for event in self.events)
        return StreamingResponse(frames, media_type=self.kind)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/", self.answer, methods=["POST"])])


@asynccontextmanager
async def agent(serve: Serve, script: Script, **options: Any) -> AsyncIterator[AguiAgent]:
    async with serve(script.app) as url, AguiAgent(Options(url=url, **options)) as built:
        yield built


async def said(agent: AguiAgent, ask: Ask | None = None) -> list[Event]:
    return [event async for event in agent.run(ask or Ask(messages=(user("Hi"),)), DirectSteps())]


async def test_it_is_sent_all_of_the_ask(serve: Serve) -> None:
    script = Script(BEGIN, END)
    tool = ToolOffer("setColor", "sets it", {"type": "object"})
    ask = Ask(
        messages=(user("Hi"),),
        tools=(tool,),
        context=(Context("page", "home"),),
        state={"n": 1},
        properties={"tenant": "t1"},
    )

    async with agent(serve, script) as built:
        await said(built, ask)

    assert script.sent == [
        {
            "threadId": ask.thread_id,
            "runId": ask.run_id,
            "state": {"n": 1},
            "messages": [{"id": ask.messages[0].id, "role": "user", "content": "Hi"}],
            "tools": [{"name": "setColor", "description": "sets it", "parameters": {"type": "object"}}],
            "context": [{"description": "page", "value": "home"}],
            "forwardedProps": {"tenant": "t1"},
        }
    ]


@pytest.mark.parametrize(("options", "sent"), [({}, {}), ({"client_node": True}, {"nodeName": "chat"})])
async def test_the_node_that_a_client_names_reaches_it_where_the_operator_lets_it(
    serve: Serve, options: dict[str, Any], sent: dict[str, str]
) -> None:
    script = Script(BEGIN, END)

    async with agent(serve, script, **options) as built:
        await said(built, Ask(messages=(user("Hi"),), node="chat"))

    assert script.sent[0]["forwardedProps"] == sent


async def test_only_listed_headers_are_forwarded_to_the_agent(serve: Serve) -> None:
    script = Script(BEGIN, END)
    ask = Ask(messages=(user("Hi"),), headers={"Authorization": "Bearer caller", "x-tenant": "t1", "x-other": "o"})

    given = {"authorization": "Bearer ours"}
    async with agent(serve, script, forward=("X-Tenant", "Authorization"), headers=given) as built:
        await said(built, ask)

    headers = script.headers[0]
    assert (headers["authorization"], headers["x-tenant"]) == ("Bearer ours", "t1")
    assert "x-other" not in headers


async def test_an_answer_to_its_question_is_sent_as_a_resume(serve: Serve) -> None:
    script = Script(BEGIN, END)
    answers = (Answer("int-1", "resolved", {"approved": True}), Answer("int-2", "cancelled"))

    async with agent(serve, script) as built:
        await said(built, Ask(messages=(user("Hi"),), answers=answers))

    assert script.sent[0]["resume"] == [
        {"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "int-2", "status": "cancelled"},
    ]


async def test_a_question_in_langgraphs_own_words_is_answered_in_them(serve: Serve) -> None:
    asked = {"type": "CUSTOM", "name": "on_interrupt", "value": {"field": "name"}, "rawEvent": {"id": "lg-1"}}
    script = Script(BEGIN, asked, END)

    async with agent(serve, script) as built:
        *_, custom, last = await said(built)
        assert isinstance(last, RunFinished)
        (interrupt,) = last.interrupts
        answer = Answer(interrupt.id, "resolved", "Ada", memo=interrupt.memo)
        await said(built, Ask(messages=(user("Hi"),), answers=(answer,), properties={"tenant": "t1"}))

    assert custom == Custom("on_interrupt", {"field": "name"})
    assert last.outcome == "waiting"
    assert interrupt.message == '{"field":"name"}'
    assert script.sent[1]["forwardedProps"] == {"tenant": "t1", "command": {"resume": "Ada"}}
    assert "resume" not in script.sent[1]


async def test_a_question_in_agui_s_words_under_langgraphs_name_is_answered_in_agui_s(serve: Serve) -> None:
    """So asks CrewAI's adapter, unless it is told otherwise."""
    value = {"id": "thread-1", "reason": "crewai:human_feedback", "message": "What is your name?"}
    script = Script(BEGIN, {"type": "CUSTOM", "name": "on_interrupt", "value": value}, END)

    async with agent(serve, script) as built:
        *_, last = await said(built)
        assert isinstance(last, RunFinished)
        (interrupt,) = last.interrupts
        await said(built, Ask(messages=(user("Hi"),), answers=(Answer(interrupt.id, "resolved", "Ada"),)))

    assert (interrupt.id, interrupt.message) == ("thread-1", "What is your name?")
    assert script.sent[1]["resume"] == [{"interruptId": "thread-1", "status": "resolved", "payload": "Ada"}]
    assert "command" not in script.sent[1]["forwardedProps"]


async def test_a_cancelled_langgraph_interrupt_is_resumed_as_by_its_adapter(serve: Serve) -> None:
    script = Script(BEGIN, END)
    memo: JsonValue = {"kind": "agui.on_interrupt", "id": "lg-1", "value": "?"}

    async with agent(serve, script) as built:
        await said(built, Ask(messages=(user("Hi"),), answers=(Answer("i", "cancelled", memo=memo),)))

    assert script.sent[0]["forwardedProps"]["command"] == {"resume": {"__agui_cancelled__": True}}


async def test_messages_that_are_only_in_a_snapshot_are_emitted_too(serve: Serve) -> None:
    ask = Ask(messages=(user("Hi"),))
    shot = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {"id": "old", "role": "assistant", "content": "Earlier"},
            {"id": ask.messages[0].id, "role": "user", "content": "Hi"},
            {"id": "m1", "role": "assistant", "content": "Streamed"},
            {"id": "m2", "role": "assistant", "content": "Never streamed"},
        ],
    }
    script = Script(BEGIN, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "other", "delta": "Streamed"}, shot, shot, END)

    async with agent(serve, script) as built:
        events = await said(built, ask)

    assert [(event.message_id, event.text) for event in events if isinstance(event, TextDelta)] == [
        ("other", "Streamed"),
        ("m2", "Never streamed"),
    ]


async def test_a_call_whose_result_is_only_in_a_snapshot_does_not_wait(serve: Serve) -> None:
    ask = Ask(messages=(user("Hi"),))
    function = {"name": "look", "arguments": "{}"}
    call = {"id": "a", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function", "function": function}]}
    result = {"id": "r", "role": "tool", "toolCallId": "c1", "content": "seen"}
    shot = {"type": "MESSAGES_SNAPSHOT", "messages": [call, result]}

    async with agent(serve, Script(BEGIN, shot, END)) as built:
        events = await said(built, ask)

    assert [event for event in events if isinstance(event, ToolCallReturned)] == [
        ToolCallReturned("c1", "look", "seen", message_id="r")
    ]
    assert events[-1] == RunFinished("done")


async def test_the_result_of_a_call_that_waited_has_the_name_of_its_tool(serve: Serve) -> None:
    earlier = Message("assistant", (Call("c1", "delete_file", "{}"),))
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c1", "content": "deleted"}

    async with agent(serve, Script(BEGIN, result, END)) as built:
        events = await said(built, Ask(messages=(user("Hi"), earlier)))

    assert events[0] == ToolCallReturned("c1", "delete_file", "deleted", message_id="r")


async def test_a_text_that_begins_again_is_another(serve: Serve) -> None:
    text = [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]

    async with agent(serve, Script(BEGIN, *text, *text, END)) as built:
        events = await said(built)

    assert events == [
        *(Started("m"), TextDelta("m", "a"), TextEnded("m")),
        *(Started("m-2"), TextDelta("m-2", "a"), TextEnded("m-2")),
        RunFinished("done"),
    ]


async def test_raw_events_are_omitted_unless_configured(serve: Serve) -> None:
    raw = {"type": "RAW", "event": {"event": "on_chain_start"}}
    script = Script(BEGIN, raw, END)

    async with agent(serve, script) as built, agent(serve, script, raw=True) as talkative:
        plain, whole = await said(built), await said(talkative)

    assert plain == [RunFinished("done")]
    assert [type(event) for event in whole] == [Custom, RunFinished]


async def test_its_own_words_about_a_failure_are_not_shown_unless_it_is_asked_for(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(BEGIN, {"type": "RUN_ERROR", "message": "kaboom in /srv/app.py", "code": "BOOM"})

    async with agent(serve, script) as built, agent(serve, script, show_errors=True) as frank:
        hidden, shown = await said(built), await said(frank)

    assert hidden == [RunFailed("BOOM", "The agent failed. The server's log has more.")]
    assert shown == [RunFailed("BOOM", "kaboom in /srv/app.py")]
    assert "kaboom in /srv/app.py" in caplog.text


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, AgentEndpointNotFound), (401, AgentRefused), (422, AgentRefused), (500, AgentUnreachable)],
)
async def test_a_refusal_has_its_kind_and_leaves_the_rest_to_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture, status: int, error: type[AgentError]
) -> None:
    async with agent(serve, Script(status=status), headers={"x-key": "sk-secret-1"}) as built:
        with pytest.raises(error) as raised:
            await said(built)

    assert f"HTTP {status}" in raised.value.message
    assert "/srv/app.py" not in raised.value.message
    assert "/srv/app.py" in caplog.text
    assert "sk-secret-1" not in caplog.text


async def test_an_answer_that_is_no_stream_of_events_is_refused(serve: Serve) -> None:
    async with agent(serve, Script(END, kind="text/html")) as built:
        with pytest.raises(AgentUnreachable, match="sent text/html instead of text/event-stream"):
            await said(built)


async def test_an_answer_without_an_end_broke_off(serve: Serve) -> None:
    async with agent(serve, Script(BEGIN)) as built:
        with pytest.raises(AgentUnreachable, match="closed its response before the end of the run"):
            await said(built)


async def test_a_server_that_only_sends_comments_is_silent() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        async for _ in Paced(count(), 0.02):
            await visit.send(b": still here\n\n")

    async with (
        playing(script) as server,
        asyncio.timeout(30),
        AguiAgent(Options(url=server.url, timeout=0.2)) as silent,
    ):
        with pytest.raises(AgentTimeout, match=r"sent no event for 0\.2 s.*`timeout`"):
            await said(silent)


async def test_a_refused_connection_is_reported_at_once() -> None:
    async with AguiAgent(Options(url="http://127.0.0.1:9/agent")) as built:
        with pytest.raises(AgentUnreachable, match="Connection refused"):
            await said(built)


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}, InvalidAgentEvent),
        ({"type": "TEXT_MESSAGE_START"}, BadEvent),
        ({"type": {}}, InvalidAgentEvent),
        ({"type": "TEXT_MESSAGE_END", "messageId": []}, InvalidAgentEvent),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "user"}]}, BadEvent),
    ],
)
async def test_an_event_that_makes_no_sense_fails_the_run(
    serve: Serve, event: dict[str, Any], error: type[Exception]
) -> None:
    async with agent(serve, Script(BEGIN, event, END)) as built:
        with pytest.raises(error):
            await said(built)


async def test_interrupts_of_agui_are_passed_on(serve: Serve) -> None:
    asked = {"id": "i1", "reason": "tool_call", "message": "May I?", "toolCallId": "c1"}
    script = Script(BEGIN, END | {"outcome": {"type": "interrupt", "interrupts": [asked]}})

    async with agent(serve, script) as built:
        events = await said(built)

    assert events == [RunFinished("waiting", (Interrupt("i1", "tool_call", "May I?", "c1"),))]


@pytest.mark.parametrize("wrong", [{"url": "ftp://x"}, {"url": "http://x", "headers": {"a b": "c"}}, {}])
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Options(**wrong)
