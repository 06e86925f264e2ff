"""Events as the bytes that the clients read."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rightseat.core.events import (
    Custom,
    Event,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.faces.copilotkit.graphql.arguments import read_arguments
from rightseat.faces.copilotkit.graphql.body_encoder import GraphQLBodyEncoder
from rightseat.faces.copilotkit.graphql.documents import Document, Documents
from rightseat.faces.copilotkit.graphql.encoder import PatchEncoder, Shape
from rightseat.faces.copilotkit.graphql.projection import Selection
from tests.faces.copilotkit import recorded, urql

THREAD = "11111111-1111-4111-8111-111111111111"
STARTED = RunStarted("run_1", THREAD, "default")
DONE = RunFinished("done")
NOW = re.compile(rb'"createdAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"')


def compiled(selection: str | None = None, **variables: bool) -> tuple[Document, Selection]:
    """The clients' own document, or one with this selection of the response."""
    if selection is None:
        text = recorded.document()
    else:
        more = "".join(f", ${name}: Boolean!" for name in variables)
        response, _, fragments = selection.partition("fragment ")
        text = (
            f"mutation M($data: GenerateCopilotResponseInput!{more}) "
            f"{{ generateCopilotResponse(data: $data) {{ {response} }} }}"
        ) + (f" fragment {fragments}" if fragments else "")
    return chosen(text, **variables)


def chosen(text: str, **variables: bool) -> tuple[Document, Selection]:
    document = Documents().read(text, None)
    data = recorded.request("no-thread-id")["variables"]["data"]
    _, values = read_arguments(document, json.dumps({"data": data, **variables}).encode())
    return document, document.selection(values)


def payloads(batches: Iterable[Sequence[Event]], selection: str | None = None, **variables: bool) -> list[bytes]:
    """What is written for each batch. Times are all `now`."""
    document, picked = compiled(selection, **variables)
    shape = Shape.of(document.key, picked)
    assert shape is not None
    patches = PatchEncoder(shape, THREAD, "run_1", "default")
    written = [patches.begin(), *(payload for batch in batches if (payload := patches.feed(batch)) is not None)]
    return [NOW.sub(b'"createdAt":"now"', payload) for payload in written]


def merged(batches: Iterable[Sequence[Event]], selection: str | None = None, **variables: bool) -> dict[str, Any]:
    (response,) = urql.merge(map(json.loads, payloads(batches, selection, **variables))).values()
    found: dict[str, Any] = response
    return found


def whole(events: Sequence[Event], selection: str | None = None, **variables: bool) -> dict[str, Any]:
    document, picked = compiled(selection, **variables)
    one = GraphQLBodyEncoder(document.key, picked, THREAD, "run_1", "default")
    one.feed(events)
    assert one.is_over
    found: dict[str, Any] = json.loads(NOW.sub(b'"createdAt":"now"', one.body()))["data"][document.key]
    return found


def singly(*events: Event) -> list[list[Event]]:
    return [[event] for event in events]


def text(id: str, *pieces: str) -> list[Event]:
    return [TextStarted(id), *(TextDelta(id, piece) for piece in pieces), TextEnded(id)]


def call(id: str, name: str, *pieces: str, parent: str | None = None) -> list[Event]:
    return [ToolCallStarted(id, name, parent), *(ToolCallDelta(id, piece) for piece in pieces), ToolCallEnded(id)]


BEGIN = (
    b'{"data":{"generateCopilotResponse":{"threadId":"11111111-1111-4111-8111-111111111111","runId":null,'
    b'"extensions":null,"messages":[],"metaEvents":[],"__typename":"CopilotResponse"}},"hasNext":true}'
)
SUCCESS = (
    b'{"incremental":[{"data":{"status":{"code":"Success","__typename":"SuccessResponseStatus"},'
    b'"__typename":"CopilotResponse"},"path":["generateCopilotResponse"]}],"hasNext":false}'
)


# The clients' own document, byte by byte


