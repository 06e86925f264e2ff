"""The schema: what GraphQL tools see, and the queries. The one mutation is not executed here but by `answering`."""

from collections.abc import Mapping

import strawberry
from graphql import GraphQLError, GraphQLSchema
from msgspec import json
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from rightseat.access.door import Door
from rightseat.core.agent import Roster
from rightseat.core.ask import Ask, Principal
from rightseat.core.calling import read_arguments
from rightseat.core.errors import AgentNotFound
from rightseat.core.messages import Call, Message, Result
from rightseat.core.runtime import Runtime
from rightseat.faces.copilotkit.finding import members
from rightseat.faces.copilotkit.graphql import inputs, outputs, scalars


class Desk:
    """What this address offers: the runtime, and which of its agents, to whom.

    A part that stands for several agents offers each of them under its own name.
    """

    def __init__(self, runtime: Runtime, agents: tuple[str, ...] | None, default: str | None, door: Door) -> None:
        self.runtime = runtime
        self.default = default
        self.door = door
        self._agents = agents

    @property
    def agents(self) -> tuple[str, ...]:
        if self._agents is not None:
            return self._agents
        return tuple(name for name in self.runtime.agents if name != self.default)

    async def offered(self, ask: Ask) -> str:
        """The runtime's name for the agent that the ask names."""
        listed = [one for one in self.agents if self.door.may(ask.principal, one)]
        parts = [one for one in listed if isinstance(self.runtime.agents.get(one), Roster)]
        plain = [one for one in self.agents if one not in parts]
        if ask.agent in plain and ask.agent in self.runtime.agents:
            self.door.check(ask.principal, ask.agent)
            return ask.agent
        known, problems = await members(self.runtime, parts, ask)
        for name, (part, _) in known.items():
            if name == ask.agent:
                return f"{part}/{name}"
        self.door.check(ask.principal, ask.agent)  # before anything is said of whether there is such a name
        if problems:
            raise problems[0]
        raise AgentNotFound(ask.agent, (*plain, *known))


class Visit:
    """What a resolver may use: the desk, as far as it is open to who asks."""

    def __init__(self, desk: Desk, principal: Principal, headers: Mapping[str, str]) -> None:
        self.runtime = desk.runtime
        self.principal = principal
        self._desk = desk
        self._headers = headers

    async def agents(self) -> dict[str, str]:
        """Names, and what each is good for. That a part is not there is said where nothing else is."""
        known = self.runtime.agents
        listed = [one for one in self._desk.agents if one in known and self._desk.door.may(self.principal, one)]
        parts = [one for one in listed if isinstance(known[one], Roster)]
        found = {one: known[one].description for one in listed if one not in parts}
        more, problems = await members(self.runtime, parts, self._ask(""))
        found |= {name: description for name, (_, description) in more.items()}
        if problems and not found:
            raise problems[0]
        return found

    async def offered(self, name: str) -> str:
        return await self._desk.offered(self._ask(name))

    def _ask(self, agent: str) -> Ask:
        return Ask(messages=(), agent=agent, principal=self.principal, headers=self._headers)


Info = strawberry.Info[Visit, None]


@strawberry.type
class Query:
    @strawberry.field
    def hello(self) -> str:
        return "Hello World"

    @strawberry.field
    async def availableAgents(self, info: Info) -> outputs.AgentsResponse:
        found = (await info.context.agents()).items()
        return outputs.AgentsResponse(
            agents=[outputs.Agent(id=name, name=name, description=description) for name, description in found]
        )

    @strawberry.field
    async def loadAgentState(self, info: Info, data: inputs.LoadAgentStateInput) -> outputs.LoadAgentStateResponse:
        await info.context.offered(data.agentName)
        thread = await info.context.runtime.thread(data.threadId, info.context.principal)
        messages = [written for message in thread.messages for written in write_message(message)] if thread else []
        return outputs.LoadAgentStateResponse(
            threadId=data.threadId,
            threadExists=thread is not None,
            state=text(thread.state if thread and thread.state is not None else {}),
            messages=text(messages),
        )


@strawberry.type
class Mutation:
    @strawberry.mutation
    def generateCopilotResponse(
        self, data: inputs.GenerateCopilotResponseInput, properties: scalars.JSONObject | None = None
    ) -> outputs.CopilotResponse:
        raise NotImplementedError("answered by rightseat.faces.copilotkit.graphql.answering")


def write_message(message: Message) -> list[dict[str, object]]:
    """A message as clients restore it: a text, a call and a result are messages of their own there.

    Not a system message: a client makes a new one for each request, and would send the old ones beside it.
    """
    written: list[dict[str, object]] = []
    if message.role == "system":
        return written
    if message.text:
        written.append({"id": message.id, "role": message.role, "content": message.text})
    for part in message.parts:
        if isinstance(part, Call):
            arguments = read_arguments(part.arguments) or {}
            written.append({"id": part.id, "name": part.name, "arguments": arguments, "parentMessageId": message.id})
        elif isinstance(part, Result):
            said = {"actionExecutionId": part.call_id, "actionName": part.name, "result": part.content}
            written.append({"id": message.id, **said})
    return written


def text(value: object) -> str:
    return json.encode(value).decode()


class Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Strawberry logs each as an error of ours; most are a client's, and `failures` logs the others."""


schema = Schema(
    Query,
    Mutation,
    types=outputs.EVERY_TYPE,
    config=StrawberryConfig(
        auto_camel_case=False, enable_experimental_incremental_execution=True, scalar_map=scalars.SCALARS
    ),
)
bare: GraphQLSchema = schema._schema  # graphql-core's own, for what Strawberry has no word for
