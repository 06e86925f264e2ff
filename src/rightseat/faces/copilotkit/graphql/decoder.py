"""Decodes the request of a CopilotKit GraphQL client into an ask."""

from collections.abc import Iterable, Mapping

import msgspec
from pydantic import JsonValue

from rightseat.core.ask import ANYONE, Ask, Context, NamedTool, Parameters, Principal, ToolChoice, ToolOffer
from rightseat.core.errors import BadRequest, NotConfigured
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Image, Message, Result, Role, Text
from rightseat.core.types import JSON_ERRORS
from rightseat.faces.copilotkit.graphql import inputs
from rightseat.faces.copilotkit.graphql.scalars import ActionInputAvailability, MessageRole

NO_AGENT = (
    "The request names no agent, and this face has no default agent. "
    "Set `agent` in the client, or `agent` of the face in the configuration."
)


def read_ask(
    data: inputs.GenerateCopilotResponseInput,
    properties: Mapping[str, JsonValue] | None,
    headers: Mapping[str, str],
    default: str | None,
    principal: Principal = ANYONE,
) -> Ask:
    """`default` is the agent for chats that name none. `meta` decodes the answers to interrupts.

    The client puts its page context into its system message, so only an agent that the request names also gets it as
    context. Without a named agent, the client itself sends the results of server-side actions in a new request, so the
    run is limited to one turn.
    """
    session = data.agentSession
    agent = session.agentName if session else default
    if agent is None:
        raise NotConfigured(NO_AGENT)
    return Ask(
        messages=tuple(read_messages(data.messages)),
        agent=agent,
        principal=principal,
        thread_id=data.threadId or (session and session.threadId) or new_id("thread"),
        tools=tuple(read_tools(data.frontend.actions, for_agent=session is not None)),
        parameters=read_parameters(data.forwardedParameters),
        context=tuple(Context(item.description, item.value) for item in data.context or () if session),
        state=read_state(data, agent),
        properties=read_properties(properties, data.extensions),
        headers=headers,
        config=read_config(data, agent),
        face="copilotkit",
        client_run_id=read_name(data.runId, "runId"),
        node=read_name(session.nodeName, "agentSession.nodeName") if session else None,
        max_turns=None if session else 1,
        transient=session is None,
        when_busy="supersede",
    )


def read_properties(
    properties: Mapping[str, JsonValue] | None, extensions: inputs.ExtensionsInput | None
) -> Mapping[str, JsonValue]:
    """Return the application's properties, with the client's OpenAI assistant ids as the property `extensions`."""
    assistant = extensions.openaiAssistantAPI if extensions else None
    if assistant is None:
        return properties or {}
    if properties and "extensions" in properties:
        raise BadRequest("`extensions` and `properties.extensions` are both given. Send one of them.")
    return {
        **(properties or {}),
        "extensions": {"openaiAssistantAPI": {"runId": assistant.runId, "threadId": assistant.threadId}},
    }


def read_name(name: str | None, what: str) -> str | None:
    """Check a name that the client chose. An empty name counts as absent."""
    if name and (len(name) > MAX_NAME_CHARACTERS or not name.isprintable()):
        raise BadRequest(f"`{what}` should be at most {MAX_NAME_CHARACTERS} printable characters.")
    return name or None


MAX_NAME_CHARACTERS = 256


def read_messages(messages: Iterable[inputs.MessageInput]) -> list[Message]:
    """Join a message to the one of its `parentMessageId`.

    A call becomes a part of its assistant message: its text and other calls with that parent. A user or system message
    ends the assistant message, whatever parent a later call names. A text or an image becomes a part of the message
    directly before it, if that is its parent and has the same role: a picture with its question. The parent of a result
    is not needed, because a result names its call.
    """
    decoded: list[Message] = []
    assistants: dict[
        str, int
    ] = {}  # index in `decoded` of assistant messages since then, by id or by their calls' parent
    joined_ids: set[str] = set()  # the ids that the last message was sent under
    for number, message in enumerate(messages):
        read = read_message(message, number)
        if read is None:
            continue
        call, content = message.actionExecutionMessage, message.textMessage or message.imageMessage
        parent = call.parentMessageId if call else None
        if parent and (place := assistants.get(parent)) is not None:
            decoded[place] = join_message(decoded[place], read)
            continue
        if content and content.parentMessageId in joined_ids and decoded[-1].role == read.role:
            decoded[-1] = join_message(decoded[-1], read)
            joined_ids.add(read.id)
            if read.role == "assistant":
                assistants[read.id] = len(decoded) - 1
            continue
        if read.role in ("user", "system"):
            assistants.clear()
        elif read.role == "assistant":
            assistants[parent or read.id] = len(decoded)
        decoded.append(read)
        joined_ids = {read.id, parent} if parent else {read.id}
    return decoded