def test_a_plain_chat() -> None:
    answer = text("chatcmpl-fake001", "Hello", " there", ", ", "human", "!")

    assert payloads(singly(STARTED, *answer, ModelResponseEnded("stop"), DONE)) == [
        BEGIN,
        b'{"incremental":[{"items":[{"__typename":"TextMessageOutput","id":"chatcmpl-fake001","createdAt":"now",'
        b'"content":[],"role":"assistant","parentMessageId":null}],'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        b'{"incremental":[{"items":["Hello"],'
        b'"path":["generateCopilotResponse","messages",0,"content",0]}],"hasNext":true}',
        b'{"incremental":[{"items":[" there"],'
        b'"path":["generateCopilotResponse","messages",0,"content",1]}],"hasNext":true}',
        b'{"incremental":[{"items":[", "],'
        b'"path":["generateCopilotResponse","messages",0,"content",2]}],"hasNext":true}',
        b'{"incremental":[{"items":["human"],'
        b'"path":["generateCopilotResponse","messages",0,"content",3]}],"hasNext":true}',
        b'{"incremental":[{"items":["!"],"path":["generateCopilotResponse","messages",0,"content",4]}],"hasNext":true}',
        b'{"incremental":[{"data":{"status":{"code":"Success","__typename":"SuccessMessageStatus"},'
        b'"__typename":"TextMessageOutput"},"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        SUCCESS,
    ]


def test_a_call_is_a_message_of_its_own() -> None:
    _, *written, last = payloads(
        singly(STARTED, *call("call_007_a", "setColor", '{"color"', ':"red"}', parent="m"), DONE)
    )

    assert written == [
        b'{"incremental":[{"items":[{"__typename":"ActionExecutionMessageOutput","id":"call_007_a","createdAt":"now",'
        b'"name":"setColor","arguments":[],"parentMessageId":"m"}],'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        b'{"incremental":[{"items":["{\\"color\\""],'
        b'"path":["generateCopilotResponse","messages",0,"arguments",0]}],"hasNext":true}',
        b'{"incremental":[{"items":[":\\"red\\"}"],'
        b'"path":["generateCopilotResponse","messages",0,"arguments",1]}],"hasNext":true}',
        b'{"incremental":[{"data":{"status":{"code":"Success","__typename":"SuccessMessageStatus"},'
        b'"__typename":"ActionExecutionMessageOutput"},'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
    ]
    assert last == SUCCESS


def test_a_result_comes_whole() -> None:
    answer = call("call_1", "getWeather", "{}")
    returned = ToolCallReturned("call_1", "getWeather", '{"tempC":4}')

    assert payloads(singly(STARTED, *answer, returned, DONE))[4:] == [
        b'{"incremental":[{"items":[{"__typename":"ResultMessageOutput","id":"result-call_1","createdAt":"now",'
        b'"status":{"code":"Success","__typename":"SuccessMessageStatus"},"result":"{\\"tempC\\":4}",'
        b'"actionExecutionId":"call_1","actionName":"getWeather"}],'
        b'"path":["generateCopilotResponse","messages",1]}],"hasNext":true}',
        SUCCESS,
    ]


def test_a_failure_in_the_middle() -> None:
    events: list[Event] = [STARTED, TextStarted("m"), TextDelta("m", "Hel"), TextEnded("m", complete=False)]
    failed = RunFailed("model_unreachable", "The model hung up.")

    assert payloads(singly(*events, failed))[3:] == [
        b'{"incremental":[{"data":{"status":{"code":"Failed","reason":"Error streaming message content",'
        b'"__typename":"FailedMessageStatus"},"__typename":"TextMessageOutput"},'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        b'{"incremental":[{"data":{"status":{"code":"Failed","__typename":"FailedResponseStatus",'
        b'"reason":"UNKNOWN_ERROR","details":{"description":"The model hung up.","originalError":'
        b'{"code":"NETWORK_ERROR","statusCode":503,"severity":"critical","visibility":"banner",'
        b'"originalErrorType":"model_unreachable","extensions":{"name":"CopilotError","statusCode":503,'
        b'"code":"NETWORK_ERROR","visibility":"banner","severity":"critical","troubleshootingUrl":null}}}},'
        b'"__typename":"CopilotResponse"},"path":["generateCopilotResponse"]}],"hasNext":false}',
    ]


