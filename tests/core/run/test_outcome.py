"""Where a run failed, as hooks and log lines have it."""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentUnreachable, GuardDenied, MaxTurnsExceeded, ModelUnreachable
from rightseat.core.events import Event, RunFailed, StepEnded, StepStarted, ToolCallReturned
from rightseat.core.hooks import Hooks
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import make_handoff_tool
from rightseat.core.messages import user
from rightseat.core.run.outcome import Failure, mark_origin, source_of
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Invocation, Tool
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.telemetry.logs import JsonFormatter
from rightseat.testing import ScriptedModel, calls
from tests.core.test_runtime import saying


class Given:
    """A toolbox with one tool."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    async def tools(self, ask: Ask) -> list[Tool]:
        return [self._tool]


async def failures(agents: Mapping[str, Agent] | Agent) -> list[Failure]:
    """What the hook gets of one run of the agent `default`."""
    seen: list[Failure] = []

    async def on_error(ask: Ask, failure: Failure) -> None:
        seen.append(failure)

    known = agents if isinstance(agents, Mapping) else {"default": agents}
    hooks = Hooks(on_error=[on_error])
    runtime = Runtime(known, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine(), hooks=hooks)
    ask = Ask(messages=(user("my secret question"),))
    await runtime.start(ask)
    async for _ in runtime.follow(ask.run_id):
        pass
    await runtime.close()
    return seen


def place(failure: Failure) -> tuple[str, ...]:
    return failure.source, failure.operation, failure.target, failure.agent, failure.node


async def test_a_model_that_fails_is_named_with_the_agent_that_called_it() -> None:
    (failure,) = await failures(Loop(ScriptedModel([[ModelUnreachable("gone")]])))

    assert failure.code == "model_unreachable"
    assert place(failure) == ("model", "call_model", "ScriptedModel", "default", "")
    assert 0 <= failure.duration_s < 60


async def test_an_agent_that_fails_is_named_with_its_node() -> None:
    (failure,) = await failures(saying(StepStarted("chat"), StepStarted("search"), AgentUnreachable("gone")))

    assert place(failure) == ("agent", "run_agent", "", "default", "search")


async def test_the_node_is_the_last_that_ran_where_the_agent_has_left_it() -> None:
    (failure,) = await failures(saying(StepStarted("chat"), StepEnded("chat"), RunFailed("out_of_ideas", "Sorry.")))

    assert (failure.code, failure.message) == ("out_of_ideas", "Sorry.")
    assert place(failure) == ("agent", "run_agent", "", "default", "chat")


async def test_an_exception_of_an_agents_code_is_the_agents() -> None:
    (failure,) = await failures(saying(ValueError("my secret question")))

    assert failure.code == "internal_error"
    assert place(failure) == ("agent", "run_agent", "", "default", "")
    assert "secret" not in failure.message


async def test_an_agent_that_was_called_by_another_is_the_one_that_is_named() -> None:
    helper = saying(StepStarted("look"), AgentUnreachable("gone"))
    model = ScriptedModel([calls("helper")])

    (failure,) = await failures(Loop(model, [Given(make_handoff_tool("helper", helper, "It helps."))]))

    assert place(failure) == ("agent", "call_tool", "helper", "helper", "look")


async def test_an_exception_of_a_tools_code_is_the_tools() -> None:
    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        yield ToolCallReturned(invocation.call_id, "report", "begun")
        raise ValueError("my secret question")

    tool = Tool("report", "", {"type": "object"}, stream=stream)

    (failure,) = await failures(Loop(ScriptedModel([calls("report")]), [Given(tool)]))

    assert place(failure) == ("tool", "call_tool", "report", "default", "")


@pytest.mark.parametrize("error", [GuardDenied("No.", "topics"), MaxTurnsExceeded(3)])
def test_what_the_server_itself_refuses_is_the_runtimes(error: Exception) -> None:
    assert source_of(error, "run_agent") == source_of(error, "call_model") == "runtime"


def test_the_innermost_mark_of_an_exception_stays() -> None:
    error = ModelUnreachable("gone")
    mark_origin(error, "call_model", "small")
    mark_origin(error, "call_tool", "helper")

    assert error.rightseat_origin == ("call_model", "small")  # type: ignore[attr-defined]  # `mark` sets it


async def test_the_json_line_of_a_failed_run_has_the_same_fields_and_no_message_text() -> None:
    lines: list[dict[str, Any]] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonFormatter().format(record)))

    kept, logger = Kept(), logging.getLogger("rightseat.core.run.outcome")
    logger.addHandler(kept)
    try:
        (failure,) = await failures(saying(StepStarted("chat"), AgentUnreachable("gone")))
    finally:
        logger.removeHandler(kept)

    (line,) = lines
    assert {name: line[name] for name in ("code", "source", "operation", "agent", "node", "duration_s")} == {
        "code": "agent_unreachable",
        "source": "agent",
        "operation": "run_agent",
        "agent": "default",
        "node": "chat",
        "duration_s": failure.duration_s,
    }
    assert "target" not in line
    assert "secret question" not in json.dumps(line)