def join_message(message: Message, more: Message) -> Message:
    return msgspec.structs.replace(message, parts=(*message.parts, *more.parts))


def read_message(message: inputs.MessageInput, number: int) -> Message | None:
    """Return None for a state that the agent sent earlier, which is not part of the thread's messages."""
    present = [kind for kind in KINDS if getattr(message, kind) is not None]
    if len(present) != 1:
        raise BadRequest(
            f"messages[{number}] is {' and '.join(present) or 'empty'}; it must be one of {', '.join(KINDS)}."
        )
    if message.textMessage:
        role = read_role(message.textMessage.role, number)
        return Message(role, (Text(message.textMessage.content),), id=message.id)
    if message.imageMessage:
        role = read_role(message.imageMessage.role, number)
        image = Image(f"image/{message.imageMessage.format}", message.imageMessage.bytes)
        return Message(role, (image,), id=message.id)
    if call := message.actionExecutionMessage:
        return Message("assistant", (Call(message.id, call.name, call.arguments),), id=message.id)
    if result := message.resultMessage:
        return Message("tool", (Result(result.actionExecutionId, result.actionName, result.result),), id=message.id)
    return None


KINDS = ("textMessage", "imageMessage", "actionExecutionMessage", "resultMessage", "agentStateMessage")
ROLES: dict[MessageRole, Role] = {
    MessageRole.assistant: "assistant",
    MessageRole.user: "user",
    MessageRole.system: "system",
    MessageRole.developer: "system",
}


def read_role(role: MessageRole, number: int) -> Role:
    if role not in ROLES:
        allowed = ", ".join(one.name for one in ROLES)
        raise BadRequest(
            f"messages[{number}] is a text or an image with the role {role.name!r}; it must be one of {allowed}."
        )
    return ROLES[role]


def read_tools(actions: Iterable[inputs.ActionInput], *, for_agent: bool) -> Iterable[ToolOffer]:
    """Skip `disabled` actions, and `remote` ones unless the request names an agent."""
    for action in actions:
        if action.available is ActionInputAvailability.disabled:
            continue
        if action.available is ActionInputAvailability.remote and not for_agent:
            continue
        schema = read_json(action.jsonSchema, f"jsonSchema of the action {action.name!r}")
        if not isinstance(schema, dict):
            raise BadRequest(f"The jsonSchema of the action {action.name!r} is not an object.")
        yield ToolOffer(action.name, action.description, schema)


def read_parameters(forwarded: inputs.ForwardedParametersInput | None) -> Parameters:
    if forwarded is None:
        return Parameters()
    return Parameters(
        model=forwarded.model,
        temperature=forwarded.temperature,
        max_tokens=None if forwarded.maxTokens is None else int(forwarded.maxTokens),
        stop=None if forwarded.stop is None else tuple(forwarded.stop),
        tool_choice=read_tool_choice(forwarded),
    )


def read_tool_choice(forwarded: inputs.ForwardedParametersInput) -> ToolChoice | None:
    match forwarded.toolChoice:
        case None | "auto" | "none" | "required":
            return forwarded.toolChoice
        case "function":
            if forwarded.toolChoiceFunctionName:
                return NamedTool(forwarded.toolChoiceFunctionName)
            raise BadRequest("toolChoice is 'function', but toolChoiceFunctionName is missing.")
        case other:
            raise BadRequest(f"toolChoice is {other!r}; it is one of auto, none, required, function.")


def read_state(data: inputs.GenerateCopilotResponseInput, agent: str) -> JsonValue:
    for state in (*(data.agentStates or ()), data.agentState):
        if state is not None and state.agentName == agent:
            return read_json(state.state, f"state of the agent {agent!r}")
    return None


def read_config(data: inputs.GenerateCopilotResponseInput, agent: str) -> dict[str, JsonValue]:
    for state in (*(data.agentStates or ()), data.agentState):
        if state is not None and state.agentName == agent and state.config:
            config = read_json(state.config, f"config of the agent {agent!r}")
            if config is not None and not isinstance(config, dict):
                raise BadRequest(f"The config of the agent {agent!r} is not an object.")
            return config or {}
    return {}


def read_json(text: str, what: str) -> JsonValue:
    try:
        return msgspec.json.decode(text)  # type: ignore[no-any-return]  # decoded JSON is a JsonValue
    except JSON_ERRORS as error:
        raise BadRequest(f"The {what} is not valid JSON: {error}") from error