def test_a_run_that_was_stopped() -> None:
    """The reason is the one at which react-core stops too: after any other it runs calls, even one that was cut."""
    assert payloads(singly(STARTED, RunFinished("cancelled"))) == [
        BEGIN,
        b'{"incremental":[{"data":{"status":{"code":"Failed","__typename":"FailedResponseStatus",'
        b'"reason":"UNKNOWN_ERROR","details":{"description":"The answer was stopped.","originalError":'
        b'{"code":"UNKNOWN","statusCode":500,"severity":"critical","visibility":"toast",'
        b'"originalErrorType":"cancelled","extensions":{"name":"CopilotError","statusCode":500,"code":"UNKNOWN",'
        b'"visibility":"toast","severity":"critical","troubleshootingUrl":null}}}},'
        b'"__typename":"CopilotResponse"},"path":["generateCopilotResponse"]}],"hasNext":false}',
    ]


def test_an_empty_answer() -> None:
    assert payloads(singly(STARTED, ModelResponseEnded("stop"), DONE)) == [BEGIN, SUCCESS]


def test_a_state_and_where_it_ends() -> None:
    events: list[Event] = [STARTED, StepStarted("search"), StateReplaced({"count": 2}), StepEnded("search"), DONE]

    _, first, last = payloads(singly(*events))

    assert first == (
        b'{"incremental":[{"items":[{"__typename":"AgentStateMessageOutput","id":"state-run_1-1","createdAt":"now",'
        b'"status":{"code":"Success","__typename":"SuccessMessageStatus"},'
        b'"threadId":"11111111-1111-4111-8111-111111111111","state":"{\\"count\\":2}","running":true,'
        b'"agentName":"default","nodeName":"search","runId":"run_1","active":true,"role":"assistant"}],'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}'
    )
    assert last.startswith(
        b'{"incremental":[{"items":[{"__typename":"AgentStateMessageOutput","id":"state-run_1-2","createdAt":"now",'
        b'"status":{"code":"Success","__typename":"SuccessMessageStatus"},'
        b'"threadId":"11111111-1111-4111-8111-111111111111","state":"{\\"count\\":2}","running":false,'
        b'"agentName":"default","nodeName":"__end__","runId":"run_1","active":false,"role":"assistant"}],'
        b'"path":["generateCopilotResponse","messages",1]},{"data":{"status":'
    )


def test_no_state_is_shown_where_there_is_none() -> None:
    assert merged(singly(STARTED, StepStarted("a"), StepEnded("a"), DONE))["messages"] == []


def test_a_state_may_be_nothing() -> None:
    states = merged(singly(STARTED, StateReplaced(None), DONE))["messages"]

    assert [state["state"] for state in states] == ["null", "null"]


def test_what_these_clients_have_no_word_for_is_not_written() -> None:
    thought: list[Event] = [ReasoningStarted("t"), ReasoningDelta("t", "Hm."), ReasoningEnded("t")]

    assert payloads(singly(STARTED, *thought, Custom("acme.mood", "good"), DONE)) == [BEGIN, SUCCESS]


def test_times_are_now_and_utc() -> None:
    document, picked = compiled()
    shape = Shape.of(document.key, picked)
    assert shape is not None

    written = PatchEncoder(shape, THREAD, "run_1", "default").feed([TextStarted("m")])

    created = json.loads(written or b"")["incremental"][0]["items"][0]["createdAt"]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(created)) < timedelta(seconds=5)


@pytest.mark.parametrize("said", ["naïve 🙂", "\u2028\u0000\x7f", '"\\', "\r\n---\r\n"])
def test_any_text_arrives_as_it_is(said: str) -> None:
    for batches in (singly(STARTED, *text("m", said), DONE), [[STARTED, *text("m", said), DONE]]):
        written = payloads(batches)
        assert merged(batches)["messages"][0]["content"] == [said]
        assert not any(b"\n" in payload or b"\r" in payload for payload in written)


# What a real server answered, and what we make of the same


def without_times(response: dict[str, Any]) -> dict[str, Any]:
    for message in response["messages"]:
        message["createdAt"] = "now"
    return response


