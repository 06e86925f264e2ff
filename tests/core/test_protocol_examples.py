"""The examples in the docstrings of the protocols that other packages implement: checked code that runs."""

import asyncio
import inspect
import re
import textwrap

import pytest

from rightseat.core.agent import Agent
from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Engine, Perform, Steps
from rightseat.core.events import Event, RunFailed, RunFinished, TextDelta, ToolCallReturned
from rightseat.core.guard import Guard
from rightseat.core.log import Log
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Threads
from rightseat.core.tools import Toolbox
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, check_order, says
from tests.core import protocol_examples
from tests.core.protocol_examples import (
    ClockToolbox,
    EchoModel,
    OrderAgent,
    PolitenessGuard,
    claim_and_finish,
    start_and_cancel,
    write_and_follow,
)

PROTOCOLS = (Model, Agent, Toolbox, Log, Threads, Engine, Guard)
SOURCE = inspect.getsource(protocol_examples)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_the_example_of_a_protocol_is_code_that_is_checked(protocol: type) -> None:
    blocks = re.findall(r"::\n\n((?:(?:    .*)?\n)+?)(?=\n?\S)", f"{inspect.getdoc(protocol)}\n")
    examples = [textwrap.dedent(block).strip() for block in blocks]

    assert len(examples) == 1
    assert f"\n\n\n{examples[0]}\n" in SOURCE


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_every_method_of_a_protocol_says_what_it_does(protocol: type) -> None:
    methods = {name: method for name, method in vars(protocol).items() if inspect.isfunction(method)}

    assert [name for name, method in methods.items() if name[0] != "_" and not inspect.getdoc(method)] == []


async def run(agent: Agent, text: str, guards: tuple[Guard, ...] = ()) -> list[Event]:
    runtime = Runtime({"default": agent}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine(), guards=guards)
    await runtime.open()
    ask = await runtime.start(Ask(messages=(user(text),), agent="default", principal=Principal("anna")))
    events = [entry.event async for entries in runtime.follow(ask.run_id) for entry in entries]
    await runtime.close()
    check_order(events)
    return events


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_the_model_answers_with_the_question() -> None:
    model: Model = EchoModel()

    assert text_of(await run(Loop(model), "Hi")) == "Hi"


async def test_the_agent_places_the_order() -> None:
    agent: Agent = OrderAgent()

    assert text_of(await run(agent, "Two chairs")) == "Your order is number 7."


async def test_the_tool_of_the_toolbox_is_run() -> None:
    toolbox: Toolbox = ClockToolbox()
    model = ScriptedModel([calls("tell_time"), says("It is late.")])

    events = await run(Loop(model, [toolbox]), "How late is it?")

    (result,) = (event for event in events if isinstance(event, ToolCallReturned))
    assert (result.name, result.error, result.content[:2]) == ("tell_time", None, "20")


@pytest.mark.parametrize(("question", "end"), [("More", RunFailed), ("More, please", RunFinished)])
async def test_the_guard_permits_polite_questions(question: str, end: type) -> None:
    guard: Guard = PolitenessGuard()

    events = await run(Loop(EchoModel()), question, (guard,))

    assert isinstance(events[-1], end)


async def test_a_log_is_written_and_followed() -> None:
    log: Log = MemoryLog()

    assert await write_and_follow(log) == [RunFinished("done")]


async def test_a_run_claims_its_thread_and_finishes_it() -> None:
    threads: Threads = MemoryThreads()

    thread = await claim_and_finish(threads, Ask(messages=(user("Hi"),), agent="default", principal=Principal("anna")))

    assert thread is not None
    assert [message.text for message in thread.messages] == ["Hi", "Hello."]


async def test_an_engine_cancels_a_run_that_it_has_started() -> None:
    engine: Engine = LocalEngine()
    ends: list[str] = []

    async def perform(ask: Ask, steps: Steps) -> None:
        try:
            await steps.do("wait", bool, asyncio.Event().wait)
        finally:
            ends.append(ask.run_id)

    performer: Perform = perform
    ask = Ask(messages=(user("Hi"),), agent="default", principal=Principal("anna"))

    assert await start_and_cancel(engine, ask, performer)
    assert ends == [ask.run_id]
