"""What every agent promises (`core.agent`). A new agent is added to `agents.SUBJECTS`, and held to all of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec
import pytest

from rightseat.agents.langgraph.runner import thread_id
from rightseat.core.agent import Agent, StoresThreads
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import RightseatError
from rightseat.core.events import (
    Event,
    RunFailed,
    RunFinished,
    RunStarted,
    StateReplaced,
    TextDelta,
    ToolCallDelta,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.loop.tool_calls import calls_in
from rightseat.core.messages import Message, Result, user
from rightseat.core.stream.reducer import Reducer
from rightseat.testing import check_order
from tests.contracts.agents import SET_COLOR, SUBJECTS, Subject
from tests.servers.running import Server, Start, start

__all__ = ["start"]

pytestmark = pytest.mark.servers


AT_NIGHT = ("agui: ag-ui-crewai",)  # CrewAI takes 30 s to start; the gate has four other agents of AG-UI


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.night if name in AT_NIGHT else ()) for name in SUBJECTS])
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


@pytest.fixture
def server(subject: Subject, start: Start) -> Server:
    return start(subject.server)


@pytest.fixture
async def agent(subject: Subject, server: Server) -> AsyncIterator[Agent]:
    async with subject.open(server.url) as opened:
        yield opened


async def run(agent: Agent, ask: Ask) -> list[Event]:
    """What the log would have: the runtime puts the beginning and the end to what an agent says."""
    events: list[Event] = [RunStarted(ask.run_id, ask.thread_id, ask.agent)]
    reducer = Reducer(ask.state)
    async with asyncio.timeout(30), aclosing(agent.run(ask, DirectSteps())) as said:  # type: ignore[type-var]  # a generator
        async for event in said:
            if isinstance(event, RunFinished | RunFailed):
                return [*events, *reducer.endings(), event]
            reducer.add(event)
            events.append(event)
    return [*events, *reducer.endings(), RunFinished("done")]


def asking(word: str, *more: Message, **fields: Any) -> Ask:
    return Ask(messages=(user(word), *more), tools=(SET_COLOR,), **fields)


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def messages_of(events: list[Event]) -> tuple[Message, ...]:
    reducer = Reducer()
    for event in events[1:-1]:
        reducer.add(event)
    return reducer.messages()


async def test_an_answer_comes_in_pieces_and_in_order(agent: Agent, subject: Subject) -> None:
    events = await run(agent, asking("hi"))

    check_order(events)
    assert text_of(events) == f"Hello from {subject.name}"
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    assert events[-1] == RunFinished("done")


async def test_a_tool_of_the_agent_is_called_and_its_result_is_emitted_once(agent: Agent) -> None:
    events = await run(agent, asking("weather"))

    check_order(events)
    assert [event.name for event in events if isinstance(event, ToolCallStarted)] == ["get_weather"]
    (returned,) = (event for event in events if isinstance(event, ToolCallReturned))
    assert (returned.name, returned.content) == ("get_weather", "sunny in Paris")
    assert text_of(events) == "Done: sunny in Paris"
    assert events[-1] == RunFinished("done")


async def test_a_tool_of_the_client_waits_for_the_client(agent: Agent) -> None:
    ask = asking("color")

    events = await run(agent, ask)

    check_order(events)
    (called,) = (event for event in events if isinstance(event, ToolCallStarted))
    arguments = "".join(event.text for event in events if isinstance(event, ToolCallDelta))
    assert (called.name, arguments) == ("setColor", '{"color": "green"}')
    assert events[-1] == RunFinished("waiting")

    result = Message("tool", (Result(called.call_id, "setColor", "painted"),))
    again = Ask(messages=(*ask.messages, *messages_of(events), result), tools=(SET_COLOR,), thread_id=ask.thread_id)
    events = await run(agent, again)

    check_order(events)
    assert text_of(events) == "Done: painted"
    assert events[-1] == RunFinished("done")


async def test_a_question_is_asked_and_the_answer_reaches_it(agent: Agent, subject: Subject) -> None:
    if subject.answer is None:
        pytest.skip("the agent of this server asks no questions")
    ask = asking("ask")

    events = await run(agent, ask)

    check_order(events)
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome == "waiting"
    (asked,) = last.interrupts
    assert asked.message

    answer = Answer(asked.id, "resolved", subject.answer, memo=asked.memo)
    again = Ask(
        messages=(*ask.messages, *messages_of(events)),
        thread_id=ask.thread_id,
        answers=(answer,),
        state=state_of(events),
        tools=(SET_COLOR,),
    )
    events = await run(agent, again)

    check_order(event for event in events if not isinstance(event, ToolCallReturned))  # of a call of the first run
    assert text_of(events) == subject.agreed
    assert events[-1] == RunFinished("done")


def state_of(events: list[Event]) -> Any:
    states = [event.state for event in events if isinstance(event, StateReplaced)]
    return states[-1] if states else None


async def test_a_failure_fails_the_run_and_shows_no_insides(agent: Agent) -> None:
    try:
        events = await run(agent, asking("fail"))
    except RightseatError as error:
        told = error.message
    else:
        last = events[-1]
        assert isinstance(last, RunFailed)
        told = last.message

    assert told
    assert "/srv/secret.py" not in told


async def test_a_run_that_is_stopped_stops_there_too(agent: Agent, subject: Subject, server: Server) -> None:
    earlier = server.notes().count(subject.stops)

    async with asyncio.timeout(30):
        async with aclosing(agent.run(asking("slow"), DirectSteps())) as events:  # type: ignore[type-var]  # a generator
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await server.notes_more(subject.stops, earlier)


async def test_langgraphs_own_server_marks_a_stopped_run_as_interrupted(start: Start) -> None:
    subject = SUBJECTS["langgraph: langgraph dev"]
    server, ask = start(subject.server), asking("slow")
    runs = f"{server.url}/threads/{thread_id(ask)}/runs"

    async with asyncio.timeout(30), subject.open(server.url) as agent, httpx2.AsyncClient() as client:
        async with aclosing(agent.run(ask, DirectSteps())) as events:  # type: ignore[type-var]  # a generator
            async for event in events:
                if isinstance(event, TextDelta):
                    break
            before = [one["status"] for one in (await client.get(runs)).json()]
        after = before
        while after == ["running"]:
            after = [one["status"] for one in (await client.get(runs)).json()]

    assert before == ["running"]
    assert after == ["interrupted"]


@pytest.mark.parametrize(
    "name", ["copilotkit: copilotkit 0.1.63", "langgraph: langgraph dev", "langgraph: in this process"]
)
async def test_a_thread_is_loaded_from_the_agent_that_stores_it(start: Start, name: str) -> None:
    subject, ask = SUBJECTS[name], asking("weather")

    async with subject.open(start(subject.server).url) as agent:
        assert isinstance(agent, StoresThreads)
        absent = await agent.load_thread(asking("hi"))  # another thread: the SDK remembers which it did not have
        await run(agent, ask)
        thread = await agent.load_thread(ask)
        others = await agent.load_thread(msgspec.structs.replace(ask, principal=Principal("eve")))

    assert (absent, others) == (None, None)
    assert thread is not None
    assert [one.role for one in thread.messages] == ["user", "assistant", "tool", "assistant"]
    assert thread.messages[0].id == ask.messages[0].id
    (call,) = calls_in(thread.messages)
    (result,) = (part for one in thread.messages for part in one.parts if isinstance(part, Result))
    assert (call.name, result.call_id, result.content) == ("get_weather", call.id, "sunny in Paris")
    assert thread.messages[-1].text == "Done: sunny in Paris"
    assert isinstance(thread.state, dict)
    assert "messages" not in thread.state


async def test_two_runs_at_once_do_not_mix(agent: Agent, subject: Subject) -> None:
    one, other = await asyncio.gather(run(agent, asking("hi")), run(agent, asking("weather")))

    assert text_of(one) == f"Hello from {subject.name}"
    assert text_of(other) == "Done: sunny in Paris"
