"""Agents as tools: a model asks another agent a question, or hands the conversation over to it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec
from pydantic import JsonValue

from rightseat.concurrency import aclosing
from rightseat.core import events as e
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.call_labels import iterate_for_agent
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentError
from rightseat.core.loop.nested_questions import enclose, nested_messages, unwrap
from rightseat.core.messages import user
from rightseat.core.stream.reducer import Reducer
from rightseat.core.tools import Invocation, StreamTool, Tool

T = TypeVar("T")

QUESTION_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "The question, with all the context it needs."}},
    "required": ["question"],
}
EMPTY_SCHEMA: dict[str, JsonValue] = {"type": "object", "properties": {}, "required": []}


MAX_AGENT_DEPTH = 4  # levels of agents that call agents
TOO_DEEP = "The agent was not asked: agents are already nested too deeply. Answer with what you know."


class AgentFailed(AgentError):
    """An agent that was called as a tool ended with `RunFailed`."""

    code = "agent_failed"


class AgentToolbox:
    """A toolbox of agents that a model may ask."""

    label = "`agents`"

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = agents

    @property
    def names(self) -> Collection[str]:
        return self.agents.keys()

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [make_agent_tool(name, agent) for name, agent in self.agents.items()]


def make_agent_tool(name: str, agent: Agent) -> Tool:
    """A tool that asks the agent a question. The agent's events are streamed; its last text is the tool's result."""
    return Tool(name, agent.description, QUESTION_SCHEMA, stream=make_question_stream(name, agent))


def make_handoff_tool(name: str, agent: Agent, description: str) -> Tool:
    """A tool that hands the conversation over: the agent receives all of it, and its end is the end of the run."""
    return Tool(name, description, EMPTY_SCHEMA, stream=make_handoff_stream(name, agent))


def make_question_stream(name: str, agent: Agent) -> StreamTool:
    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[e.Event]:
        if nesting_depth(steps) >= MAX_AGENT_DEPTH:
            yield e.ToolCallReturned(invocation.call_id, name, TOO_DEEP, "too_deep")
            return
        earlier = nested_messages(invocation.answers)
        messages = (user(str(invocation.arguments.get("question") or "")), *earlier)
        ask = msgspec.structs.replace(build_nested_ask(invocation, name), messages=messages, state=None, context=())
        ask = msgspec.structs.replace(ask, tools=(), has_unlisted_tools=False)
        turn = Reducer()
        texts: dict[str, str] = {}
        yield e.Custom("agent.entered", name)
        async with aclosing(run_nested(agent, ask, invocation, steps)) as events:
            async for event in events:
                match event:
                    case e.StateReplaced() | e.StateChanged():
                        continue  # the agent's own state, not the state shared with the client
                    case e.RunFinished(interrupts=interrupts) if interrupts:
                        yield enclose(event, invocation, name, (*earlier, *turn.messages()))
                        return
                    case e.RunFinished():
                        break
                    case e.TextStarted(message_id=id):
                        texts[id] = ""
                    case e.TextDelta(message_id=id, text=text):
                        texts[id] += text
                turn.add(event)
                yield event
        yield e.Custom("agent.left", name)
        yield e.ToolCallReturned(invocation.call_id, name, next(reversed(texts.values()), ""))

    return stream


def make_handoff_stream(name: str, agent: Agent) -> StreamTool:
    async def stream(invocation: Invocation, steps: Steps) -> AsyncIterator[e.Event]:
        if not invocation.answers:
            yield e.ToolCallReturned(invocation.call_id, name, f"{name} agent started")
        yield e.Custom("agent.entered", name)
        last = e.RunFinished("done")
        async with aclosing(run_nested(agent, build_nested_ask(invocation, name), invocation, steps)) as events:
            async for event in events:
                if type(event) is e.RunFinished:
                    last = enclose(event, invocation, name)
                    break
                yield event
        yield e.Custom("agent.left", name)
        yield last

    return stream


def build_nested_ask(invocation: Invocation, name: str) -> Ask:
    """Derive the agent's ask from the run's ask."""
    answers = tuple(unwrap(answer) for answer in invocation.answers)
    return msgspec.structs.replace(
        invocation.ask, agent=name, answers=answers, max_turns=None, final_answer_without_tools=False
    )


async def run_nested(agent: Agent, ask: Ask, invocation: Invocation, steps: Steps) -> AsyncIterator[e.Event]:
    nested = agent.run(ask, NestedSteps(invocation.call_id, steps))
    async with aclosing(iterate_for_agent(nested, ask.agent)) as events:
        async for event in events:
            if isinstance(event, e.RunFailed):
                raise AgentFailed(event.message)
            yield event


def nesting_depth(steps: Steps) -> int:
    """The number of runs that enclose this one."""
    return steps.depth if isinstance(steps, NestedSteps) else 0


class NestedSteps:
    """The steps of a nested run. The call id as prefix makes their names unique."""

    def __init__(self, call_id: str, steps: Steps) -> None:
        self._call_id = call_id
        self._steps = steps
        self.depth: int = nesting_depth(steps) + 1
        self.resumed = steps.resumed

    @property
    def is_shutting_down(self) -> bool:
        return self._steps.is_shutting_down

    @is_shutting_down.setter
    def is_shutting_down(self, value: bool) -> None:
        self._steps.is_shutting_down = value

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await self._steps.do(f"{self._call_id}:{name}", kind, work)

    def stream(self, name: str, source: Callable[[], AsyncIterator[e.Event]]) -> AsyncIterator[e.Event]:
        return self._steps.stream(f"{self._call_id}:{name}", source)
