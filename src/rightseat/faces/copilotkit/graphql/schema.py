"""The schema: what GraphQL tools see, and the queries. The one mutation is not executed here but by `answering`."""

import strawberry
from graphql import GraphQLSchema
from msgspec import json
from strawberry.schema.config import StrawberryConfig

from rightseat.access.door import Door
from rightseat.core.ask import Principal
from rightseat.core.errors import AgentNotFound
from rightseat.core.loop import read_arguments
from rightseat.core.messages import Call, Message, Result
from rightseat.core.runtime import Runtime
from rightseat.faces.copilotkit.graphql import inputs, outputs, scalars


class Desk:
    """What this address offers: the runtime, and which of its agents, to whom."""

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

    def offered(self, name: str) -> str:
        if name not in self.agents or name not in self.runtime.agents:
            raise AgentNotFound(name, self.agents)
        return name


class Visit:
    """What a resolver may use: the desk, as far as it is open to who asks."""

    def __init__(self, desk: Desk, principal: Principal) -> None:
        self.runtime = desk.runtime
        self.principal = principal
        self._desk = desk

    @property
    def agents(self) -> list[str]:
        return [name for name in self._desk.agents if self._desk.door.may(self.principal, name)]

    def offered(self, name: str) -> str:
        self._desk.door.check(self.principal, name)
        return self._desk.offered(name)


Info = strawberry.Info[Visit, None]


@strawberry.type
class Query:
    @strawberry.field
    def hello(self) -> str:
        return "Hello World"

    @strawberry.field
    def availableAgents(self, info: Info) -> outputs.AgentsResponse:
        known = info.context.runtime.agents
        names = [name for name in info.context.agents if name in known]
        return outputs.AgentsResponse(
            agents=[outputs.Agent(id=name, name=name, description=known[name].description) for name in names]
        )

    @strawberry.field
    async def loadAgentState(self, info: Info, data: inputs.LoadAgentStateInput) -> outputs.LoadAgentStateResponse:
        info.context.offered(data.agentName)
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


schema = strawberry.Schema(
    Query,
    Mutation,
    types=outputs.EVERY_TYPE,
    config=StrawberryConfig(
        auto_camel_case=False, enable_experimental_incremental_execution=True, scalar_map=scalars.SCALARS
    ),
)
bare: GraphQLSchema = schema._schema  # graphql-core's own, for what Strawberry has no word for