def said_by_the_peer(name: str) -> dict[str, Any]:
    return without_times(urql.merge(recorded.payloads(name))["generateCopilotResponse"])


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("plain-chat", text("chatcmpl-fake001", "Hello", " there", ", ", "human", "!")),
        ("empty-upstream", []),
        (
            "text-then-tool",
            text("chatcmpl-fake007", "Let me ", "do that.")
            + call("call_007_a", "setColor", '{"color"', ':"red"}', parent="chatcmpl-fake007"),
        ),
        (
            "server-action-throws",
            [
                *call("call_012_a", "explode", "{}", parent="chatcmpl-fake012"),
                ToolCallReturned("call_012_a", "explode", "kaboom", "tool_failed"),
            ],
        ),
    ],
)
def test_the_client_ends_up_with_what_a_real_server_gave_it(name: str, events: list[Event]) -> None:
    assert merged(singly(STARTED, *events, DONE)) == said_by_the_peer(name)
    assert merged([[STARTED, *events, DONE]]) == said_by_the_peer(name)


def test_a_real_server_that_failed_in_the_middle_left_the_same_behind() -> None:
    events: list[Event] = [
        TextStarted("chatcmpl-fake015"),
        TextDelta("chatcmpl-fake015", "Hello "),
        TextDelta("chatcmpl-fake015", "wor"),
    ]
    failed: list[Event] = [
        TextEnded("chatcmpl-fake015", complete=False),
        RunFailed("model_unreachable", "OpenAI API error: upstream exploded"),
    ]

    ours, theirs = merged(singly(STARTED, *events, *failed)), said_by_the_peer("upstream-mid-stream-error")

    for response in (ours, theirs):
        original = response["status"]["details"]["originalError"]
        del original["originalErrorType"], original["extensions"]  # a JavaScript class, and a stack
    assert ours == theirs


def test_calls_whose_pieces_come_mixed_stay_apart() -> None:
    events: list[Event] = [
        ToolCallStarted("a", "setColor"),
        ToolCallDelta("a", '{"co'),
        ToolCallStarted("b", "setSize"),
        ToolCallDelta("b", '{"si'),
        ToolCallDelta("a", 'lor":"red"}'),
        ToolCallDelta("b", 'ze":3}'),
        ToolCallEnded("b"),
        ToolCallEnded("a"),
    ]

    for batches in (singly(STARTED, *events, DONE), [[STARTED, *events, DONE]]):
        messages = merged(batches)["messages"]
        assert [(one["id"], "".join(one["arguments"]), one["status"]["code"]) for one in messages] == [
            ("a", '{"color":"red"}', "Success"),
            ("b", '{"size":3}', "Success"),
        ]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("invalid_arguments", "INVALID_ARGUMENTS"),
        ("tool_failed", "HANDLER_ERROR"),
        ("not_configured", "HANDLER_ERROR"),
        ("unknown_tool", "ERROR"),
    ],
)
def test_the_result_of_an_action_that_failed_is_encoded(error: str, code: str) -> None:
    returned = ToolCallReturned("c", "explode", 'It went "bang".', error)

    messages = merged(singly(STARTED, *call("c", "explode", "{}"), returned, DONE))["messages"]

    assert json.loads(messages[1]["result"]) == {"error": {"code": code, "message": 'It went "bang".'}, "result": ""}
    assert messages[1]["status"]["code"] == "Success"


# Several events at once


def test_pieces_of_one_message_that_come_together_are_one_patch() -> None:
    batch: list[Event] = [STARTED, *text("m", "Hel", "lo", "!")]

    (_, payload) = payloads([batch])

    assert [patch.get("items", patch.get("data")) for patch in json.loads(payload)["incremental"]] == [
        [
            {
                "__typename": "TextMessageOutput",
                "id": "m",
                "createdAt": "now",
                "content": [],
                "role": "assistant",
                "parentMessageId": None,
            }
        ],
        ["Hel", "lo", "!"],
        {"status": {"code": "Success", "__typename": "SuccessMessageStatus"}, "__typename": "TextMessageOutput"},
    ]


def test_pieces_are_joined_only_where_nothing_of_another_message_is_between_them() -> None:
    opened: list[Event] = [STARTED, ToolCallStarted("a", "f"), ToolCallStarted("b", "g")]
    mixed: list[Event] = [
        ToolCallDelta("a", "1"),
        ToolCallDelta("a", "2"),
        ToolCallDelta("b", "3"),
        ToolCallDelta("a", "4"),
    ]

    written = payloads([opened, mixed])[-1]

    assert written == (
        b'{"incremental":[{"items":["1","2"],"path":["generateCopilotResponse","messages",0,"arguments",0]},'
        b'{"items":["3"],"path":["generateCopilotResponse","messages",1,"arguments",0]},'
        b'{"items":["4"],"path":["generateCopilotResponse","messages",0,"arguments",2]}],"hasNext":true}'
    )


