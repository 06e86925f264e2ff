"""The arguments of the mutation, read the short way and the long way."""

import json
from typing import Any

import msgspec
import pytest

from rightseat.faces.copilotkit.graphql.arguments import MutationArguments, is_plain, read_arguments
from rightseat.faces.copilotkit.graphql.documents import Documents, InvalidDocument
from rightseat.faces.copilotkit.graphql.inputs import (
    ForwardedParametersInput,
    FrontendInput,
    GenerateCopilotResponseInput,
    GenerateCopilotResponseMetadataInput,
    MessageInput,
    TextMessageInput,
)
from rightseat.faces.copilotkit.graphql.scalars import CopilotRequestType, DateTimeISO, MessageRole
from tests.faces.copilotkit import recorded

SHORT = recorded.document()
OTHER_NAMES = SHORT.replace("$data", "$input").replace("$properties", "$beside")
VARIABLE_DIRECTIVE = SHORT.replace("JSONObject)", "JSONObject, $yes: Boolean = true)").replace(
    "    runId\n", "    runId @include(if: $yes)\n", 1
)
WITH_DEFAULT = SHORT.replace("JSONObject)", "JSONObject = {})")
RECORDED = [
    "plain-chat",
    "image-message",
    "frontend-action-result",
    "action-disabled-and-remote",
    "tool-choice-function",
    "temperature-zero",
    "properties-forwarding",
    "openai-assistant-extension-input",
    "no-thread-id",
    "guardrails-denied",
    "remote-agent",
    "remote-agent-interrupt-resume",
    "browser-react-ui-1.10.6/browser-plain-chat",
    "browser-react-ui-1.10.6/browser-frontend-action.2",
]


def read(document: str, variables: object) -> MutationArguments:
    return read_arguments(Documents().read(document, None), json.dumps(variables).encode())[0]


def complaints(variables: object, document: str = SHORT) -> list[str]:
    with pytest.raises(InvalidDocument) as caught:
        read(document, variables)
    return [error.message for error in caught.value.errors]


def literal(data: str) -> str:
    return f"mutation {{ generateCopilotResponse(data: {data}) {{ threadId }} }}"


def renamed(variables: dict[str, Any]) -> dict[str, Any]:
    names = {"data": "input", "properties": "beside"}
    return {names[name]: value for name, value in variables.items()}


def variables(name: str = "plain-chat", **more: Any) -> dict[str, Any]:
    """What a real client sent, with some fields of `data` changed."""
    sent: dict[str, Any] = recorded.request(name)["variables"]
    sent["data"] |= more
    return sent


# The two ways


def test_only_the_clients_own_document_goes_the_short_way() -> None:
    plain = {document: is_plain(Documents().read(document, None)) for document in (SHORT, OTHER_NAMES, WITH_DEFAULT)}

    assert plain == {SHORT: True, OTHER_NAMES: False, WITH_DEFAULT: False}
    assert not Documents().read(VARIABLE_DIRECTIVE, None).is_constant


@pytest.mark.parametrize("name", RECORDED)
def test_both_ways_give_the_same_arguments(name: str) -> None:
    sent = variables(name)

    short = read(SHORT, sent)

    assert short == msgspec.json.decode(json.dumps(sent), type=MutationArguments)
    assert read(OTHER_NAMES, renamed(sent)) == short
    assert read(VARIABLE_DIRECTIVE, sent) == short


