"""The GraphQL input types of CopilotKit's clients, under CopilotKit's names. `decoder` converts them to an ask."""

import strawberry

from rightseat.faces.copilotkit.graphql.scalars import (
    LATER,
    ActionInputAvailability,
    CopilotRequestType,
    DateTimeISO,
    MessageRole,
    MetaEventName,
)


@strawberry.input
class TextMessageInput:
    content: str
    parentMessageId: str | None = None
    role: MessageRole


@strawberry.input
class ImageMessageInput:
    bytes: str
    format: str
    parentMessageId: str | None = None
    role: MessageRole


@strawberry.input
class ActionExecutionMessageInput:
    arguments: str
    name: str
    parentMessageId: str | None = None
    scope: str | None = strawberry.field(default=None, deprecation_reason=LATER)


@strawberry.input
class ResultMessageInput:
    actionExecutionId: str
    actionName: str
    parentMessageId: str | None = None
    result: str


@strawberry.input
class AgentStateMessageInput:
    active: bool
    agentName: str
    nodeName: str
    role: MessageRole
    runId: str
    running: bool
    state: str
    threadId: str


@strawberry.input
class MessageInput:
    actionExecutionMessage: ActionExecutionMessageInput | None = None
    agentStateMessage: AgentStateMessageInput | None = None
    createdAt: DateTimeISO
    id: str
    imageMessage: ImageMessageInput | None = None
    resultMessage: ResultMessageInput | None = None
    textMessage: TextMessageInput | None = None


@strawberry.input
class ActionInput:
    available: ActionInputAvailability | None = None
    description: str
    jsonSchema: str
    name: str


@strawberry.input
class FrontendInput:
    actions: list[ActionInput]
    toDeprecate_fullContext: str | None = None
    url: str | None = None


@strawberry.input
class AgentSessionInput:
    agentName: str
    nodeName: str | None = None
    threadId: str | None = None


@strawberry.input
class AgentStateInput:
    agentName: str
    config: str | None = None
    state: str


@strawberry.input
class GuardrailsRuleInput:
    allowList: list[str] | None = strawberry.field(default_factory=list)
    denyList: list[str] | None = strawberry.field(default_factory=list)


@strawberry.input
class GuardrailsInput:
    inputValidationRules: GuardrailsRuleInput


@strawberry.input
class CloudInput:
    guardrails: GuardrailsInput | None = None


@strawberry.input
class CopilotContextInput:
    description: str
    value: str


@strawberry.input
class OpenAIApiAssistantAPIInput:
    runId: str | None = None
    threadId: str | None = None


@strawberry.input
class ExtensionsInput:
    openaiAssistantAPI: OpenAIApiAssistantAPIInput | None = None


@strawberry.input
class ForwardedParametersInput:
    maxTokens: float | None = None
    model: str | None = None
    stop: list[str] | None = None
    temperature: float | None = None
    toolChoice: str | None = None
    toolChoiceFunctionName: str | None = None


@strawberry.input
class MetaEventInput:
    messages: list[MessageInput] | None = None
    name: MetaEventName
    response: str | None = None
    value: str


@strawberry.input
class GenerateCopilotResponseMetadataInput:
    requestType: CopilotRequestType | None = None


@strawberry.input
class GenerateCopilotResponseInput:
    agentSession: AgentSessionInput | None = None
    agentState: AgentStateInput | None = None
    agentStates: list[AgentStateInput] | None = None
    cloud: CloudInput | None = None
    context: list[CopilotContextInput] | None = None
    extensions: ExtensionsInput | None = None
    forwardedParameters: ForwardedParametersInput | None = None
    frontend: FrontendInput
    messages: list[MessageInput]
    metaEvents: list[MetaEventInput] | None = None
    metadata: GenerateCopilotResponseMetadataInput
    runId: str | None = None
    threadId: str | None = None


@strawberry.input
class LoadAgentStateInput:
    agentName: str
    threadId: str
