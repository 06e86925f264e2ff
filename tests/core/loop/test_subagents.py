"""Agents as tools of a model."""

from collections.abc import AsyncIterator

from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import DirectSteps, Steps
from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    StateReplaced,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallReturned,
)
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox, make_handoff_tool
from rightseat.core.messages import Call, user
from rightseat.core.tools import Tool
from rightseat.testing import ScriptedModel, calls, check_pairs, says


class Says:
    """An agent that says these events, and remembers what it was asked."""

    description = "knows the weather"

    def __init__(self, *events: Event) -> None:
        self.events = events
        self.asks: list[Ask] = []

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        self.asks.append(ask)
        for event in self.events:
            yield event


WORDS = (TextStarted("m1"), TextDelta("m1", "Sunny"), TextEnded("m1"))


class Handing:
    def __init__(self, agent: Says) -> None:
        self._agent = agent

    async def tools(self, ask: Ask) -> list[Tool]:
        return [make_handoff_tool("crew", self._agent, "a crew")]


async def said(loop: Loop, ask: Ask) -> list[Event]:
    return [event async for event in loop.run(ask, DirectSteps())]


async def test_a_model_asks_an_agent_and_gets_its_last_words() -> None:
    colleague = Says(StateReplaced({"n": 1}), *WORDS)
    model = ScriptedModel([calls("weather", '{"question": "And in Paris?"}'), says("It is sunny.")])

    events = await said(Loop(model, (AgentToolbox({"weather": colleague}),)), Ask(messages=(user("Hi"),)))

    check_pairs(events)
    assert ToolCallReturned("call_1", "weather", "Sunny") in events
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Sunny", "It is sunny."]
    assert not any(isinstance(event, StateReplaced) for event in events)
    (ask,) = colleague.asks
    assert [message.text for message in ask.messages] == ["And in Paris?"]
    assert ask.agent == "weather"
    assert model.prompts[0].tools[0].description == "knows the weather"


async def test_an_agent_that_fails_is_a_tool_that_failed() -> None:
    colleague = Says(RunFailed("agent_failed", "No weather today."))
    model = ScriptedModel([calls("weather", '{"question": "?"}'), says("Sorry.")])

    events = await said(Loop(model, (AgentToolbox({"weather": colleague}),)), Ask(messages=(user("Hi"),)))

    assert ToolCallReturned("call_1", "weather", "No weather today.", "agent_failed") in events


async def test_a_question_of_an_agent_that_was_asked_comes_back_to_it() -> None:
    colleague = Says(RunFinished("waiting", (Interrupt("i1", "on_interrupt", "Where?", memo={"k": 1}),)))
    model = ScriptedModel([calls("weather", '{"question": "?"}'), says("Sunny, then.")])
    loop = Loop(model, (AgentToolbox({"weather": colleague}),))

    *_, last = await said(loop, Ask(messages=(user("Hi"),)))
    assert last == RunFinished("waiting", (Interrupt("i1", "on_interrupt", "Where?", "call_1", memo={"k": 1}),))

    colleague.events = WORDS
    answer = Answer("i1", "resolved", "Paris", Call("call_1", "weather", '{"question": "?"}'), {"k": 1})
    events = await said(loop, Ask(messages=(user("Hi"),), answers=(answer,)))
    assert ToolCallReturned("call_1", "weather", "Sunny") in events
    assert [(one.interrupt_id, one.payload) for one in colleague.asks[1].answers] == [("i1", "Paris")]


async def test_agents_that_ask_each_other_come_to_an_end() -> None:
    model = ScriptedModel(
        lambda prompt: calls("echo", '{"question": "?"}') if len(prompt.messages) == 1 else says("End")
    )
    colleagues: dict[str, Loop] = {}
    colleagues["echo"] = Loop(model, (AgentToolbox(colleagues),))

    events = await said(colleagues["echo"], Ask(messages=(user("Hi"),)))

    assert [event.error for event in events if isinstance(event, ToolCallReturned)].count("too_deep") == 1
    assert [event.text for event in events if isinstance(event, TextDelta)][-1] == "End"


async def test_a_model_that_hands_over_is_not_asked_again() -> None:
    crew = Says(StateReplaced({"n": 1}), *WORDS)
    model = ScriptedModel([calls("crew")])

    events = await said(Loop(model, (Handing(crew),)), Ask(messages=(user("Hi"),)))

    returned = events.index(ToolCallReturned("call_1", "crew", "crew agent started"))
    assert events[returned + 1 :] == [
        Custom("agent.entered", "crew"),
        StateReplaced({"n": 1}),
        *WORDS,
        Custom("agent.left", "crew"),
        RunFinished("done"),
    ]
    assert len(model.prompts) == 1
