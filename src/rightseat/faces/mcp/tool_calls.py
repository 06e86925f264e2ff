"""Runs a single tool call as an agent, so that guards check it like a call of a model."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event, ToolCallDelta, ToolCallEnded, ToolCallStarted
from rightseat.core.loop.tool_calls import resume_calls, run_calls
from rightseat.core.messages import Call
from rightseat.core.tools import Tool

T = TypeVar("T")


class SingleCallAgent:
    """With answers in the ask, it resumes the call that they belong to."""

    description = ""

    def __init__(self, call: Call, tool: Tool) -> None:
        self._call = call
        self._tools = {tool.name: tool}

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        call = self._call
        yield ToolCallStarted(call.id, call.name)
        yield ToolCallDelta(call.id, call.arguments)
        yield ToolCallEnded(call.id)
        made = resume_calls(ask, self._tools, steps) if ask.answers else run_calls([call], self._tools, ask, steps)
        async with aclosing(made) as events:
            async for event in events:
                yield event


class DirectSteps:
    """Steps without recording: a call is not resumed after its client is gone."""

    is_shutting_down = False
    resumed = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await work()

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return source()


direct_steps = DirectSteps()
