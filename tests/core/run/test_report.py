"""A run that ends leaves one line in the log, with what it cost and how it ended."""

import asyncio
import json
import logging
import re
from collections.abc import Sequence

import pytest

from rightseat.core.ask import Ask, ToolOffer
from rightseat.core.errors import ModelRefusedKey
from rightseat.core.events import Usage
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Model, StopChunk, TextChunk, UsageChunk
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Invocation, Tool
from rightseat.core.usage import current_usage, start_count
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.plugins.model_calls import ModelRequest, RoleModelCaller
from rightseat.stores.memory import MemoryThreads
from rightseat.telemetry.logs import ContextFilter, JsonFormatter
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says

LOGGER = "rightseat.runs"


class Safe:
    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [Tool("open_safe", "", {"type": "object"}, self._open, effect="write")]

    async def _open(self, invocation: Invocation) -> str:
        return "opened"


def runtime(model: Model) -> Runtime:
    agents = {"clerk": Loop(model, [Safe()])}
    return Runtime(agents, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())


async def finish(runtime: Runtime, ask: Ask) -> None:
    await runtime.start(ask)
    async for _ in runtime.follow(ask.run_id):
        pass
    await runtime.close()


def question(**given: object) -> Ask:
    return Ask(messages=(user("Hi"),), agent="clerk", run_id="run_1", thread_id="t1", face="openbb", **given)  # type: ignore[arg-type]  # each test gives one field


def costs(answer: ScriptedResponse, input_tokens: int, output_tokens: int) -> ScriptedResponse:
    return [*answer, UsageChunk(input_tokens, output_tokens)]


async def test_the_tokens_of_all_model_calls_are_added(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    model = ScriptedModel([costs(calls("other"), 11, 7), costs(says("Done."), 20, 3)])

    await finish(runtime(model), question())

    (line,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert re.fullmatch(
        r"run run_1 finished: thread t1, agent clerk, face openbb, \d+\.\d\d s, 31 tokens in, 10 tokens out", line
    )


@pytest.mark.parametrize(
    ("answer", "given", "outcome"),
    [
        (says("a", "b", "c"), {}, "finished"),
        ([ModelRefusedKey()], {}, "failed model_refused_key"),
        (calls("open_safe"), {}, "waiting for approval"),
        (calls("draw"), {"tools": (ToolOffer("draw", "", {"type": "object"}),)}, "waiting for the client"),
    ],
    ids=["finished", "failed", "approval", "client"],
)
async def test_the_line_says_how_the_run_ended(
    caplog: pytest.LogCaptureFixture, answer: ScriptedResponse, given: dict[str, object], outcome: str
) -> None:
    caplog.set_level(logging.INFO, LOGGER)

    await finish(runtime(ScriptedModel([answer])), question(**given))

    (line,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert line.startswith(f"run run_1 {outcome}: thread t1, ")
    assert line.endswith(", tokens unknown")


async def test_a_run_that_was_cancelled_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    has_begun = asyncio.Event()

    class Slow:
        async def stream(self, prompt: object) -> object:
            yield TextChunk("a")
            has_begun.set()
            await asyncio.Event().wait()
            yield StopChunk("stop")

    ends = runtime(Slow())  # type: ignore[arg-type]  # the generator is not annotated with every type of chunk
    await ends.start(question())
    async with asyncio.timeout(30):
        await has_begun.wait()
        await ends.cancel("run_1")
        await ends.close()

    (line,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert line.startswith("run run_1 cancelled: ")


async def test_a_json_line_has_the_same_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    caplog.handler.addFilter(ContextFilter())

    await finish(runtime(ScriptedModel([costs(says("Hi"), 5, 2)])), question())

    (record,) = [record for record in caplog.records if record.name == LOGGER]
    line = json.loads(JsonFormatter().format(record))
    assert line.pop("duration_s") >= 0
    assert {name: line[name] for name in line.keys() - {"time", "level", "logger", "message"}} == {
        "run": "run_1",
        "thread": "t1",
        "agent": "clerk",
        "face": "openbb",
        "outcome": "done",
        "input_tokens": 5,
        "output_tokens": 2,
    }


async def test_model_calls_of_flows_count_in_tasks_of_the_run_too() -> None:
    caller = RoleModelCaller(ScriptedModel([costs(says("Hi"), 5, 2)]))
    start_count()

    await asyncio.gather(caller.call(ModelRequest("a", "", "Hi")), caller.call(ModelRequest("b", "", "Hi")))

    assert current_usage() == Usage(10, 4)
