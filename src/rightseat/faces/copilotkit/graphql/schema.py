"""CopilotKit's GraphQL schema and the resolvers of its queries. `operations` executes its only mutation."""

import strawberry
from graphql import GraphQLError, GraphQLSchema
from msgspec import json
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from rightseat.core.agent import AgentThread
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, Message, Result
from rightseat.core.threads import Thread
from rightseat.faces.copilotkit.graphql import inputs, outputs, scalars
from rightseat.faces.copilotkit.graphql.context import ResolverContext

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
        agent = await info.context.resolve_agent(data.agentName)
        thread: Thread | AgentThread | None = await info.context.runtime.thread(data.threadId, info.context.principal)
        if thread is None:
            thread = await info.context.agent_thread(agent, data.threadId)
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
        """Do not log here: Strawberry logs every error, but most are client errors; `query_errors` logs the others."""


schema = CopilotKitSchema(
    RootQuery,
    Mutation,
    types=outputs.EVERY_TYPE,
    config=StrawberryConfig(
        auto_camel_case=False, enable_experimental_incremental_execution=True, scalar_map=scalars.SCALARS
    ),
)
core_schema: GraphQLSchema = schema._schema  # graphql-core's schema, for features that Strawberry does not expose
