"""What the real clients sent, as an ask."""

from typing import Any

import msgspec
import pytest

from rightseat.core.ask import Ask, Context, NamedTool, Parameters, ToolOffer
from rightseat.core.errors import BadRequest, NotConfigured
from rightseat.core.loop.history import repair_history
from rightseat.core.messages import Call, Image, Message, Result, Text
from rightseat.faces.copilotkit.graphql.decoder import read_ask
from rightseat.faces.copilotkit.graphql.inputs import GenerateCopilotResponseInput
from tests.faces.copilotkit import recorded

THREAD = "11111111-1111-4111-8111-111111111111"
HI = Message("user", (Text("Hi"),), id="u-1")
HELPFUL = Message("system", (Text("You are helpful."),), id="sys-1")
SET_COLOR = ToolOffer(
    "setColor",
    "set setColor",
    {"type": "object", "properties": {"color": {"type": "string", "description": "css color"}}, "required": ["color"]},
)
AGENT_ONLY = ToolOffer("agentOnly", "set agentOnly", {"type": "object", "properties": {}, "required": []})


def read(name: str = "no-thread-id", default: str | None = "default", **more: Any) -> Ask:
    """A recorded request, with some fields of its `data` changed."""
    variables = recorded.request(name)["variables"]
    data = msgspec.convert(variables["data"] | more, GenerateCopilotResponseInput)
    return read_ask(data, variables.get("properties"), {}, default)


def expected(ask: Ask, **fields: Any) -> Ask:
    """A chat that names no agent; the run's id is the server's."""
    usual: dict[str, Any] = {"thread_id": THREAD, "parameters": Parameters(model="text"), "max_turns": 1}
    usual |= {"run_id": ask.run_id, "face": "copilotkit", "transient": True, "when_busy": "supersede"}
    return Ask(**{**usual, **fields})


# Messages


def test_a_plain_chat() -> None:
    ask = read("plain-chat")

    assert ask == expected(ask, messages=(HELPFUL, HI))


def test_a_picture() -> None:
    ask = read("image-message")

    question = Message("user", (Text("what is this?"),), id="u-1")
    data = recorded.request("image-message")["variables"]["data"]["messages"][1]["imageMessage"]["bytes"]
    assert ask == expected(ask, messages=(question, Message("user", (Image("image/png", data),), id="img-1")))


def test_a_call_and_its_result() -> None:
    ask = read("frontend-action-result")

    assert ask.messages == (
        HELPFUL,
        Message("user", (Text("make it blue"),), id="u-1"),
        Message("assistant", (Call("call_004_a", "setColor", '{"color":"blue"}'),), id="call_004_a"),
        Message("tool", (Result("call_004_a", "setColor", "color is now blue"),), id="res-1"),
    )
    assert [offer.name for offer in ask.tools] == ["setColor", "setSize"]


def test_earlier_answers_are_the_assistants() -> None:
    assert [(message.role, message.text) for message in read("multi-turn").messages] == [
        ("system", "You are helpful."),
        ("user", "Hi"),
        ("assistant", "Hello there, human!"),
        ("user", "And again"),
    ]


def message(id: str = "m", **said: Any) -> dict[str, Any]:
    return {"id": id, "createdAt": "2026-01-01T00:00:00.000Z", **said}


def text(role: str, content: str = "Hi") -> dict[str, Any]:
    return message(textMessage={"role": role, "content": content})


def test_a_developer_message_becomes_a_system_message() -> None:
    assert read(messages=[text("developer", "Be brief.")]).messages == (
        Message("system", (Text("Be brief."),), id="m"),
    )


def test_an_earlier_agent_state_is_no_message() -> None:
    state = {
        "agentName": "demo_agent",
        "nodeName": "__end__",
        "runId": "r",
        "threadId": "t",
        "active": False,
        "running": False,
        "role": "assistant",
        "state": "{}",
    }

    assert read(messages=[message("s", agentStateMessage=state), text("user")]).messages == (
        Message("user", (Text("Hi"),), id="m"),
    )


