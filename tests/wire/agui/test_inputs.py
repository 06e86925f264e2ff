"""What a client sends → an ask. The bodies are those of CopilotKit 1.74, shortened."""

import json
from typing import Any

import pytest

from rightseat.core.ask import Answer, Ask, Context, NamedTool, Principal, ToolChoice, ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.wire.agui import Version, read_ask, read_input, write_message, write_stored_message
from rightseat.wire.agui.versions import downgrade_message

MINIMAL: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
PIXEL = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}


def asked(**fields: Any) -> Ask:
    return read_ask(read_input(MINIMAL | fields), "default")


def test_a_run_of_copilotkit_is_an_ask() -> None:
    parameters: dict[str, Any] = {"type": "object", "properties": {"color": {"type": "string"}}}
    body = {
        "threadId": "th-tool",
        "runId": "r-1",
        "tools": [{"name": "setColor", "description": "Set the page colour", "parameters": parameters}],
        "context": [{"description": "Current user", "value": "Ada"}],
        "forwardedProps": {"tenant": "acme"},
        "state": {"count": 1},
        "messages": [{"id": "u", "role": "user", "content": "tool please"}],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}],
    }

    ask = read_ask(read_input(json.dumps(body).encode()), "default", Principal("ada"))

    assert ask == Ask(
        messages=(Message("user", (Text("tool please"),), id="u"),),
        agent="default",
        thread_id="th-tool",
        run_id=ask.run_id,
        principal=Principal("ada"),
        tools=(ToolOffer("setColor", "Set the page colour", parameters),),
        context=(Context("Current user", "Ada"),),
        state={"count": 1},
        properties={"tenant": "acme"},
        answers=(Answer("i", "resolved", {"approved": True}),),
        client_run_id="r-1",
    )


def test_a_client_of_1_0_may_leave_out_what_is_empty() -> None:
    ask = asked()

    assert (ask.tools, ask.context, ask.state, ask.properties, ask.answers) == ((), (), None, {}, ())


def test_an_empty_state_leaves_the_one_of_the_thread() -> None:
    assert asked(state={}).state is None


@pytest.mark.parametrize(
    ("said", "version"),
    [
        (None, "0.0.59"),
        ("0.0.59", "0.0.59"),
        ("00.1", "0.0.59"),
        ("", "0.0.59"),
        ("x", "0.0.59"),
        ("1.0", "1.0"),
        (" 1 ", "1.0"),
        ("1.0.0", "1.0"),
        ("1.12.3-beta", "1.0"),
        ("2.1", "1.0"),
        ("9" * 5000, "1.0"),
    ],
)
def test_only_a_client_that_declares_1_0_gets_1_0(said: str | None, version: Version) -> None:
    assert read_input(MINIMAL | {"protocolVersion": said}).version == version


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "f"}}, NamedTool("f")),
    ],
)
def test_a_tool_may_be_demanded(given: Any, wanted: ToolChoice | None) -> None:
    ask = asked(forwardedProps={"toolChoice": given, "model": "expensive", "temperature": 2})

    assert ask.parameters.tool_choice == wanted
    assert (ask.parameters.model, ask.parameters.temperature) == (None, None), "those are the operator's to say"


MESSAGES: dict[str, dict[str, Any]] = {
    "text": {"id": "1", "role": "user", "content": "Hi"},
    "no text": {"id": "1", "role": "user", "content": ""},
    "text in a part": {"id": "1", "role": "user", "content": [{"type": "text", "text": "Hi"}]},
    "no parts": {"id": "1", "role": "user", "content": []},
    "an image": {
        "id": "1",
        "role": "user",
        "content": [
            {"type": "text", "text": "hello with image"},
            {"type": "image", "source": PIXEL, "metadata": {"filename": "dot.png"}},
        ],
    },
    "metadata": {
        "id": "1",
        "role": "user",
        "name": "Ada",
        "metadata": {"n": 1},
        "content": [{"type": "image", "id": "p", "source": PIXEL, "metadata": {"filename": "a", "width": 1}}],
    },
    "odd metadata": {"id": "1", "role": "user", "content": [{"type": "image", "source": PIXEL, "metadata": "x"}]},
    "a document at an address": {
        "id": "1",
        "role": "user",
        "content": [{"type": "document", "source": {"type": "url", "value": "https://x/y.pdf"}}],
    },
    "a recording": {
        "id": "1",
        "role": "user",
        "content": [{"type": "audio", "source": {"type": "url", "value": "https://x/y", "mimeType": "audio/wav"}}],
    },
    "a provider's file": {
        "id": "1",
        "role": "user",
        "content": [{"type": "document", "source": {"type": "file", "value": "file-1", "provider": "openai"}}],
    },
    "a developer": {"id": "1", "role": "developer", "content": "Be nice."},
    "a system": {"id": "1", "role": "system", "content": "Be nice."},
    "an assistant": {"id": "1", "role": "assistant", "content": "Hello."},
    "a call": {
        "id": "1",
        "role": "assistant",
        "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    "a signed call": {
        "id": "1",
        "role": "assistant",
        "content": "So.",
        "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "encryptedValue": "x"}
        ],
    },
    "a result": {"id": "1", "role": "tool", "toolCallId": "c", "content": "ok"},
    "a failure": {"id": "1", "role": "tool", "toolCallId": "c", "content": "no", "error": "no"},
    "a result in parts": {
        "id": "1",
        "role": "tool",
        "toolCallId": "c",
        "content": [{"type": "text", "text": "a cat"}, {"type": "image", "source": PIXEL}],
    },
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_comes_back_as_it_was_sent(message: dict[str, Any]) -> None:
    (read,) = asked(messages=[message]).messages

    assert write_message(read) == message