def test_a_piece_alone_and_pieces_together_count_on() -> None:
    batches: list[list[Event]] = [
        [STARTED, TextStarted("m")],
        [TextDelta("m", "a")],
        [TextDelta("m", "b"), TextDelta("m", "c")],
        [TextDelta("m", "d")],
    ]

    assert [json.loads(payload)["incremental"][0]["path"][-1] for payload in payloads(batches)[2:]] == [0, 1, 3]


def test_nothing_to_show_is_no_payload() -> None:
    assert payloads([[STARTED], [ModelResponseEnded("stop")], [StepStarted("a"), StepEnded("a")]]) == [BEGIN]


# Other selections


HELLO: list[Event] = [STARTED, *text("m", "Hel", "lo"), DONE]


def test_names_may_be_others_everywhere() -> None:
    document = """mutation M($data: GenerateCopilotResponseInput!) {
        answer: generateCopilotResponse(data: $data) {
            thread: threadId
            ... @defer { outcome: status { ... on BaseResponseStatus { was: code } } }
            said: messages @stream {
                kind: __typename
                ... on TextMessageOutput { pieces: content @stream }
                ... @defer { state: status { ... on SuccessMessageStatus { is: code } } }
            }
        }
    }"""
    compiled_document, picked = chosen(document)
    shape = Shape.of(compiled_document.key, picked)
    assert shape is not None
    patches = PatchEncoder(shape, THREAD, "run_1", "default")

    written = [patches.begin(), *(patches.feed([event]) for event in HELLO)]

    assert [payload for payload in written if payload] == [
        b'{"data":{"answer":{"thread":"11111111-1111-4111-8111-111111111111","said":[]}},"hasNext":true}',
        b'{"incremental":[{"items":[{"kind":"TextMessageOutput","pieces":[]}],'
        b'"path":["answer","said",0]}],"hasNext":true}',
        b'{"incremental":[{"items":["Hel"],"path":["answer","said",0,"pieces",0]}],"hasNext":true}',
        b'{"incremental":[{"items":["lo"],"path":["answer","said",0,"pieces",1]}],"hasNext":true}',
        b'{"incremental":[{"data":{"state":{"is":"Success"}},"path":["answer","said",0]}],"hasNext":true}',
        b'{"incremental":[{"data":{"outcome":{"was":"Success"}},"path":["answer"]}],"hasNext":false}',
    ]


def test_fragments_may_have_names() -> None:
    spread = """
        ...Rest @defer
        messages @stream { ...Said ...Late @defer }
        fragment Rest on CopilotResponse { status { ...Code } }
        fragment Code on BaseResponseStatus { code }
        fragment Said on BaseMessageOutput { id ...Content }
        fragment Content on TextMessageOutput { content @stream }
        fragment Late on BaseMessageOutput { status { ... on SuccessMessageStatus { code } } }
    """

    assert merged(singly(*HELLO), spread) == {
        "messages": [{"id": "m", "content": ["Hel", "lo"], "status": {"code": "Success"}}],
        "status": {"code": "Success"},
    }


def test_a_label_is_given_back() -> None:
    labelled = """... @defer(label: "end") { status { ... on BaseResponseStatus { code } } }
        messages @stream(label: "said") { id ... @defer(label: "how") { status { __typename } } }"""

    patches = [
        patch for payload in payloads(singly(*HELLO), labelled)[1:] for patch in json.loads(payload)["incremental"]
    ]

    assert [patch.get("label") for patch in patches] == [None, "how", "end"]