@pytest.mark.parametrize("content", ["", "a\nb", "naïve 🙂"])
def test_a_text_stays_as_it_is(content: str) -> None:
    assert read(messages=[text("user", content)]).messages[0].text == content


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (
            message(),
            "messages[1] is empty; it must be one of textMessage, imageMessage, actionExecutionMessage, resultMessage, "
            "agentStateMessage.",
        ),
        (
            message(
                textMessage={"role": "user", "content": "Hi"},
                imageMessage={"role": "user", "format": "png", "bytes": ""},
            ),
            "messages[1] is textMessage and imageMessage; it must be one of textMessage, imageMessage, "
            "actionExecutionMessage, resultMessage, agentStateMessage.",
        ),
        (
            text("tool"),
            "messages[1] is a text or an image with the role 'tool'; it must be one of assistant, user, system, "
            "developer.",
        ),
        (
            message(imageMessage={"role": "tool", "format": "png", "bytes": ""}),
            "messages[1] is a text or an image with the role 'tool'; it must be one of assistant, user, system, "
            "developer.",
        ),
    ],
)
def test_a_message_that_cannot_be_is_named(sent: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read(messages=[text("user"), sent])

    assert caught.value.message == problem


# Actions


def test_disabled_and_remote_actions_are_not_offered_to_a_model() -> None:
    assert read("action-disabled-and-remote").tools == (SET_COLOR,)


def test_remote_actions_are_offered_to_an_agent_that_the_client_names() -> None:
    ask = read("action-disabled-and-remote", agentSession={"agentName": "demo_agent"})

    assert ask.tools == (AGENT_ONLY, SET_COLOR)


def test_an_action_without_availability_is_available() -> None:
    action = {"name": "setColor", "description": "", "jsonSchema": "{}"}

    assert read(frontend={"actions": [action]}).tools == (ToolOffer("setColor", "", {}),)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{nope", "The jsonSchema of the action 'setColor' is not valid JSON: JSON is malformed"),
        ("[]", "The jsonSchema of the action 'setColor' is not an object."),
        ("[" * 100_000, "The jsonSchema of the action 'setColor' is not valid JSON: maximum recursion depth exceeded"),
    ],
)
def test_an_action_with_a_wrong_schema_is_named(schema: str, problem: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read(frontend={"actions": [{"name": "setColor", "description": "", "jsonSchema": schema}]})

    assert caught.value.message.startswith(problem)


def test_the_schema_of_a_disabled_action_does_not_matter() -> None:
    broken = {"name": "gone", "description": "", "jsonSchema": "{nope", "available": "disabled"}

    assert read(frontend={"actions": [broken]}).tools == ()


# Parameters


def test_every_parameter_is_forwarded() -> None:
    assert read("tool-choice-function").parameters == Parameters(
        model="tool", temperature=0.2, max_tokens=50, stop=("X",), tool_choice=NamedTool("setColor")
    )


def test_zero_is_a_temperature() -> None:
    assert read("temperature-zero").parameters == Parameters(model="text", temperature=0.0)


@pytest.mark.parametrize("given", [None, {}])
def test_without_parameters_the_model_decides(given: object) -> None:
    assert read(forwardedParameters=given).parameters == Parameters()


def test_nothing_and_an_empty_list_are_not_the_same_stop() -> None:
    assert read(forwardedParameters={"stop": []}).parameters.stop == ()


@pytest.mark.parametrize("choice", ["auto", "none", "required", None])
def test_a_choice_of_tools_is_forwarded(choice: str | None) -> None:
    assert read(forwardedParameters={"toolChoice": choice}).parameters.tool_choice == choice


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"toolChoice": "function"}, "toolChoice is 'function', but toolChoiceFunctionName is missing."),
        (
            {"toolChoice": "function", "toolChoiceFunctionName": ""},
            "toolChoice is 'function', but toolChoiceFunctionName is missing.",
        ),
        ({"toolChoice": "any"}, "toolChoice is 'any'; it is one of auto, none, required, function."),
    ],
)
def test_a_choice_that_cannot_be_is_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read(forwardedParameters=given)

    assert caught.value.message == problem


# Agents, threads, states


