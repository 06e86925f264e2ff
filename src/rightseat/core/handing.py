"""An agent as a tool: of a model that asks it, or hands over to it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec
from pydantic import JsonValue

from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentError
from rightseat.core.events import (
    CallReturned,
    Custom,
    Event,
    RunFailed,
    RunFinished,
    StateChanged,
    StateReplaced,
    TextDelta,
    TextStarted,
)
from rightseat.core.messages import user
from rightseat.core.tools import Invocation, Stream, Tool

T = TypeVar("T")

QUESTION: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "What to ask, with all that it needs to know."}},
    "required": ["question"],
}
NOTHING: dict[str, JsonValue] = {"type": "object", "properties": {}, "required": []}


DEEPEST = 4  # agents that ask agents
TOO_DEEP = "Nobody was asked: too many agents have asked one another already. Answer with what you know."


class AgentFailed(AgentError):
    """An agent that was called as a tool failed, and has said so."""

    code = "agent_failed"


class Colleagues:
    """A toolbox of agents that a model may ask."""

    label = "`agents`"

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = agents

    @property
    def names(self) -> Collection[str]:
        return self._agents.keys()

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [asked(name, agent) for name, agent in self._agents.items()]


def asked(name: str, agent: Agent) -> Tool:
    """A model asks the agent a question; what the agent says is heard by all, and its last words are the result."""
    return Tool(name, agent.description, QUESTION, stream=asking(name, agent))


def handed(name: str, agent: Agent, description: str) -> Tool:
    """A model hands the conversation over: the agent gets all of it, and has the last word."""
    return Tool(name, description, NOTHING, stream=handing(name, agent))


def asking(name: str, agent: Agent) -> Stream:
    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        if depth(steps) >= DEEPEST:
            yield CallReturned(invocation.call_id, name, TOO_DEEP, "too_deep")
            return
        question = invocation.arguments.get("question")
        ask = msgspec.structs.replace(
            part_of(invocation, name), messages=(user(str(question or "")),), tools=(), state=None, context=()
        )
        texts: dict[str, str] = {}
        yield Custom("agent.entered", name)
        async with closing(heard(agent, ask, invocation, steps)) as events:
            async for event in events:
                match event:
                    case StateReplaced() | StateChanged():
                        continue  # its own, not the one that is shared with the client
                    case RunFinished(interrupts=interrupts) if interrupts:
                        yield event
                        return
                    case RunFinished():
                        break
                    case TextStarted(message_id=id):
                        texts[id] = ""
                    case TextDelta(message_id=id, text=text):
                        texts[id] += text
                yield event
        yield Custom("agent.left", name)
        yield CallReturned(invocation.call_id, name, next(reversed(texts.values()), ""))

    return stream


def handing(name: str, agent: Agent) -> Stream:
    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
        if not invocation.answers:
            yield CallReturned(invocation.call_id, name, f"{name} agent started")
        yield Custom("agent.entered", name)
        last = RunFinished("done")
        async with closing(heard(agent, part_of(invocation, name), invocation, steps)) as events:
            async for event in events:
                if type(event) is RunFinished:
                    last = event
                    break
                yield event
        yield Custom("agent.left", name)
        yield last

    return stream


def part_of(invocation: Invocation, name: str) -> Ask:
    """What the agent is asked: the run's own ask, as far as it concerns the agent."""
    answers = tuple(msgspec.structs.replace(answer, call=None) for answer in invocation.answers)
    return msgspec.structs.replace(invocation.ask, agent=name, answers=answers, rounds=None, conclude=False)


async def heard(agent: Agent, ask: Ask, invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
    async with closing(agent.run(ask, Under(invocation.call_id, steps))) as events:
        async for event in events:
            if isinstance(event, RunFailed):
                raise AgentFailed(event.message)
            yield event


def depth(steps: Steps) -> int:
    """In how many runs this one is."""
    return steps.depth if isinstance(steps, Under) else 0


class Under:
    """The steps of a run within a run: under names that no other has."""

    def __init__(self, call_id: str, steps: Steps) -> None:
        self._call_id = call_id
        self._steps = steps
        self.depth: int = depth(steps) + 1
        self.resumed = steps.resumed

    @property
    def is_leaving(self) -> bool:
        return self._steps.is_leaving

    @is_leaving.setter
    def is_leaving(self, value: bool) -> None:
        self._steps.is_leaving = value

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await self._steps.do(f"{self._call_id}:{name}", kind, work)

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return self._steps.stream(f"{self._call_id}:{name}", source)