@pytest.mark.parametrize("yes", [True, False])
def test_variables_decide_what_is_included_and_what_is_put_off(yes: bool) -> None:
    selection = """threadId @include(if: $yes) runId @skip(if: $yes)
        messages @stream {
            ... on TextMessageOutput { content @stream(if: $yes) }
            ... @defer(if: $yes) { id }
            ... @include(if: $yes) { __typename }
        }"""

    begun, *rest = [json.loads(payload) for payload in payloads(singly(*HELLO), selection, yes=yes)]

    response = begun["data"]["generateCopilotResponse"]
    assert response == {"threadId": THREAD, "messages": []} if yes else {"runId": None, "messages": []}
    items = [patch["items"] for payload in rest for patch in payload.get("incremental", ())]
    if yes:
        assert items == [[{"content": [], "id": "m", "__typename": "TextMessageOutput"}], ["Hel"], ["lo"]]
    else:
        assert items == [[{"content": ["Hel", "lo"], "id": "m"}]]


@pytest.mark.parametrize("off", ["@stream(if: false)", ""])
def test_a_text_that_is_not_streamed_is_shown_at_its_end(off: str) -> None:
    selection = f"messages @stream {{ ... on TextMessageOutput {{ content {off} }} }}"

    assert payloads(singly(*HELLO), selection)[1:] == [
        b'{"incremental":[{"items":[{"content":["Hel","lo"]}],'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        b'{"hasNext":false}',
    ]


@pytest.mark.parametrize("off", ["... @defer(if: false)", "..."])
def test_a_status_that_is_not_put_off_is_shown_with_its_message(off: str) -> None:
    selection = (
        f"messages @stream {{ {off} {{ status {{ __typename }} }} ... on TextMessageOutput {{ content @stream }} }}"
    )

    assert payloads(singly(*HELLO), selection)[1:] == [
        b'{"incremental":[{"items":[{"status":{"__typename":"SuccessMessageStatus"},"content":["Hel","lo"]}],'
        b'"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        b'{"hasNext":false}',
    ]


def test_a_message_waits_for_those_before_it() -> None:
    """Calls are shown at their ends here, and the second ends first; the text behind them could be shown at once."""
    selection = """messages @stream {
        ... on TextMessageOutput { content @stream }
        ... on ActionExecutionMessageOutput { name arguments }
    }"""
    events: list[Event] = [
        ToolCallStarted("a", "first"),
        ToolCallStarted("b", "second"),
        TextStarted("m"),
        TextDelta("m", "Hel"),
        ToolCallEnded("b"),
        TextDelta("m", "lo"),
        ToolCallEnded("a"),
        TextDelta("m", "!"),
        TextEnded("m"),
    ]

    written = payloads(singly(STARTED, *events, DONE), selection)

    assert written[1:] == [
        b'{"incremental":[{"items":[{"name":"first","arguments":[]}],"path":["generateCopilotResponse","messages",0]},'
        b'{"items":[{"name":"second","arguments":[]}],"path":["generateCopilotResponse","messages",1]},'
        b'{"items":[{"content":["Hel","lo"]}],"path":["generateCopilotResponse","messages",2]}],"hasNext":true}',
        b'{"incremental":[{"items":["!"],"path":["generateCopilotResponse","messages",2,"content",2]}],"hasNext":true}',
        b'{"hasNext":false}',
    ]


@pytest.mark.parametrize(
    "twice", ["a: content @stream b: content @stream", "a: content b: content @stream", "a: content @stream b: content"]
)
def test_a_text_that_is_selected_twice_is_written_twice(twice: str) -> None:
    selection = f"messages @stream {{ ... on TextMessageOutput {{ {twice} }} }}"

    assert merged(singly(*HELLO), selection)["messages"] == [{"a": ["Hel", "lo"], "b": ["Hel", "lo"]}]


def test_fields_that_are_selected_twice_are_merged_though_one_of_them_is_put_off() -> None:
    selection = """messages @stream {
        status { __typename }
        ... @defer { status { ... on FailedMessageStatus { reason } } }
    }"""
    broken: list[Event] = [STARTED, TextStarted("m"), TextEnded("m", complete=False), DONE]

    assert merged(singly(*broken), selection)["messages"] == [
        {"status": {"__typename": "FailedMessageStatus", "reason": "Error streaming message content"}}
    ]


def test_two_fragments_of_one_status_come_in_two_patches() -> None:
    selection = """... @defer { status { ... on BaseResponseStatus { code } } }
        ... @defer { status { __typename } }"""

    assert merged(singly(*HELLO), selection) == {"status": {"code": "Success", "__typename": "SuccessResponseStatus"}}