def test_arguments_may_be_written_into_the_document() -> None:
    literals = """mutation {
        generateCopilotResponse(
            data: {
                frontend: {actions: []}
                messages: [{id: "u-1", createdAt: "2026-01-01T00:00:00.000Z", textMessage: {role: user, content: "Hi"}}]
                metadata: {requestType: Chat}
                forwardedParameters: {temperature: 0, stop: "X"}
            }
            properties: {tenant: "t1", nested: {list: [1, 2.5, true, null]}}
        ) { threadId }
    }"""

    arguments = read(literals, {})

    text = TextMessageInput(content="Hi", role=MessageRole.user)
    assert arguments == MutationArguments(
        GenerateCopilotResponseInput(
            frontend=FrontendInput(actions=[]),
            messages=[MessageInput(createdAt=DateTimeISO("2026-01-01T00:00:00.000Z"), id="u-1", textMessage=text)],
            metadata=GenerateCopilotResponseMetadataInput(requestType=CopilotRequestType.Chat),
            forwardedParameters=ForwardedParametersInput(temperature=0.0, stop=["X"]),
        ),
        {"tenant": "t1", "nested": {"list": [1, 2.5, True, None]}},
    )


def test_literals_and_variables_may_be_mixed() -> None:
    mixed = """mutation M($messages: [MessageInput!]!, $tenant: String) {
        generateCopilotResponse(
            data: {frontend: {actions: []}, messages: $messages, metadata: {}}, properties: {tenant: $tenant}
        ) { threadId }
    }"""

    arguments = read(mixed, {"messages": variables()["data"]["messages"], "tenant": "t1"})

    assert [message.id for message in arguments.data.messages] == ["sys-1", "u-1"]
    assert arguments.properties == {"tenant": "t1"}


def test_a_variable_may_have_a_default() -> None:
    document = SHORT.replace(
        "GenerateCopilotResponseInput!",
        "GenerateCopilotResponseInput = {frontend: {actions: []}, messages: [], metadata: {}}",
    ).replace("JSONObject)", "JSONObject = {a: 1})")

    assert read(document, {}).data.messages == []
    assert read(document, {}).properties == {"a": 1}
    assert read(document, {"properties": None}).properties is None


def test_a_variable_that_the_document_does_not_pass_is_not_read() -> None:
    document = SHORT.replace(", $properties: JSONObject", "").replace(", properties: $properties", "")

    assert read(document, variables("properties-forwarding")).properties is None


@pytest.mark.parametrize("document", [SHORT, VARIABLE_DIRECTIVE])
def test_one_value_stands_for_a_list_of_one(document: str) -> None:
    arguments = read(document, variables(forwardedParameters={"stop": "X"}))

    assert arguments.data.forwardedParameters == ForwardedParametersInput(stop=["X"])


