"""The agents of a configuration without their effects: what their runs reach outside is answered from a recording.

A tool of a `Loop` can only be called through a `ReplayToolbox`, which keeps the tool's definition and never its code,
but for a tool that only reads and the policy `live`. Other agents are rebuilt if it is known that they do their work
through models, toolboxes and flows; every other agent is answered like a tool.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, cast, runtime_checkable

from rightseat.agents.flows import Flows
from rightseat.app.part_registry import AgentReference
from rightseat.core import events as e
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import RightseatError
from rightseat.core.ids import new_id
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox, nesting_depth
from rightseat.core.loop.toolset import label
from rightseat.core.tools import Approval, EmitsEvents, HasInstructions, Invocation, Tool, Toolbox
from rightseat.core.types import JsonValue
from rightseat.evals.replay import REPLAY, current_replay
from rightseat.plugins.collection import Collection
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.results import StepErrorCode, StepFailed, StepResult
from rightseat.toolboxes.plugins import PluginToolbox


@runtime_checkable
class HasPins(Protocol):
    """The toolbox of an MCP server."""

    def prefer_pins(self) -> None: ...


class RecordedError(RightseatError):
    """The error of a recorded call, as the model receives it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ReplayToolbox:
    """The tools of another toolbox, served from the recording. It handles no ask in place of the model."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.label = label(toolbox)
        self._toolbox = toolbox
        self._keeps_streams = type(toolbox) is PluginToolbox  # its flows are served step by step

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [self._serve(tool) for tool in await self._toolbox.tools(ask)]

    def initial_events(self, ask: Ask) -> Sequence[e.Event]:
        return self._toolbox.initial_events(ask) if isinstance(self._toolbox, EmitsEvents) else ()

    def instructions(self, ask: Ask) -> Sequence[str]:
        return self._toolbox.instructions(ask) if isinstance(self._toolbox, HasInstructions) else ()

    def _serve(self, tool: Tool) -> Tool:
        if not tool.runs_on_server or (self._keeps_streams and tool.stream is not None):
            return tool
        if isinstance(tool.approval, Approval) and (replay := REPLAY.get()) is not None:
            replay.asking_tools.add(tool.name)
        return replace(tool, run=partial(serve_tool, tool), stream=None)


async def serve_tool(tool: Tool, invocation: Invocation) -> str:
    """Raises `RecordedError`. A tool with a stream is never run: it may ask a person, or do anything else."""
    replay = current_replay()
    run = partial(tool.run, invocation) if tool.run is not None and tool.effect == "read" else None
    found = await replay.serve_call(tool.name, invocation.arguments, run)
    replay.served[invocation.call_id, tool.name] = found.served
    if found.error is not None:
        raise RecordedError(found.error, found.text)
    return found.text


async def serve_step(
    context: StepContext,
    request: dict[str, JsonValue],
    perform: Callable[[], Awaitable[StepResult]],
    *,
    is_safe: bool,
) -> StepResult:
    """Answer a step of a flow that reaches an API, a database or a tool."""
    replay, flow = current_replay(), f"{context.plugin.id}/{context.flow.name}"
    request = cast(dict[str, JsonValue], context.dependencies.redactor.redact_value(request))
    if (recorded := replay.find_request(flow, context.name, request)) is not None:
        if recorded.error is not None:
            message = recorded.result if isinstance(recorded.result, str) else f"The step failed: {recorded.error}."
            raise StepFailed(cast(StepErrorCode, recorded.error), message, status=recorded.status)
        status = "" if recorded.status is None else f": HTTP {recorded.status}"
        return StepResult(recorded.result, f"served from the recording{status}", record={"request": request})
    if replay.stub is not None:
        return StepResult(replay.stub)
    if replay.missing == "live" and is_safe:
        return await perform()
    await replay.diverge(replay.explain_request(flow, context.name, request))


def replay_agent(name: str, agent: Agent) -> Agent:
    """The agent with served tools. Only exact types are known: a subclass may do anything."""
    match agent:
        case AgentReference():
            return agent  # the agents that it finds are replayed themselves
        case Loop() if type(agent) is Loop:
            return Loop(
                agent.model,
                [replay_toolbox(toolbox) for toolbox in agent.toolboxes],
                instructions=agent.instructions,
                description=agent.description,
                max_turns=agent.max_turns,
                approval=agent.approval,
                max_response_chars=agent.max_response_chars,
            )
        case Flows() if type(agent) is Flows:
            replay_flows(agent.collection)
            return agent
        case _:
            return ServedAgent(name, agent.description)


def replay_toolbox(toolbox: Toolbox) -> Toolbox:
    if type(toolbox) is AgentToolbox:
        return AgentToolbox({name: replay_agent(name, agent) for name, agent in toolbox.agents.items()})
    if type(toolbox) is PluginToolbox:
        replay_flows(toolbox.collection)
    elif isinstance(toolbox, HasPins):
        toolbox.prefer_pins()
    return ReplayToolbox(toolbox)


def replay_flows(collection: Collection) -> None:
    collection.serve_steps(serve_step)


class ServedAgent:
    """Stands for an agent that runs elsewhere, or in code that is not known. As a sub-agent it is answered like a tool
    of its name with the argument `question`; a case of its own cannot be replayed."""

    def __init__(self, name: str, description: str) -> None:
        self.description = description
        self._name = name

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[e.Event]:
        replay = current_replay()
        if not nesting_depth(steps):
            await replay.fail(f"The agent {self._name!r} runs code of its own, so it cannot be replayed.")
        question = ask.messages[-1].text if ask.messages else ""
        found = await replay.serve_call(self._name, {"question": question}, None)
        message = new_id("msg")
        yield e.TextStarted(message)
        yield e.TextDelta(message, found.text)
        yield e.TextEnded(message)
