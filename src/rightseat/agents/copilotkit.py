"""Agents of a CopilotKit remote endpoint: those that its Python SDK serves in JSON lines.

With `agent` the part is that one. Without, it stands for all that the endpoint has: a client of CopilotKit finds them
listed, and names the one that it wants.
"""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from rightseat.agents.keeping import Keeper, decoding
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.calling import calls_in, read_arguments
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentNotFound, AgentRefused, Misuse, RightseatError, TooManyRounds
from rightseat.core.events import CallReturned, Event, RunFailed, RunFinished
from rightseat.core.folding import Fold
from rightseat.core.messages import Call, Message, Result
from rightseat.egress import endpoint
from rightseat.egress.endpoint import Endpoint
from rightseat.parts import Parts
from rightseat.wire.copilotkit import langgraph, runtime
from rightseat.wire.copilotkit.asking import write_execution
from rightseat.wire.copilotkit.describing import Info
from rightseat.wire.copilotkit.messages import text_of

logger = logging.getLogger(__name__)

ROUNDS = 16
FAILED = "The agent failed. The server's log has more."


class Options(endpoint.Options):
    agent: str | None = None
    """The endpoint's name for the agent. Left out: all that it has."""
    description: str = ""
    """What the agent is good for. Left out, where all are meant: what the endpoint says of each."""
    client_node: bool = False
    """Pass on the node at which the client believes the agent to be, which CopilotKit's clients send as
    `nodeName`. A graph goes on behind that node: a client could skip one that checks something."""
    show_errors: bool = False
    """Whether clients see the agent's own words when it fails. They are the text of an exception, so without it they go
    to the server's log alone."""


def build(options: Options, parts: Parts) -> Agent:
    service = Endpoint(options)
    return Several(options, service) if options.agent is None else Remote(options.agent, options, service)


class Remote:
    """One agent of an endpoint."""

    def __init__(self, name: str, options: Options, service: Endpoint) -> None:
        self.description = options.description
        self._name = name
        self._options = options
        self._endpoint = service

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._endpoint.aclose()

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        """The agent's answer; again with the results, where it has called actions of its own endpoint."""
        info = await self._endpoint.info(ask)
        messages, keeper = ask.messages, Keeper()
        for _ in range(ROUNDS):
            fold = Fold(ask.state)
            async with closing(self._answer(ask, info, messages, keeper)) as events:
                async for event in events:
                    fold.add(event)
                    yield event
                    if isinstance(event, RunFinished | RunFailed):
                        return
            said = fold.messages()
            calls = waiting(said)
            mine = [call for call in calls if any(one.name == call.name for one in info.actions)]
            results = [await self._act(call, ask) for call in mine]
            for result in results:
                yield result
            if not mine or len(mine) < len(calls):
                yield RunFinished("waiting" if calls and len(mine) < len(calls) else "done")
                return
            messages += (*said, *(message_of(result) for result in results))
            ask = msgspec.structs.replace(ask, state=fold.state, answers=())
        raise TooManyRounds(ROUNDS)

    async def _answer(
        self, ask: Ask, info: Info, messages: tuple[Message, ...], keeper: Keeper
    ) -> AsyncIterator[Event]:
        """What one request gives. It ends with `RunFinished` where there are questions, with `RunFailed` or nothing."""
        reader = self._reader(info, messages)
        node = ask.node if self._options.client_node else None
        body = write_execution(self._name, ask, info, messages, node)
        headers = await self._endpoint.headers(ask)
        async with closing(self._endpoint.execute(body, headers)) as lines:
            async for line in lines:
                with decoding():
                    events = list(reader.read(line))
                for event in events:
                    for kept in keeper.keep(event):
                        yield self._frank(kept, ask, headers)
                    if isinstance(event, RunFailed):
                        return
        for ending in keeper.endings():
            yield ending
        if reader.asked:
            yield RunFinished("waiting", tuple(reader.asked))

    def _reader(self, info: Info, messages: tuple[Message, ...]) -> "langgraph.Reader | runtime.Reader":
        member = info.agent(self._name)
        if member is None:
            raise AgentNotFound(self._name, [one.name for one in info.agents])
        match member.type:
            case "langgraph":
                return langgraph.Reader(set(ids_in(messages)))
            case "crewai":
                return runtime.Reader()
        raise AgentRefused(
            f"The agent {self._name!r} is of the type {member.type!r}, which remote endpoints list and cannot run. "
            "Give it a route of its own that speaks AG-UI, and an agent of the type `agui` with its address."
        )

    async def _act(self, call: Call, ask: Ask) -> CallReturned:
        try:
            result = await self._endpoint.act(call.name, read_arguments(call.arguments) or {}, ask)
        except RightseatError as error:
            return CallReturned(call.id, call.name, error.message, error.code)
        return CallReturned(call.id, call.name, text_of(result))

    def _frank(self, event: Event, ask: Ask, headers: Mapping[str, str]) -> Event:
        if not isinstance(event, RunFailed) or self._options.show_errors:
            return event
        logger.warning("run %s: the agent failed: %s", ask.run_id, self._endpoint.redact(event.message, headers))
        return RunFailed(event.code, FAILED)


class Several:
    """All agents of an endpoint: a `core.agent.Roster`."""

    def __init__(self, options: Options, service: Endpoint) -> None:
        self.description = options.description
        self._options = options
        self._endpoint = service

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._endpoint.aclose()

    async def members(self, ask: Ask) -> Mapping[str, str]:
        return {one.name: one.description or "" for one in (await self._endpoint.info(ask)).agents}

    def member(self, name: str) -> Agent:
        return Remote(name, self._options, self._endpoint)

    def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        raise Misuse(f"{ask.agent!r} stands for all agents of a remote endpoint. Name one of them: {ask.agent}/NAME.")


def waiting(messages: tuple[Message, ...]) -> list[Call]:
    """Calls without a result."""
    results = {part.call_id for message in messages for part in message.parts if isinstance(part, Result)}
    return [call for call in calls_in(messages) if call.id not in results]


def message_of(result: CallReturned) -> Message:
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