@pytest.mark.parametrize("created", ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00", "yesterday", 1767225600000])
def test_any_time_will_do_because_none_is_used(created: object) -> None:
    message = {"id": "u-1", "createdAt": created, "textMessage": {"role": "user", "content": "Hi"}}

    assert read(SHORT, variables(messages=[message])).data.messages[0].createdAt == str(created)


# What older and newer clients send


UNKNOWN: dict[str, Any] = {
    "newField": {"a": [1]},
    "agentStates": [{"agentName": "a", "state": "{}", "configurable": "{}"}],  # as 1.6.0 named it
    "frontend": {"actions": [{"name": "a", "description": "", "jsonSchema": "{}", "isNew": True}], "isNew": True},
    "forwardedParameters": {"model": "text", "isNew": True},
}


@pytest.mark.parametrize("document", [SHORT, VARIABLE_DIRECTIVE])
def test_fields_that_the_schema_does_not_have_are_left_out_of_variables(document: str) -> None:
    known: dict[str, Any] = {
        "agentStates": [{"agentName": "a", "state": "{}"}],
        "frontend": {"actions": [{"name": "a", "description": "", "jsonSchema": "{}"}]},
        "forwardedParameters": {"model": "text"},
    }

    assert read(document, variables(**UNKNOWN) | {"more": 1}) == read(SHORT, variables(**known))


def test_errors_do_not_mention_unknown_fields() -> None:
    wrong = variables(**UNKNOWN)
    del wrong["data"]["metadata"]

    (complaint,) = complaints(wrong)

    assert "to include required field 'metadata'" in complaint


def test_unknown_fields_in_the_document_itself_are_mistakes() -> None:
    (complaint,) = complaints({}, literal("{frontend: {actions: []}, messages: [], metadata: {}, more: 1}"))

    assert "'GenerateCopilotResponseInput' not to include unknown field 'more'" in complaint


# What is wrong


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"metadata": {"requestType": "Nope"}}, "at .metadata.requestType: Value 'Nope' does not exist"),
        ({"metadata": None}, "at .metadata: Expected value of non-null type"),
        ({"messages": [{"id": "u-1"}]}, "at .messages[0]: Expected value of type 'MessageInput' to include required"),
        ({"frontend": {"actions": [{"name": "a"}]}}, "at .frontend.actions[0]: Expected value of type 'ActionInput'"),
        (
            {"forwardedParameters": {"temperature": "hot"}},
            "at .forwardedParameters.temperature: Float cannot represent",
        ),
        ({"threadId": 7}, "at .threadId: String cannot represent a non string value: 7"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(change: dict[str, Any], complaint: str) -> None:
    (message, *_) = complaints(variables(**change))

    assert message.startswith(f"Variable '$data' has invalid value {complaint}")


def test_a_missing_field_is_named() -> None:
    (message,) = complaints(recorded.request("invalid-input-missing-metadata")["variables"])

    assert "Variable '$data' has invalid value: Expected value of type 'GenerateCopilotResponseInput'" in message
    assert "to include required field 'metadata'" in message


def test_a_missing_variable_is_named() -> None:
    (message,) = complaints({})

    assert message.startswith("Variable '$data' has invalid value: Expected a value of non-null type")


@pytest.mark.parametrize("properties", [[], "x", 7, True])
def test_properties_are_an_object(properties: object) -> None:
    (message,) = complaints(variables() | {"properties": properties})

    assert message.startswith("Variable '$properties' has invalid value: Expected value of type 'JSONObject'")


@pytest.mark.parametrize("properties", ["[]", '"x"', "7"])
def test_properties_in_the_document_are_an_object_too(properties: str) -> None:
    data = "{frontend: {actions: []}, messages: [], metadata: {}}"

    (message,) = complaints({}, literal(f"{data}, properties: {properties}"))

    assert message.startswith("Expected value of type 'JSONObject'")


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (b"[1]", "got `array`"),
        (b'"x"', "got `str`"),
        (b'{"data": {"threadId": "\xff"}}', "can't decode byte 0xff"),
        (b'{"data": {"forwardedParameters": {"maxTokens": 1e999}}}', "Number out of range"),
        (b'{"data": ' + b"[" * 5000 + b"]" * 5000 + b"}", "maximum recursion depth exceeded"),
    ],
)
@pytest.mark.parametrize("document", [SHORT, OTHER_NAMES])
def test_invalid_variables_are_reported(sent: bytes, complaint: str, document: str) -> None:
    with pytest.raises(InvalidDocument, match=r"^The variables are not a valid JSON object: ") as caught:
        read_arguments(Documents().read(document, None), sent)

    assert complaint in str(caught.value)


def test_a_name_whose_lower_case_is_longer_is_refused_like_any_other() -> None:
    """The library's suggestions for names that are misspelt cannot take it."""
    given = variables()
    given["data"]["frontend"]["actions"] = {"İ" * 40: 1}

    with pytest.raises(InvalidDocument, match="İİİ"):
        read_arguments(Documents().read(OTHER_NAMES.replace("$input", "$data"), None), json.dumps(given).encode())


def test_no_variables_are_as_good_as_empty_ones() -> None:
    assert complaints(None) == complaints({})


# Directives that depend on variables


def test_a_directive_that_rejects_its_variable_is_reported_before_the_run_starts() -> None:
    document = Documents().read(VARIABLE_DIRECTIVE, None)
    _, values = read_arguments(document, json.dumps(variables() | {"yes": None}).encode())

    with pytest.raises(InvalidDocument, match=r"Expected variable '\$yes' provided to non-null type 'Boolean!'"):
        document.selection(values)