def test_an_agent_that_the_client_names() -> None:
    ask = read("remote-agent")

    assert ask == expected(
        ask,
        agent="demo_agent",
        messages=(Message("user", (Text("run the agent"),), id="u-1"),),
        tools=(SET_COLOR, AGENT_ONLY),
        state={"count": 1},
        config={"recursion_limit": 25},
        max_turns=None,
        transient=False,
    )


def test_a_client_asks_again_after_a_server_side_action_unless_it_names_an_agent() -> None:
    """`use-chat.ts` of react-core 1.10.6: `!isAgentRun && … isResultMessage()`."""
    assert read().max_turns == 1
    assert read(agentSession={"agentName": "demo_agent"}).max_turns is None


def test_without_an_agent_the_chat_is_refused() -> None:
    with pytest.raises(NotConfigured, match="Set `agent` in the client"):
        read(default=None)


@pytest.mark.parametrize(
    ("given", "session", "thread_id"),
    [
        ("t", "s", "t"),
        ("t", None, "t"),
        (None, "s", "s"),
        ("", "s", "s"),
    ],
)
def test_the_requests_thread_comes_before_the_sessions(given: str | None, session: str | None, thread_id: str) -> None:
    ask = read(threadId=given, agentSession={"agentName": "demo_agent", "threadId": session})

    assert ask.thread_id == thread_id


def test_a_chat_without_a_thread_begins_one() -> None:
    first, second = read("no-thread-id"), read("no-thread-id")

    assert first.thread_id.startswith("thread_")
    assert first.thread_id != second.thread_id


def test_the_runs_id_is_never_the_clients_and_what_the_client_calls_it_is_kept_beside() -> None:
    ask = read(runId="mine")

    assert ask.run_id.startswith("run_")
    assert ask.client_run_id == "mine"
    assert read(runId="").client_run_id is None
    assert read("plain-chat").client_run_id is None


@pytest.mark.parametrize("wrong", ["x" * 257, "a\nb", "a\0b"])
def test_a_run_or_node_name_that_cannot_be_kept_is_refused(wrong: str) -> None:
    with pytest.raises(BadRequest, match="`runId` should be at most 256 printable characters"):
        read(runId=wrong)
    with pytest.raises(BadRequest, match=r"`agentSession\.nodeName` should be at most 256 printable characters"):
        read(agentSession={"agentName": "a", "nodeName": wrong})


def test_the_node_of_the_session_is_the_asks() -> None:
    assert read(agentSession={"agentName": "a", "nodeName": "chat"}).node == "chat"
    assert read(agentSession={"agentName": "a"}).node is None


def test_extensions_are_a_property_of_the_ask() -> None:
    given = {"openaiAssistantAPI": {"runId": "run_1", "threadId": "thr_1"}}

    assert read(extensions=given).properties["extensions"] == given
    assert read(extensions={}).properties == read().properties


def test_extensions_do_not_replace_a_property_of_that_name() -> None:
    data = msgspec.convert(
        recorded.request("plain-chat")["variables"]["data"] | {"extensions": {"openaiAssistantAPI": {}}},
        GenerateCopilotResponseInput,
    )

    with pytest.raises(BadRequest, match="are both given"):
        read_ask(data, {"extensions": 1}, {}, "default")


def words(id: str, role: str = "assistant") -> dict[str, Any]:
    return message(id, textMessage={"content": id, "role": role})


def calls(id: str, parent: str | None) -> dict[str, Any]:
    return message(id, actionExecutionMessage={"name": "f", "arguments": "{}", "parentMessageId": parent})


def gave(of: str) -> dict[str, Any]:
    return message(f"r-{of}", resultMessage={"actionExecutionId": of, "actionName": "f", "result": "ok"})