def test_what_is_put_off_and_known_comes_at_once() -> None:
    selection = "... @defer { threadId } messages @stream { ... @defer { id } }"

    assert payloads(singly(*HELLO), selection) == [
        b'{"data":{"generateCopilotResponse":{"messages":[],'
        b'"threadId":"11111111-1111-4111-8111-111111111111"}},"hasNext":true}',
        b'{"incremental":[{"items":[{"id":"m"}],"path":["generateCopilotResponse","messages",0]}],"hasNext":true}',
        b'{"hasNext":false}',
    ]


def test_without_messages_only_the_status_comes() -> None:
    selection = "threadId ... @defer { status { ... on BaseResponseStatus { code } } }"
    events: list[Event] = [
        STARTED,
        *text("m", "Hi"),
        *call("c", "f"),
        ToolCallReturned("c", "f", "x"),
        StateReplaced({}),
        DONE,
    ]

    assert payloads(singly(*events), selection)[1:] == [
        b'{"incremental":[{"data":{"status":{"code":"Success"}},"path":["generateCopilotResponse"]}],"hasNext":false}'
    ]


# All at once


@pytest.mark.parametrize(
    "selection",
    [
        "threadId",
        "threadId messages { id } status { ... on BaseResponseStatus { code } }",
        "messages @stream { id } status { ... on BaseResponseStatus { code } }",
        "messages { id } ... @defer { status { ... on BaseResponseStatus { code } } }",
        "messages @stream(if: false) { id }",
        "a: messages @stream { id } b: messages @stream { __typename }",
        "... @defer { messages { id } status { ... on BaseResponseStatus { code } } }",
        "messages @stream { id } ... @defer { again: messages { __typename } }",
        "metaEvents @stream { type }",
    ],
)
def test_a_client_that_did_not_ask_for_pieces_gets_one_body(selection: str) -> None:
    document, picked = compiled(selection)

    assert Shape.of(document.key, picked) is None


def test_one_body_has_everything() -> None:
    events: list[Event] = [STARTED, StepStarted("n"), *text("m", "Hel", "lo"), *call("c", "f", "{", "}", parent="m")]
    events += [ToolCallReturned("c", "f", "no", "tool_failed"), StateReplaced({"a": 1}), DONE]
    selection = """threadId runId extensions { __typename } metaEvents { type }
        status { ... on BaseResponseStatus { code } }
        messages {
            id
            status { ... on SuccessMessageStatus { code } }
            ... on TextMessageOutput { content role parentMessageId }
            ... on ActionExecutionMessageOutput { name arguments parentMessageId scope }
            ... on ResultMessageOutput { result actionExecutionId actionName }
            ... on AgentStateMessageOutput { state running nodeName agentName runId threadId active }
        }"""
    success = {"code": "Success"}
    state = {"status": success, "state": '{"a":1}', "agentName": "default", "runId": "run_1", "threadId": THREAD}

    assert whole(events, selection) == {
        "threadId": THREAD,
        "runId": None,
        "extensions": None,
        "metaEvents": [],
        "status": success,
        "messages": [
            {"id": "m", "status": success, "content": ["Hel", "lo"], "role": "assistant", "parentMessageId": None},
            {"id": "c", "status": success, "name": "f", "arguments": ["{", "}"], "parentMessageId": "m", "scope": None},
            {
                "id": "result-c",
                "status": success,
                "result": '{"error":{"code":"HANDLER_ERROR","message":"no"},"result":""}',
                "actionExecutionId": "c",
                "actionName": "f",
            },
            state | {"id": "state-run_1-1", "running": True, "active": True, "nodeName": "n"},
            state | {"id": "state-run_1-2", "running": False, "active": False, "nodeName": "__end__"},
        ],
    }


def test_a_run_that_ended_without_its_ends_leaves_nothing_open() -> None:
    events: list[Event] = [STARTED, TextStarted("m"), TextDelta("m", "Hel"), RunFailed("internal_error", "Oh.")]

    for response in (merged(singly(*events)), whole(events)):
        assert response["messages"][0]["status"]["code"] == "Failed"
        assert response["status"]["code"] == "Failed"
