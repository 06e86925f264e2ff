"""What a GraphQL client sends → an `Ask`."""

from collections.abc import Iterable, Mapping

import msgspec
from pydantic import JsonValue

from rightseat.core.ask import ANYONE, Ask, Context, Named, Parameters, Principal, ToolChoice, ToolOffer
from rightseat.core.errors import BadAsk, Misuse
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Image, Message, Result, Role, Text
from rightseat.faces.answers import UNREADABLE
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
        properties=properties or {},
        headers=headers,
        config=read_config(data, agent),
        rounds=None if session else 1,
        transient=session is None,
        when_busy="supersede",
    )


def read_messages(messages: Iterable[inputs.MessageInput]) -> Iterable[Message]:
    for number, message in enumerate(messages):
        said = [kind for kind in KINDS if getattr(message, kind) is not None]
        if len(said) != 1:
            raise BadAsk(
                f"messages[{number}] is {' and '.join(said) or 'empty'}; it must be one of {', '.join(KINDS)}."
            )
        if message.textMessage:
            role = read_role(message.textMessage.role, number)
            yield Message(role, (Text(message.textMessage.content),), id=message.id)
        elif message.imageMessage:
            role = read_role(message.imageMessage.role, number)
            image = Image(f"image/{message.imageMessage.format}", message.imageMessage.bytes)
            yield Message(role, (image,), id=message.id)
        elif call := message.actionExecutionMessage:
            yield Message("assistant", (Call(message.id, call.name, call.arguments),), id=message.id)
        elif result := message.resultMessage:
            found = Result(result.actionExecutionId, result.actionName, result.result)
            yield Message("tool", (found,), id=message.id)
        # What is left is a state that the agent itself sent earlier: no part of what was said.


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
    except UNREADABLE as error:
        raise BadAsk(f"The {what} is no JSON: {error}") from error