def shape(*messages: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The id of each message that was read, and what it is made of."""
    return [
        (one.id, [part.id if isinstance(part, Call) else type(part).__name__ for part in one.parts])
        for one in read(messages=list(messages)).messages
    ]


def test_calls_join_the_text_that_is_their_parent() -> None:
    assert shape(words("u", "user"), words("m"), calls("c1", "m"), gave("c1"), calls("c2", "m"), gave("c2")) == [
        ("u", ["Text"]),
        ("m", ["Text", "c1", "c2"]),
        ("r-c1", ["Result"]),
        ("r-c2", ["Result"]),
    ]


def test_calls_with_one_parent_that_was_not_sent_are_one_message() -> None:
    assert shape(calls("c1", "gone"), calls("c2", "gone"), calls("c3", "other"), calls("c4", None)) == [
        ("c1", ["c1", "c2"]),
        ("c3", ["c3"]),
        ("c4", ["c4"]),
    ]


def test_a_call_does_not_join_an_answer_from_before_the_last_question() -> None:
    assert shape(words("m"), words("u", "user"), calls("c1", "m"), calls("c2", "u")) == [
        ("m", ["Text"]),
        ("u", ["Text"]),
        ("c1", ["c1"]),
        ("c2", ["c2"]),
    ]


def picture(id: str, parent: str | None, role: str = "user") -> dict[str, Any]:
    sent = {"format": "png", "bytes": "iVBORw0KGgo=", "role": role, "parentMessageId": parent}
    return message(id, imageMessage=sent)


def test_a_picture_joins_the_question_that_is_its_parent() -> None:
    assert shape(words("u", "user"), picture("i1", "u"), picture("i2", "i1"), picture("i3", None)) == [
        ("u", ["Text", "Image", "Image"]),
        ("i3", ["Image"]),
    ]


def test_a_text_joins_the_message_that_is_its_parent() -> None:
    more = message("more", textMessage={"content": "What is it?", "role": "user", "parentMessageId": "i"})
    assert shape(picture("i", None), more) == [("i", ["Image", "Text"])]

    second = message("m2", textMessage={"content": "Wait.", "role": "assistant", "parentMessageId": "gone"})
    third = message("m3", textMessage={"content": "Here.", "role": "assistant", "parentMessageId": "gone"})
    assert shape(calls("c1", "gone"), second, calls("c2", "m2"), third) == [
        ("c1", ["c1", "Text", "c2", "Text"]),
    ]


def test_a_text_does_not_join_a_message_of_another_role_or_before_a_result() -> None:
    reply = message("m2", textMessage={"content": "Done.", "role": "assistant", "parentMessageId": "m"})
    asked = message("u2", textMessage={"content": "And?", "role": "user", "parentMessageId": "m2"})
    assert [id for id, _ in shape(words("m"), calls("c1", "m"), gave("c1"), reply, asked)] == ["m", "r-c1", "m2", "u2"]


def test_a_result_stands_behind_its_call_whatever_its_parent() -> None:
    sent = {"actionExecutionId": "c1", "actionName": "f", "result": "ok", "parentMessageId": "u"}
    ask = read(messages=[calls("c1", None), words("u", "user"), message("r", resultMessage=sent)])
    repaired = repair_history(ask.messages)
    assert [one.role for one in repaired] == ["assistant", "tool", "user"]
    assert repaired[1].parts == (Result("c1", "f", "ok"),)


def test_of_several_states_the_agents_own_is_taken() -> None:
    states = [{"agentName": "other", "state": '{"a": 1}'}, {"agentName": "default", "state": '{"b": 2}'}]

    assert read(agentStates=states).state == {"b": 2}
    assert read(agentState=states[1]).state == {"b": 2}
    assert read(agentStates=states[:1]).state is None


def test_a_state_that_is_no_json_is_named() -> None:
    with pytest.raises(BadRequest, match="The state of the agent 'default' is not valid JSON"):
        read(agentStates=[{"agentName": "default", "state": "{nope"}])


# What comes along


def test_properties_are_passed_on() -> None:
    ask = read("properties-forwarding")

    properties = {"authorization": "demo-token", "nested": {"a": 1}, "tenant": "t1"}
    assert ask == expected(ask, messages=(HI,), properties=properties)


def test_what_the_page_knows_is_in_its_system_message_already_unless_it_names_an_agent() -> None:
    page = "browser-react-ui-1.10.6/browser-frontend-action.2"

    assert "1. current color: blue" in read(page).messages[0].text
    assert read(page).context == ()
    assert read(page, agentSession={"agentName": "demo_agent"}).context == (Context("current color", "blue"),)
