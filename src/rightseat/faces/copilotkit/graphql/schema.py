"""CopilotKit's GraphQL schema and the resolvers of its queries. `operations` executes its only mutation."""

from collections.abc import Mapping

import strawberry
from graphql import GraphQLError, GraphQLSchema
from msgspec import json
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from rightseat.access.authenticator import RouteAuth
from rightseat.core.agent import AgentGroup
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import AgentNotFound
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, Message, Result
from rightseat.core.runtime import Runtime
from rightseat.faces.copilotkit.agents import list_members
from rightseat.faces.copilotkit.graphql import inputs, outputs, scalars


class SchemaContext:
    """The agents that the face offers, by user. An agent group offers each member under its own name."""

    def __init__(self, runtime: Runtime, agents: tuple[str, ...] | None, default: str | None, auth: RouteAuth) -> None:
        self.runtime = runtime
        self.default = default
        self.auth = auth
        self._agents = agents

    @property
    def agents(self) -> tuple[str, ...]:
        if self._agents is not None:
            return self._agents
        return tuple(name for name in self.runtime.agents if name != self.default)

    async def resolve_agent(self, ask: Ask) -> str:
        """Return the runtime's name for the agent of the ask."""
        listed = [one for one in self.agents if self.auth.may_use(ask.principal, one)]
        parts = [one for one in listed if isinstance(self.runtime.agents.get(one), AgentGroup)]
        plain = [one for one in self.agents if one not in parts]
        if ask.agent in plain and ask.agent in self.runtime.agents:
            self.auth.check_agent(ask.principal, ask.agent)
            return ask.agent
        known, problems = await list_members(self.runtime, parts, ask)
        for name, (part, _) in known.items():
            if name == ask.agent:
                return f"{part}/{name}"
        self.auth.check_agent(ask.principal, ask.agent)  # before an error reveals whether the name exists
        if problems:
            raise problems[0]
        raise AgentNotFound(ask.agent, (*plain, *known))


class ResolverContext:
    """The context of a resolver, limited to the agents that the user may use."""

    def __init__(self, context: SchemaContext, principal: Principal, headers: Mapping[str, str]) -> None:
        self.runtime = context.runtime
        self.principal = principal
        self._context = context
        self._headers = headers

    async def agents(self) -> dict[str, str]:
        """Return names → descriptions. Raises the error of an unreachable group only if no agent was found."""
        known = self.runtime.agents
        listed = [
            one for one in self._context.agents if one in known and self._context.auth.may_use(self.principal, one)
        ]
        parts = [one for one in listed if isinstance(known[one], AgentGroup)]
        found = {one: known[one].description for one in listed if one not in parts}
        more, problems = await list_members(self.runtime, parts, self._ask(""))
        found |= {name: description for name, (_, description) in more.items()}
        if problems and not found:
            raise problems[0]
        return found

    async def resolve_agent(self, name: str) -> str:
        return await self._context.resolve_agent(self._ask(name))

    def _ask(self, agent: str) -> Ask:
        return Ask(messages=(), agent=agent, principal=self.principal, headers=self._headers)


Info = strawberry.Info[ResolverContext, None]


@strawberry.type(name="Query")
class RootQuery:
    @strawberry.field
    def hello(self) -> str:
        return "Hello World"

    @strawberry.field
    async def availableAgents(self, info: Info) -> outputs.AgentsResponse:
        found = (await info.context.agents()).items()
        return outputs.AgentsResponse(
            agents=[outputs.AgentOutput(id=name, name=name, description=description) for name, description in found]
        )

    @strawberry.field
    async def loadAgentState(self, info: Info, data: inputs.LoadAgentStateInput) -> outputs.LoadAgentStateResponse:
        await info.context.resolve_agent(data.agentName)
        thread = await info.context.runtime.thread(data.threadId, info.context.principal)
        messages = [written for message in thread.messages for written in write_message(message)] if thread else []
        return outputs.LoadAgentStateResponse(
            threadId=data.threadId,
            threadExists=thread is not None,
            state=encode_json(thread.state if thread and thread.state is not None else {}),
            messages=encode_json(messages),
        )


@strawberry.type
class Mutation:
    @strawberry.mutation
    def generateCopilotResponse(
        self, data: inputs.GenerateCopilotResponseInput, properties: scalars.JSONObject | None = None
    ) -> outputs.CopilotResponse:
        raise NotImplementedError("answered by rightseat.faces.copilotkit.graphql.operations")


def write_message(message: Message) -> list[dict[str, object]]:
    """Encode a message for clients that restore a thread: text, calls and results become separate messages.

    System messages are omitted, because clients create a new one for each request and would send the old ones too.
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
            result = {"actionExecutionId": part.call_id, "actionName": part.name, "result": part.content}
            written.append({"id": message.id, **result})
    return written


def encode_json(value: object) -> str:
    return json.encode(value).decode()


class CopilotKitSchema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Do not log here: Strawberry logs every error, but most are client errors, and `failures` logs the others."""


schema = CopilotKitSchema(
    RootQuery,
    Mutation,
    types=outputs.EVERY_TYPE,
    config=StrawberryConfig(
        auto_camel_case=False, enable_experimental_incremental_execution=True, scalar_map=scalars.SCALARS
    ),
)
core_schema: GraphQLSchema = schema._schema  # graphql-core's schema, for features that Strawberry does not expose
