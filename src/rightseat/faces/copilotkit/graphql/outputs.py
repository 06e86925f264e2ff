"""The GraphQL output types of CopilotKit's clients, under CopilotKit's names. `encoder` creates them from events."""

from typing import Annotated

import strawberry
from strawberry.scalars import JSON

from rightseat.faces.copilotkit.graphql.scalars import (
    LATER,
    DateTimeISO,
    FailedResponseStatusReason,
    MessageRole,
    MessageStatusCode,
    MetaEventName,
    ResponseStatusCode,
)


@strawberry.type
class FailedMessageStatus:
    code: MessageStatusCode
    reason: str


@strawberry.type
class PendingMessageStatus:
    code: MessageStatusCode


@strawberry.type
class SuccessMessageStatus:
    code: MessageStatusCode


MessageStatus = Annotated[
    FailedMessageStatus | PendingMessageStatus | SuccessMessageStatus, strawberry.union("MessageStatus")
]


@strawberry.interface
class BaseMessageOutput:
    createdAt: DateTimeISO
    id: str
    status: MessageStatus


@strawberry.type
class TextMessageOutput(BaseMessageOutput):
    content: list[str]
    parentMessageId: str | None
    role: MessageRole


@strawberry.type
class ImageMessageOutput(BaseMessageOutput):
    bytes: str
    format: str
    parentMessageId: str | None
    role: MessageRole


@strawberry.type
class ActionExecutionMessageOutput(BaseMessageOutput):
    arguments: list[str]
    name: str
    parentMessageId: str | None
    scope: str | None = strawberry.field(default=None, deprecation_reason=LATER)


@strawberry.type
class ResultMessageOutput(BaseMessageOutput):
    actionExecutionId: str
    actionName: str
    result: str


@strawberry.type
class AgentStateMessageOutput(BaseMessageOutput):
    active: bool
    agentName: str
    nodeName: str
    role: MessageRole
    runId: str
    running: bool
    state: str
    threadId: str


@strawberry.interface
class BaseMetaEvent:
    name: MetaEventName
    type: str


@strawberry.type
class LangGraphInterruptEvent(BaseMetaEvent):
    response: str | None
    value: str


@strawberry.type
class CopilotKitLangGraphInterruptEventData:
    messages: list[BaseMessageOutput]
    value: str


@strawberry.type
class CopilotKitLangGraphInterruptEvent(BaseMetaEvent):
    data: CopilotKitLangGraphInterruptEventData
    response: str | None


@strawberry.interface
class BaseResponseStatus:
    code: ResponseStatusCode


@strawberry.type
class FailedResponseStatus(BaseResponseStatus):
    details: JSON | None
    reason: FailedResponseStatusReason


@strawberry.type
class PendingResponseStatus(BaseResponseStatus):
    pass


@strawberry.type
class SuccessResponseStatus(BaseResponseStatus):
    pass


ResponseStatus = Annotated[
    FailedResponseStatus | PendingResponseStatus | SuccessResponseStatus, strawberry.union("ResponseStatus")
]


@strawberry.type
class OpenAIApiAssistantAPIResponse:
    runId: str | None
    threadId: str | None


@strawberry.type
class ExtensionsResponse:
    openaiAssistantAPI: OpenAIApiAssistantAPIResponse | None


@strawberry.type
class CopilotResponse:
    extensions: ExtensionsResponse | None
    messages: list[BaseMessageOutput]
    metaEvents: list[BaseMetaEvent] | None
    runId: str | None
    status: ResponseStatus
    threadId: str


@strawberry.type(name="Agent")
class AgentOutput:
    description: str
    id: str
    name: str


@strawberry.type
class AgentsResponse:
    agents: list[AgentOutput]


@strawberry.type
class LoadAgentStateResponse:
    messages: str
    state: str
    threadExists: bool
    threadId: str


EVERY_TYPE = (
    TextMessageOutput,
    ImageMessageOutput,
    ActionExecutionMessageOutput,
    ResultMessageOutput,
    AgentStateMessageOutput,
    LangGraphInterruptEvent,
    CopilotKitLangGraphInterruptEvent,
)
