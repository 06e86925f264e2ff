"""Agents of a CopilotKit remote endpoint, which CopilotKit's Python SDK serves as JSON lines.

With `agent`, the part is that agent. Without, it represents all agents of the endpoint: CopilotKit clients list them
and name the one to run.
"""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

import msgspec

from rightseat.agents.event_normalizer import EventNormalizer, decoding
from rightseat.concurrency import aclosing
from rightseat.core.agent import Agent, AgentThread
from rightseat.core.ask import ANYONE, Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentNotFound, AgentRefused, MaxTurnsExceeded, NotConfigured, RightseatError
from rightseat.core.events import Event, RunFailed, RunFinished, ToolCallReturned
from rightseat.core.loop.tool_calls import calls_in, read_arguments
from rightseat.core.messages import Call, Message, Result
from rightseat.core.stream.reducer import Reducer
from rightseat.egress import endpoint
from rightseat.egress.endpoint import Endpoint
from rightseat.parts import Parts
from rightseat.wire.copilotkit import langgraph, runtime
from rightseat.wire.copilotkit.descriptions import EndpointInfo
from rightseat.wire.copilotkit.messages import text_of
from rightseat.wire.copilotkit.request import write_execution

logger = logging.getLogger(__name__)

MAX_REQUESTS = 16
FAILED = "The agent failed. The server's log has more."


class Options(endpoint.Options):
    agent: str | None = None
    """The name of the agent at the endpoint. Default: all agents of the endpoint."""
    description: str = ""
    """The purpose of the agent. Without this and `agent`, each agent has the endpoint's description."""
    client_node: bool = False
    """Whether the agent receives the node that CopilotKit's clients send as `nodeName`. A graph continues after that
    node, so a client could skip a node that checks something."""
    client_threads: bool = False
    """Whether users who sign in may load threads that only the endpoint has (`loadAgentState`). The endpoint receives
    the thread's id without the user, so a user who knows an id could read the thread of another. Without
    authentication, where all users are one, they may."""
    show_errors: bool = False
    """Whether clients receive the agent's own error message when it fails. It is the text of an exception; by default
    it is only logged."""


def build(options: Options, parts: Parts) -> Agent:
    service = Endpoint(options)
    return EndpointAgents(options, service) if options.agent is None else EndpointAgent(options.agent, options, service)


class EndpointAgent:
    """One agent of an endpoint."""

    def __init__(self, name: str, options: Options, service: Endpoint) -> None:
        self.description = options.description
        self._name = name
        self._options = options
        self._endpoint = service

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.aclose()

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        """If the agent calls actions of its own endpoint, run them and send the results in another request."""
        info = await self._endpoint.info(ask)
        messages, normalizer = ask.messages, EventNormalizer()
        for _ in range(MAX_REQUESTS):
            reducer = Reducer(ask.state)
            async with aclosing(self._stream_response(ask, info, messages, normalizer)) as events:
                async for event in events:
                    reducer.add(event)
                    yield event
                    if isinstance(event, RunFinished | RunFailed):
                        return
            new_messages = reducer.messages()
            calls = pending_calls(new_messages)
            mine = [call for call in calls if any(one.name == call.name for one in info.actions)]
            results = [await self._run_action(call, ask) for call in mine]
            for result in results:
                yield result
            if not mine or len(mine) < len(calls):
                yield RunFinished("waiting" if calls and len(mine) < len(calls) else "done")
                return
            messages += (*new_messages, *(result_message(result) for result in results))
            ask = msgspec.structs.replace(ask, state=reducer.state, answers=())
        raise MaxTurnsExceeded(MAX_REQUESTS)

    async def load_thread(self, ask: Ask) -> AgentThread | None:
        if ask.principal.id != ANYONE.id and not self._options.client_threads:
            return None
        return await self._endpoint.load_thread(self._name, ask)

    async def _stream_response(
        self, ask: Ask, info: EndpointInfo, messages: tuple[Message, ...], normalizer: EventNormalizer
    ) -> AsyncIterator[Event]:
        """The events of one request. The last is `RunFinished` if there are interrupts, or `RunFailed` on failure."""
        reader = self._reader(info, messages)
        node = ask.node if self._options.client_node else None
        body = write_execution(self._name, ask, info, messages, node)
        headers = await self._endpoint.make_headers(ask)
        async with aclosing(self._endpoint.run_agent(body, headers)) as lines:
            async for line in lines:
                with decoding():
                    events = list(reader.read(line))
                for event in events:
                    for normalized in normalizer.normalize(event):
                        yield self._hide_error(normalized, ask, headers)
                    if isinstance(event, RunFailed):
                        return
        for ending in normalizer.close():
            yield ending
        if reader.interrupts:
            yield RunFinished("waiting", tuple(reader.interrupts))

    def _reader(
        self, info: EndpointInfo, messages: tuple[Message, ...]
    ) -> "langgraph.LangGraphLineDecoder | runtime.RuntimeLineDecoder":
        member = info.agent(self._name)
        if member is None:
            raise AgentNotFound(self._name, [one.name for one in info.agents])
        match member.type:
            case "langgraph":
                return langgraph.LangGraphLineDecoder(set(ids_in(messages)))
            case "crewai":
                return runtime.RuntimeLineDecoder()
        raise AgentRefused(
            f"The agent {self._name!r} has the type {member.type!r}, which remote endpoints list but cannot run. "
            "Serve it at an AG-UI route of its own, and configure an agent with `type: agui` and the URL of that route."
        )

    async def _run_action(self, call: Call, ask: Ask) -> ToolCallReturned:
        try:
            result = await self._endpoint.run_action(call.name, read_arguments(call.arguments) or {}, ask)
        except RightseatError as error:
            return ToolCallReturned(call.id, call.name, error.message, error.code)
        return ToolCallReturned(call.id, call.name, text_of(result))

    def _hide_error(self, event: Event, ask: Ask, headers: Mapping[str, str]) -> Event:
        if not isinstance(event, RunFailed) or self._options.show_errors:
            return event
        logger.warning("run %s: the agent failed: %s", ask.run_id, self._endpoint.redact(event.message, headers))
        return RunFailed(event.code, FAILED)


class EndpointAgents:
    """All agents of an endpoint: a `core.agent.AgentGroup`."""

    def __init__(self, options: Options, service: Endpoint) -> None:
        self.description = options.description
        self._options = options
        self._endpoint = service

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.aclose()

    async def members(self, ask: Ask) -> Mapping[str, str]:
        return {one.name: one.description or "" for one in (await self._endpoint.info(ask)).agents}

    def member(self, name: str) -> Agent:
        return EndpointAgent(name, self._options, self._endpoint)

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        raise NotConfigured(
            f"{ask.agent!r} stands for all agents of a remote endpoint. Use the name of one of them: {ask.agent}/NAME."
        )


def pending_calls(messages: tuple[Message, ...]) -> list[Call]:
    """Calls without a result."""
    results = {part.call_id for message in messages for part in message.parts if isinstance(part, Result)}
    return [call for call in calls_in(messages) if call.id not in results]


def result_message(result: ToolCallReturned) -> Message:
    content = Result(result.call_id, result.name, result.content, result.error)
    return Message("tool", (content,), id=f"result-{result.call_id}")


def ids_in(messages: tuple[Message, ...]) -> Iterator[Any]:
    for message in messages:
        yield message.id
        for part in message.parts:
            if isinstance(part, Call):
                yield part.id
            elif isinstance(part, Result):
                yield f"result-{part.call_id}"
