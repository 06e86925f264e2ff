"""One call of a tool that no model has made, as an agent: guards judge it as they would a model's."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from rightseat.core.ask import Ask
from rightseat.core.calling import go_on, run_calls
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.events import CallDelta, CallEnded, CallStarted, Event
from rightseat.core.messages import Call
from rightseat.core.tools import Tool

T = TypeVar("T")


class OneCall:
    """With answers in the ask, it goes on with the call that they are about."""

    description = ""

    def __init__(self, call: Call, tool: Tool) -> None:
        self._call = call
        self._tools = {tool.name: tool}

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        call = self._call
        yield CallStarted(call.id, call.name)
        yield CallDelta(call.id, call.arguments)
        yield CallEnded(call.id)
        made = go_on(ask, self._tools, steps) if ask.answers else run_calls([call], self._tools, ask, steps)
        async with closing(made) as events:
            async for event in events:
                yield event


class Once:
    """Steps that are simply done: nobody goes on with a call whose client is gone."""

    is_leaving = False
    resumed = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await work()

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return source()


once = Once()
