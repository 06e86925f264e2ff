"""A request of any shape becomes a query; what cannot be understood harms nothing else."""

import json
from typing import Any

import pytest
import xxhash

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.request import parser
from rightseat.faces.openbb.request.parser import parse
from rightseat.faces.openbb.request.types import (
    CommandResult,
    Data,
    DataFailure,
    DataItem,
    FunctionCall,
    FunctionResult,
    Query,
    TextMessage,
)
from rightseat.faces.openbb.xxhash64 import xxh64
from tests.faces.openbb.serving import human, question, widget


def query(**body: Any) -> Query:
    return parse(json.dumps({"messages": [human()]} | body).encode())


def said(*messages: Any) -> Query:
    return query(messages=list(messages))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"messages":', b'{"messages":[]}', b'{"messages":"hi"}', b"\xff"]
)
def test_what_cannot_be_read_at_all_is_refused_with_what_would_be_right(body: bytes) -> None:
    with pytest.raises(BadRequest, match="messages"):
        parse(body)


def test_messages_of_every_role_are_read() -> None:
    call = {"function": "get_widget_data", "input_arguments": {"data_sources": []}}
    result = {"role": "tool", **call, "data": [{"items": [{"content": "1"}]}], "extra_state": {"a": 1}}

    found = said(human("Hi"), {"role": "ai", "content": "Yes?"}, {"role": "ai", "content": json.dumps(call)}, result)

    assert found.messages == (
        TextMessage("Hi", is_user=True),
        TextMessage("Yes?", is_user=False),
        FunctionCall("get_widget_data", {"data_sources": []}, call),
        FunctionResult("get_widget_data", {"data_sources": []}, (Data((DataItem("1"),)),), {"a": 1}),
    )


def test_json_in_a_user_message_stays_text() -> None:
    text = '{"function":"get_widget_data","input_arguments":{}}'

    assert said(human(text)).messages == (TextMessage(text, is_user=True),)


def test_the_last_word_of_another_agent_is_a_task() -> None:
    found = said(human("Ask the analyst."), {"role": "ai", "content": "Do it.", "agent_id": "openbb-copilot"})

    assert found.messages[-1] == TextMessage("Do it.", is_user=True)
    assert found.question_index == 1


@pytest.mark.parametrize(
    ("datum", "expected"),
    [
        ({"items": [{"content": "x", "citable": False}]}, Data((DataItem("x", citable=False),))),
        ({"items": [{"url": "https://x.test/a.pdf"}]}, Data((DataItem(None, "https://x.test/a.pdf"),))),
        ({"items": ["loose"]}, Data((DataItem("loose"),))),
        ({"items": [{"content": {"a": 1}}]}, Data((DataItem('{"a":1}'),))),
        ({"error_type": "widget_error", "content": "HTTP 500"}, DataFailure("HTTP 500")),
        (
            {"status": "success", "message": "Done."},
            CommandResult("success", {"status": "success", "message": "Done."}),
        ),
        ({"ok": True}, Data((DataItem('{"ok":true}'),))),
        ("text", Data((DataItem("text"),))),
    ],
)
def test_every_kind_of_result_is_read(datum: Any, expected: object) -> None:
    (found,) = said({"role": "tool", "function": "f", "data": [datum]}).messages

    assert isinstance(found, FunctionResult)
    assert found.data == (expected,)


@pytest.mark.parametrize("result", [{"content": "", "data": {"content": "42"}}, {"content": "42"}])
def test_results_of_2024_are_read_wherever_they_stand(result: dict[str, Any]) -> None:
    (found,) = said({"role": "tool", "function": "get_widget_data", **result}).messages

    assert isinstance(found, FunctionResult)
    assert found.data == (Data((DataItem("42"),)),)


def test_one_bad_thing_never_harms_another() -> None:
    odd = widget(
        "odd", params=[{"name": "p", "type": "hologram"}, {"type": "date"}, 7], uuid="no uuid", description=None
    )
    body = question(widget(), odd, "rubbish", context=[{"name": "Bad"}, 3], tools=[{"name": "half"}])  # type: ignore[arg-type]

    found = parse(json.dumps(body).encode())

    assert [one.widget_id for one in found.widgets] == ["eod_price", "odd"]
    assert [param.name for param in found.widgets[1].params] == ["p"]
    assert (found.tools, found.context) == ((), ())
    assert [line.partition(":")[0] for line in found.skipped] == [
        "widgets.primary[2]",
        "context[0]",
        "context[1]",
        "tools[0]",
    ]


def test_null_fields_count_as_absent() -> None:
    found = query(
        widgets=None, context=None, tools=None, timezone=None, urls=None, workspace_options=None, workspace_state=None
    )

    assert found == query(**{key: None for key in found.raw if key != "messages"})
    assert (found.widgets, found.timezone, found.urls, found.options) == ((), None, (), {})


@pytest.mark.parametrize("options", [{"web-search": True, "model": "large", "odd": 3}, ["web-search"]])
def test_options_come_as_an_object_or_as_a_list_of_what_is_on(options: Any) -> None:
    found = query(workspace_options=options)

    assert found.is_on("web-search")
    assert not found.is_on("model")


def test_secrets_of_the_user_go_no_further() -> None:
    tool = {"server_id": "s", "name": "s_t", "auth_token": "secret-token", "input_schema": {"type": "object"}}

    found = query(api_keys={"openai_api_key": "secret-key"}, tools=[tool])

    assert "secret" not in repr(found)


def test_a_widget_without_an_id_of_its_own_gets_the_one_that_openbb_gives_it() -> None:
    found = parse(json.dumps(question(widget("portfolio", uuid=None, origin="My Backend"))).encode())

    assert found.widgets[0].uuid == "c813e82a-9fe1-d9de-c813-e82a9fe1d9de"


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 31, 32, 33, 64, 100])
def test_the_hash_is_xxhash(size: int) -> None:
    data = bytes(range(size))

    assert xxh64(data) == xxhash.xxh64(data).intdigest()


def test_a_widget_that_is_picked_and_on_the_dashboard_is_one() -> None:
    body = question(widget())
    body["widgets"]["secondary"] = [widget(), widget("news")]

    found = parse(json.dumps(body).encode())

    assert [(one.widget_id, one.group) for one in found.widgets] == [("eod_price", "primary"), ("news", "secondary")]


def test_whole_characters_cost_a_long_body_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "repair_surrogates", None)  # it goes through all of the body

    found = parse(b'{"messages":[{"role":"human","content":"a smile: \\ud83d\\ude00"}]}')

    assert found.messages == (TextMessage("a smile: \U0001f600", is_user=True),)


def test_half_of_a_character_does_not_fail_a_request() -> None:
    found = parse(b'{"messages":[{"role":"human","content":"cut \\ud83d"}]}')

    assert found.messages == (TextMessage("cut \ufffd", is_user=True),)
