"""Agents of CopilotKit's remote endpoints: what they are sent, what they say and how they fail.

The lines are those that the endpoints' own SDK once sent, shortened. The real one is in `tests/contracts`.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rightseat.agents.copilotkit import EndpointAgent, EndpointAgents, Options
from rightseat.agents.event_normalizer import InvalidAgentEvent
from rightseat.core.agent import AgentGroup
from rightseat.core.ask import Answer, Ask, Principal, ToolOffer
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import AgentEndpointNotFound, AgentNotFound, AgentRefused, AgentUnreachable, NotConfigured
from rightseat.core.events import (
    Custom,
    Event,
    RunFailed,
    RunFinished,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.messages import Call, Result, Text, user
from rightseat.egress.endpoint import Endpoint
from tests.conftest import Serve

USER_ID = {"name": "userId", "type": "string", "description": "Whose.", "required": True}
INFO = {
    "actions": [{"name": "nameOf", "description": "The name of a user.", "parameters": [USER_ID]}],
    "agents": [
        {"name": "graph", "description": "a graph", "type": "langgraph"},
        {"name": "crew", "description": "a crew", "type": "crewai"},
        {"name": "modern", "description": "no lines", "type": "langgraph_agui"},
    ],
    "sdkVersion": "0.1.63",
}
Lines = list[dict[str, Any]]


class Remotely:
    """An endpoint whose agents say these lines, one list a request."""

    thread: Any = None

    def __init__(self, *answers: Lines) -> None:
        self.answers = list(answers)
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []

    async def answer(self, request: Request) -> Response:
        path = request.url.path.removeprefix("/remote")
        self.seen.append((path, await request.json()))
        self.headers.append(dict(request.headers))
        if path == "/info":
            return JSONResponse(INFO)
        if path == "/agents/state":
            return JSONResponse(self.thread)
        if path == "/actions/execute":
            return JSONResponse({"result": {"name": "User_7"}})
        lines = (f"{json.dumps(line)}\n" for line in self.answers.pop(0))
        return StreamingResponse(lines, media_type="application/json")

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [body for seen, body in self.seen if seen == path]

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/remote/{rest:path}", self.answer, methods=["POST"])])


@asynccontextmanager
async def agent(serve: Serve, remote: Remotely, name: str = "graph", **options: Any) -> AsyncIterator[EndpointAgent]:
    async with serve(remote.app) as url:
        given = Options(url=f"{url}/remote", agent=name, **options)
        async with EndpointAgent(name, given, Endpoint(given)) as built:
            yield built


async def said(agent: EndpointAgent, ask: Ask | None = None) -> list[Event]:
    return [event async for event in agent.run(ask or Ask(messages=(user("Hi"),)), DirectSteps())]


def sync(node: str, active: bool, **state: Any) -> dict[str, Any]:
    return {"event": "on_copilotkit_state_sync", "node_name": node, "active": active, "running": True, "state": state}


def chunk(**fields: Any) -> dict[str, Any]:
    return {"event": "on_chat_model_stream", "data": {"chunk": {"lc": 1, "kwargs": fields}}, "metadata": {}}


async def test_a_graph_sends_its_nodes_its_text_and_its_state(serve: Serve) -> None:
    remote = Remotely(
        [
            sync("chat", True, count=1),
            chunk(id="run-1", content="Hel"),
            chunk(id="run-1", content="lo"),
            {"event": "on_chat_model_end"},
            sync("chat", False, count=2),
            sync("__end__", False, count=2, messages=[{"role": "assistant", "content": "Hello", "id": "run-1"}]),
        ]
    )

    async with agent(serve, remote) as built:
        events = await said(built)

    assert [event for event in events if not isinstance(event, StateReplaced)] == [
        StepStarted("chat"),
        TextStarted("run-1"),
        TextDelta("run-1", "Hel"),
        TextDelta("run-1", "lo"),
        TextEnded("run-1"),
        StepEnded("chat"),
        RunFinished("done"),
    ]


async def test_output_that_a_node_hides_is_not_emitted(serve: Serve) -> None:
    quiet = chunk(id="run-1", content="secret") | {"metadata": {"copilotkit:emit-messages": False}}
    call = {"id": "c1", "name": "look", "args": "{}", "index": 0}
    silent = chunk(id="run-2", content="", tool_call_chunks=[call]) | {
        "metadata": {"copilotkit:emit-tool-calls": "see"}
    }

    async with agent(serve, Remotely([quiet, silent])) as built:
        events = await said(built)

    assert events == [RunFinished("done")]


@pytest.mark.parametrize(
    "line", [{**chunk(id="m", content="Hi"), "metadata": -1}, sync("a", True, messages=[{"id": []}])]
)
async def test_a_line_with_values_of_the_wrong_type_fails_the_run(serve: Serve, line: dict[str, Any]) -> None:
    async with agent(serve, Remotely([line])) as built:
        with pytest.raises(InvalidAgentEvent, match="wrong type"):
            await said(built)


async def test_messages_and_calls_that_a_node_emits_itself_become_events(serve: Serve) -> None:
    message = {"message_id": "m", "message": "By hand", "role": "assistant"}
    lines = [
        {"event": "on_custom_event", "name": "copilotkit_manually_emit_message", "data": message},
        {
            "event": "on_custom_event",
            "name": "copilotkit_manually_emit_tool_call",
            "data": {"id": "c", "name": "setColor", "args": {"color": "red"}},
        },
    ]

    async with agent(serve, Remotely(lines)) as built:
        events = await said(built)

    assert events == [
        *(TextStarted("m"), TextDelta("m", "By hand"), TextEnded("m")),
        *(ToolCallStarted("c", "setColor"), ToolCallDelta("c", '{"color":"red"}'), ToolCallEnded("c")),
        RunFinished("waiting"),
    ]


async def test_a_crew_sends_events_of_the_runtime(serve: Serve) -> None:
    state = {"type": "AgentStateMessage", "nodeName": "start", "active": True, "running": True, "state": '{"step":1}'}
    lines: Lines = [
        state,
        {"type": "TextMessageStart", "messageId": "c1"},
        {"type": "TextMessageContent", "messageId": "c1", "content": "Crew"},
        {"type": "TextMessageEnd", "messageId": "c1"},
        state | {"nodeName": "__end__", "active": False, "running": False, "state": '{"step":2}'},
    ]

    async with agent(serve, Remotely(lines), "crew") as built:
        events = await said(built)

    assert events == [
        StepStarted("start"),
        StateReplaced({"step": 1}),
        *(TextStarted("c1"), TextDelta("c1", "Crew"), TextEnded("c1")),
        StepEnded("start"),
        StateReplaced({"step": 2}),
        RunFinished("done"),
    ]


async def test_it_is_sent_the_ask_and_all_that_it_may_call(serve: Serve) -> None:
    remote = Remotely([])
    tool = ToolOffer("setColor", "sets it", {"type": "object"})
    ask = Ask(
        messages=(user("Hi"),),
        tools=(tool,),
        state={"n": 1},
        properties={"tenant": "t1"},
        config={"recursion_limit": 25},
    )

    async with agent(serve, remote) as built:
        await said(built, ask)

    (body,) = remote.bodies("/agents/execute")
    assert remote.bodies("/info") == [{"properties": {"tenant": "t1"}}]
    assert (body["name"], body["threadId"]) == ("graph", ask.thread_id)
    assert body["messages"] == [{"id": ask.messages[0].id, "type": "TextMessage", "role": "user", "content": "Hi"}]
    assert (body["state"], body["config"], body["properties"]) == ({"n": 1}, {"recursion_limit": 25}, {"tenant": "t1"})
    assert [action["name"] for action in body["actions"]] == ["setColor", "nameOf", "crew", "modern"]
    assert body["actions"][1]["parameters"] == {
        "type": "object",
        "properties": {"userId": {"type": "string", "description": "Whose."}},
        "required": ["userId"],
    }


async def test_only_listed_headers_are_forwarded_to_the_endpoint(serve: Serve) -> None:
    remote = Remotely([])
    ask = Ask(messages=(user("Hi"),), headers={"authorization": "Bearer caller", "x-tenant": "t1"})

    async with agent(serve, remote, forward=("x-tenant",)) as built:
        await said(built, ask)

    for headers in remote.headers:
        assert headers["x-tenant"] == "t1"
        assert "authorization" not in headers


STORED = {
    "threadId": "t1",
    "threadExists": True,
    "state": {"city": "Paris"},
    "messages": [
        {"id": "u1", "role": "user", "content": "Where?"},
        {"id": "m1", "role": "assistant", "content": "Let me see.", "parentMessageId": "u1"},
        {"id": "c1", "name": "nameOf", "arguments": {"userId": "7"}, "parentMessageId": "m1"},
        {"id": "r1", "actionExecutionId": "c1", "actionName": "nameOf", "result": "User_7"},
        {"kind": "of a later version"},
    ],
}


async def test_a_thread_that_only_the_endpoint_has_is_loaded_from_it(serve: Serve) -> None:
    remote = Remotely()
    ask = Ask(messages=(), thread_id="t1", properties={"tenant": "acme"})

    async with agent(serve, remote, headers={"x-key": "k"}) as built:
        remote.thread = STORED
        thread = await built.load_thread(ask)
        remote.thread = STORED | {key: json.dumps(STORED[key]) for key in ("state", "messages")}
        as_text = await built.load_thread(ask)
        remote.thread = {"threadId": "t1", "threadExists": False, "state": {}, "messages": []}
        absent = await built.load_thread(ask)

    assert remote.seen[0] == ("/agents/state", {"properties": {"tenant": "acme"}, "threadId": "t1", "name": "graph"})
    assert remote.headers[0]["x-key"] == "k"
    assert thread is not None
    assert (thread, absent) == (as_text, None)
    assert thread.state == {"city": "Paris"}
    assert [(one.id, one.role) for one in thread.messages] == [("u1", "user"), ("m1", "assistant"), ("r1", "tool")]
    assert thread.messages[1].parts == (Text("Let me see."), Call("c1", "nameOf", '{"userId":"7"}'))
    assert thread.messages[2].parts == (Result("c1", "nameOf", "User_7"),)


@pytest.mark.parametrize(("options", "requests"), [({}, 0), ({"client_threads": True}, 1)])
async def test_a_user_who_signed_in_loads_no_thread_of_the_endpoint_unless_the_operator_allows_it(
    serve: Serve, options: dict[str, Any], requests: int
) -> None:
    remote = Remotely()
    remote.thread = STORED

    async with agent(serve, remote, **options) as built:
        thread = await built.load_thread(Ask(messages=(), thread_id="t1", principal=Principal("eve")))

    assert len(remote.bodies("/agents/state")) == requests
    assert (thread is not None) == bool(requests)


@pytest.mark.parametrize("wrong", [[], {"threadExists": True}, {"threadExists": "yes", "state": {}, "messages": []}])
async def test_an_invalid_thread_is_an_error_that_names_what_is_wrong(serve: Serve, wrong: Any) -> None:
    remote = Remotely()
    remote.thread = wrong

    async with agent(serve, remote) as built:
        with pytest.raises(AgentUnreachable, match="`threadExists`"):
            await built.load_thread(Ask(messages=(), thread_id="t1"))


@pytest.mark.parametrize(("options", "sent"), [({}, None), ({"client_node": True}, "chat")])
async def test_the_node_that_a_client_names_reaches_it_where_the_operator_lets_it(
    serve: Serve, options: dict[str, Any], sent: str | None
) -> None:
    remote = Remotely([])

    async with agent(serve, remote, **options) as built:
        await said(built, Ask(messages=(user("Hi"),), node="chat"))

    (body,) = remote.bodies("/agents/execute")
    assert body.get("nodeName") == sent


async def test_an_action_of_the_endpoint_is_run_and_the_agent_continues_with_the_result(serve: Serve) -> None:
    call = {"id": "c1", "name": "nameOf", "args": '{"userId": "7"}', "index": 0}
    remote = Remotely(
        [chunk(id="run-1", content="", tool_call_chunks=[call]), {"event": "on_chat_model_end"}],
        [chunk(id="run-2", content="It is User_7"), {"event": "on_chat_model_end"}],
    )

    async with agent(serve, remote) as built:
        events = await said(built)

    assert ToolCallReturned("c1", "nameOf", '{"name":"User_7"}') in events
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["It is User_7"]
    assert events[-1] == RunFinished("done")
    sent = remote.bodies("/agents/execute")[1]["messages"]
    assert [one["type"] for one in sent] == ["TextMessage", "ActionExecutionMessage", "ResultMessage"]


async def test_a_question_waits_and_its_answer_is_sent(serve: Serve) -> None:
    remote = Remotely([{"event": "on_interrupt", "value": "What is your name?"}], [])

    async with agent(serve, remote) as built:
        (last,) = await said(built)
        assert isinstance(last, RunFinished)
        (asked,) = last.interrupts
        answer = Answer(asked.id, "resolved", "Ada", memo=asked.memo)
        await said(built, Ask(messages=(user("Hi"),), answers=(answer,)))

    assert (last.outcome, asked.message) == ("waiting", "What is your name?")
    assert remote.bodies("/agents/execute")[1]["metaEvents"] == [
        {"name": "LangGraphInterruptEvent", "value": "What is your name?", "response": "Ada"}
    ]


async def test_a_question_with_messages_of_its_own_comes_with_them(serve: Serve) -> None:
    said_with = [{"id": "im-1", "role": "assistant", "content": "Please approve"}]
    line = {"event": "on_copilotkit_interrupt", "data": {"value": "approve?", "messages": said_with}}

    async with agent(serve, Remotely([line])) as built:
        custom, last = await said(built)

    assert isinstance(last, RunFinished)
    (asked,) = last.interrupts
    value = {"id": asked.id, "value": "approve?", "messages": said_with}
    assert custom == Custom("copilotkit.interrupt", value)  # type: ignore[arg-type]  # a dict is invariant


async def test_its_own_words_about_a_failure_go_to_the_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    line = {"event": "on_copilotkit_error", "data": {"error": {"message": "kaboom in /srv/app.py"}}}

    async with agent(serve, Remotely([line])) as built:
        events = await said(built)

    assert events == [RunFailed("agent_failed", "The agent failed. The server's log has more.")]
    assert "kaboom in /srv/app.py" in caplog.text


async def test_an_agent_that_the_endpoint_does_not_have_is_named_with_those_it_has(serve: Serve) -> None:
    async with agent(serve, Remotely(), "nobody") as built:
        with pytest.raises(AgentNotFound, match="crew, graph, modern"):
            await said(built)


async def test_an_agent_that_remote_endpoints_cannot_run_is_refused_with_the_cure(serve: Serve) -> None:
    async with agent(serve, Remotely(), "modern") as built:
        with pytest.raises(AgentRefused, match="`type: agui`"):
            await said(built)


async def test_the_list_of_an_endpoint_is_cached_by_the_properties_of_the_ask(serve: Serve) -> None:
    remote = Remotely([], [], [])

    async with agent(serve, remote) as built:
        await said(built)
        await said(built)
        await said(built, Ask(messages=(user("Hi"),), properties={"tenant": "t1"}))

    assert remote.bodies("/info") == [{"properties": {}}, {"properties": {"tenant": "t1"}}]


async def test_a_dead_endpoint_is_tried_once_in_a_while() -> None:
    options = Options(url="http://127.0.0.1:9/remote", agent="graph")
    async with EndpointAgent("graph", options, Endpoint(options)) as built:
        problems = []
        for _ in range(2):
            with pytest.raises(AgentUnreachable) as raised:
                await said(built)
            problems.append(raised.value)

    assert problems[0] is problems[1]


async def test_an_address_without_an_endpoint_raises_an_error_of_its_own(serve: Serve) -> None:
    async with serve(Starlette()) as url:
        options = Options(url=f"{url}/nope", agent="graph")
        async with EndpointAgent("graph", options, Endpoint(options)) as built:
            with pytest.raises(AgentEndpointNotFound):
                await said(built)


async def test_a_part_without_a_name_stands_for_all_agents_of_the_endpoint(serve: Serve) -> None:
    remote = Remotely([chunk(id="run-1", content="Hi")])
    async with serve(remote.app) as url:
        options = Options(url=f"{url}/remote")
        async with EndpointAgents(options, Endpoint(options)) as several:
            listed = await several.members(Ask(messages=()))
            one = [event async for event in several.member("graph").run(Ask(messages=(user("Hi"),)), DirectSteps())]
            with pytest.raises(NotConfigured, match="remote/NAME"):
                several.run(Ask(messages=(), agent="remote"), DirectSteps())

    assert isinstance(several, AgentGroup)
    assert listed == {"graph": "a graph", "crew": "a crew", "modern": "no lines"}
    assert TextDelta("run-1", "Hi") in one
