"""What a GraphQL client sends → an `Ask`."""

from collections.abc import Iterable, Mapping

import msgspec
from pydantic import JsonValue

from rightseat.core.ask import ANYONE, Ask, Context, Named, Parameters, Principal, ToolChoice, ToolOffer
from rightseat.core.errors import BadAsk, Misuse
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Image, Message, Result, Role, Text
from rightseat.core.values import JSON_ERRORS
from rightseat.faces.copilotkit.graphql import inputs
from rightseat.faces.copilotkit.graphql.scalars import ActionInputAvailability, MessageRole

NO_AGENT = (
    "This address has no agent for a chat that names none, and the request names none. "
    "Name one in the client (agent=...), or configure `agent` of the face."
)


def read_ask(
    data: inputs.GenerateCopilotResponseInput,
    properties: Mapping[str, JsonValue] | None,
    headers: Mapping[str, str],
    default: str | None,
    principal: Principal = ANYONE,
) -> Ask:
    """`default` is the agent of a chat that names none. Answers to questions are not read here: `meta` does that.

    The client writes what its page knows into its system message itself, so only an agent that it names gets it again
    as context. It also asks again itself with the results of server-side actions, hence one round; but not where it
    names an agent.
    """
    session = data.agentSession
    agent = session.agentName if session else default
    if agent is None:
        raise Misuse(NO_AGENT)
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
        client_run_id=read_name(data.runId, "runId"),
        node=read_name(session.nodeName, "agentSession.nodeName") if session else None,
        rounds=None if session else 1,
        transient=session is None,
        when_busy="supersede",
    )


def read_properties(
    properties: Mapping[str, JsonValue] | None, extensions: inputs.ExtensionsInput | None
) -> Mapping[str, JsonValue]:
    """What the application sends along; and, as the property `extensions`, what the client keeps for an assistant."""
    assistant = extensions.openaiAssistantAPI if extensions else None
    if assistant is None:
        return properties or {}
    if properties and "extensions" in properties:
        raise BadAsk("`extensions` and `properties.extensions` are both given. Send one of them.")
    return {
        **(properties or {}),
        "extensions": {"openaiAssistantAPI": {"runId": assistant.runId, "threadId": assistant.threadId}},
    }


def read_name(name: str | None, what: str) -> str | None:
    """A name that the client chooses. An empty one is none."""
    if name and (len(name) > MAX_NAME_CHARACTERS or not name.isprintable()):
        raise BadAsk(f"`{what}` should be at most {MAX_NAME_CHARACTERS} printable characters.")
    return name or None


MAX_NAME_CHARACTERS = 256


def read_messages(messages: Iterable[inputs.MessageInput]) -> list[Message]:
    """A call joins the answer that its `parentMessageId` names: the text of it, and other calls with the same parent.

    An answer ends with the next message of a person or of the system, whatever a later call names.
    """
    said: list[Message] = []
    answers: dict[str, int] = {}  # of the answers since then, by id and by what their calls name: the place in `said`
    for number, message in enumerate(messages):
        read = read_message(message, number)
        if read is None:
            continue
        call = message.actionExecutionMessage
        parent = call.parentMessageId if call else None
        if parent and (place := answers.get(parent)) is not None:
            joined = said[place]
            said[place] = msgspec.structs.replace(joined, parts=(*joined.parts, *read.parts))
            continue
        if read.role in ("user", "system"):
            answers.clear()
        elif read.role == "assistant":
            answers[parent or read.id] = len(said)
        said.append(read)
    return said


def read_message(message: inputs.MessageInput, number: int) -> Message | None:
    """None for a state that the agent itself sent earlier: it is no part of the conversation."""
    said = [kind for kind in KINDS if getattr(message, kind) is not None]
    if len(said) != 1:
        raise BadAsk(f"messages[{number}] is {' and '.join(said) or 'empty'}; it must be one of {', '.join(KINDS)}.")
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
        known = ", ".join(one.name for one in ROLES)
        raise BadAsk(
            f"messages[{number}] is a text or an image with the role {role.name!r}; it must be one of {known}."
        )
    return ROLES[role]


def read_tools(actions: Iterable[inputs.ActionInput], *, for_agent: bool) -> Iterable[ToolOffer]:
    """`disabled` actions are for nobody, `remote` ones only for an agent that the client names."""
    for action in actions:
        if action.available is ActionInputAvailability.disabled:
            continue
        if action.available is ActionInputAvailability.remote and not for_agent:
            continue
        schema = read_json(action.jsonSchema, f"jsonSchema of the action {action.name!r}")
        if not isinstance(schema, dict):
            raise BadAsk(f"The jsonSchema of the action {action.name!r} is not an object.")
        yield ToolOffer(action.name, action.description, schema)


def read_parameters(given: inputs.ForwardedParametersInput | None) -> Parameters:
    if given is None:
        return Parameters()
    return Parameters(
        model=given.model,
        temperature=given.temperature,
        max_tokens=None if given.maxTokens is None else int(given.maxTokens),
        stop=None if given.stop is None else tuple(given.stop),
        tool_choice=read_tool_choice(given),
    )


def read_tool_choice(given: inputs.ForwardedParametersInput) -> ToolChoice | None:
    match given.toolChoice:
        case None | "auto" | "none" | "required":
            return given.toolChoice
        case "function":
            if given.toolChoiceFunctionName:
                return Named(given.toolChoiceFunctionName)
            raise BadAsk("toolChoice is 'function', but toolChoiceFunctionName does not say which.")
        case other:
            raise BadAsk(f"toolChoice is {other!r}; it is one of auto, none, required, function.")


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
                raise BadAsk(f"The config of the agent {agent!r} is not an object.")
            return config or {}
    return {}


def read_json(text: str, what: str) -> JsonValue:
    try:
        return msgspec.json.decode(text)  # type: ignore[no-any-return]  # JSON is what JsonValue says
    except JSON_ERRORS as error:
        raise BadAsk(f"The {what} is no JSON: {error}") from error
