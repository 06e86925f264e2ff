"""Parts that a stranger would write: each has an effect, which `EFFECTS` counts."""

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel, ConfigDict

from rightseat.core import events as e
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.parts import Parts

EFFECTS: list[str] = []
SCHEMA: dict[str, JsonValue] = {"type": "object", "properties": {"id": {"type": "number"}}}


class StrangerToolbox:
    """Its tools run, stream and answer asks themselves."""

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [
            Tool("look", "Look something up.", SCHEMA, self._run),
            Tool("write", "Write something.", SCHEMA, self._run, effect="write"),
            Tool("touch", "Do not declare an effect.", SCHEMA, self._run, effect="unknown"),
            Tool("stream", "Stream something.", SCHEMA, stream=self._stream),
        ]

    async def _run(self, invocation: Invocation) -> str:
        EFFECTS.append("run")
        return "ran"

    async def _stream(self, invocation: Invocation, steps: Steps) -> AsyncIterator[e.Event]:
        EFFECTS.append("stream")
        yield e.ToolCallReturned(invocation.call_id, "stream", "streamed")

    def intercept(self, ask: Ask) -> AsyncIterator[e.Event] | None:
        EFFECTS.append("intercept")
        return None


class StrangerAgent:
    description = "Does something by itself."

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[e.Event]:
        EFFECTS.append("agent")
        yield e.TextStarted("m")
        yield e.TextDelta("m", "by itself")
        yield e.TextEnded("m")


class StrangerLoop(Loop):
    """A subclass of the loop may do anything."""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[e.Event]:
        EFFECTS.append("loop")
        async for event in super().run(ask, steps):
            yield event


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str = "agent"


def build(options: Options, parts: Parts) -> Agent:
    """A toolbox that did not come from the configuration, in a loop of its own; or an agent of its own."""
    if options.kind == "agent":
        return StrangerAgent()
    loop = StrangerLoop if options.kind == "subclass" else Loop
    return loop(parts.model("m"), [StrangerToolbox()], approval="never")


toolbox = StrangerToolbox()