def test_a_model_gets_the_parts_of_a_message() -> None:
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": PIXEL, "metadata": {"filename": "dot.png"}},
        {"type": "audio", "source": {"type": "data", "value": "AAAA", "mimeType": "audio/wav"}},
        {"type": "video", "source": {"type": "url", "value": "https://x/y"}},
        {"type": "document", "source": {"type": "file", "value": "file-1", "provider": "openai"}},
        {"type": "binary", "mimeType": "application/pdf", "data": "AAAA", "filename": "a.pdf"},
    ]

    (message,) = asked(messages=[{"id": "1", "role": "user", "content": parts}]).messages

    assert message.parts == (
        Text("Look"),
        Image("image/png", "iVBORw0KGgo=", name="dot.png"),
        File("audio", "audio/wav", "AAAA"),
        File("video", "", "", "https://x/y"),
        Text("[document 'file-1', kept at openai]"),
        File("document", "application/pdf", "AAAA", name="a.pdf"),
    )


def test_a_result_has_the_name_of_its_call_and_what_is_only_shown_is_left_out() -> None:
    messages = [
        MESSAGES["a call"],
        {"id": "2", "role": "reasoning", "content": "Hm"},
        {"id": "3", "role": "activity", "activityType": "PLAN", "content": {}},
        MESSAGES["a result"] | {"id": "4"},
    ]

    call, result = asked(messages=messages).messages

    assert call.parts == (Call("c", "f", "{}"),)
    assert result == Message("tool", (Result("c", "f", "ok"),), id="4")


def test_an_older_client_gets_a_note_in_place_of_a_providers_file() -> None:
    (message,) = asked(messages=[MESSAGES["a provider's file"]]).messages

    assert downgrade_message(write_message(message))["content"] == [
        {"type": "text", "text": "[document 'file-1', kept at openai]"}
    ]


def test_a_list_of_messages_writes_calls_its_own_way() -> None:
    (call,) = asked(messages=[MESSAGES["a call"]]).messages

    assert write_stored_message(call) == {
        "id": "1",
        "role": "assistant",
        "toolCalls": [{"id": "c", "name": "f", "args": "{}"}],
    }


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"runId": 1}, r"runId"),
        ({"threadId": ""}, r"threadId"),
        ({"messages": None}, r"messages"),
        ({"tools": [{"description": "x"}]}, r"name.*tools"),
        ({"tools": [{"name": "f", "parameters": [1]}]}, r"parameters of the tool 'f'"),
        ({"context": [{"description": "x"}]}, r"value.*context"),
        ({"forwardedProps": []}, r"forwardedProps"),
        ({"forwardedProps": {"toolChoice": "maybe"}}, r"toolChoice.*'auto', 'none', 'required'"),
        ({"resume": [{"interruptId": "i", "status": "maybe"}]}, r"status"),
        ({"messages": ["Hi"]}, r"messages\[0\] is no object"),
        ({"messages": [{"role": "user", "content": "x"}]}, r"messages\[0\] lacks `id`"),
        ({"messages": [{"id": "1", "role": "wizard"}]}, r"messages\[0\].role is 'wizard'; it is one of developer"),
        ({"messages": [{"id": "1", "role": "user"}]}, r"messages\[0\] lacks `content`"),
        ({"messages": [{"id": "1", "role": "user", "content": 1}]}, r"messages\[0\].content"),
        ({"messages": [{"id": "1", "role": "user", "content": [{"type": "smell"}]}]}, r"content\[0\].*'smell'"),
        ({"messages": [{"id": "1", "role": "user", "content": [{"type": "image", "source": {}}]}]}, r"\[0\].source"),
        ({"messages": [{"id": "1", "role": "tool", "content": "x"}]}, r"messages\[0\] lacks `toolCallId`"),
        ({"messages": [{"id": "1", "role": "assistant", "toolCalls": [{}]}]}, r"messages\[0\].toolCalls\[0\]"),
        ({"messages": [{"id": "1", "role": "assistant", "toolCalls": True}]}, r"messages\[0\].toolCalls is no list"),
        (
            {"messages": [{"id": "1", "role": "user", "content": [{"type": "binary", "mimeType": "a/b", "data": 1}]}]},
            r"content\[0\].data is no text",
        ),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadRequest, match=problem):
        asked(**fields)


@pytest.mark.parametrize("body", [b"nope", b"[]", b'{"threadId": "t"}', b"\xff", b"[" * 100_000])
def test_an_invalid_body_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match="`threadId`, `runId` and `messages`"):
        read_input(body)
