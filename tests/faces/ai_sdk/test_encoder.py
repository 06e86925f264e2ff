"""The chunks of a UI message stream, byte by byte and in the order that the clients need."""

from typing import Any

from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateChanged,
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
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Message, Result, Text
from rightseat.faces.ai_sdk.encoder import UIStreamEncoder
from rightseat.faces.ai_sdk.retraction import drop_retracted

STARTED = RunStarted("r", "t", "default")
START = {"type": "start", "messageId": "m"}
BEGIN, END = {"type": "start-step"}, {"type": "finish-step"}


def text(id: str, *pieces: str) -> list[Event]:
    return [TextStarted(id), *(TextDelta(id, piece) for piece in pieces), TextEnded(id)]


def call(id: str = "c", arguments: str = "{}", name: str = "look") -> list[Event]:
    return [ToolCallStarted(id, name), ToolCallDelta(id, arguments), ToolCallEnded(id)]


def write(*events: Event, encoder: UIStreamEncoder | None = None, **options: Any) -> list[dict[str, Any]]:
    encoder = encoder or UIStreamEncoder("m", **options)
    return [chunk for event in events for chunk in encoder.write(event)]


def test_a_text_is_one_step_byte_by_byte() -> None:
    events = [STARTED, *text("a", "He", 'l"lo'), ModelResponseEnded("stop"), RunFinished("done")]

    body = UIStreamEncoder("m").feed([Entry(1, number, event) for number, event in enumerate(events)])

    assert body == (
        b'data: {"type":"start","messageId":"m"}\n\n'
        b'data: {"type":"start-step"}\n\n'
        b'data: {"type":"text-start","id":"a"}\n\n'
        b'data: {"type":"text-delta","id":"a","delta":"He"}\n\n'
        b'data: {"type":"text-delta","id":"a","delta":"l\\"lo"}\n\n'
        b'data: {"type":"text-end","id":"a"}\n\n'
        b'data: {"type":"finish-step"}\n\n'
        b'data: {"type":"finish","finishReason":"stop"}\n\n'
        b"data: [DONE]\n\n"
    )


def test_a_tool_result_belongs_to_the_step_of_its_call_and_the_next_text_to_a_new_one() -> None:
    returned = ToolCallReturned("c", "look", '{"a": 1}')

    chunks = write(
        STARTED,
        *call("c", '{"x": 2}'),
        ModelResponseEnded("tool_calls"),
        returned,
        *text("a", "Done"),
        ModelResponseEnded("stop"),
        RunFinished("done"),
    )

    assert chunks == [
        START,
        BEGIN,
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "look"},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"x": 2}'},
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "look", "input": {"x": 2}},
        {"type": "tool-output-available", "toolCallId": "c", "output": {"a": 1}},
        END,
        BEGIN,
        {"type": "text-start", "id": "a"},
        {"type": "text-delta", "id": "a", "delta": "Done"},
        {"type": "text-end", "id": "a"},
        END,
        {"type": "finish", "finishReason": "stop"},
    ]


def test_a_run_that_ends_after_a_tool_result_adds_an_empty_step_so_that_the_client_sends_nothing_back() -> None:
    chunks = write(STARTED, *call(), ToolCallReturned("c", "look", "ok"), RunFinished("done"))

    assert chunks[-4:] == [END, BEGIN, END, {"type": "finish", "finishReason": "stop"}]


def test_reasoning_failed_and_denied_calls_have_chunks_of_their_own() -> None:
    chunks = write(
        STARTED,
        ReasoningStarted("r1"),
        ReasoningDelta("r1", "Hm"),
        ReasoningEnded("r1"),
        *call("c1"),
        *call("c2", "{broken"),
        ToolCallReturned("c1", "look", "The user denied the call.", "refused"),
        ToolCallReturned("c2", "look", "It broke.", "tool_failed"),
    )

    assert chunks[2:5] == [
        {"type": "reasoning-start", "id": "r1"},
        {"type": "reasoning-delta", "id": "r1", "delta": "Hm"},
        {"type": "reasoning-end", "id": "r1"},
    ]
    assert chunks[-3:] == [
        {
            "type": "tool-input-error",
            "toolCallId": "c2",
            "toolName": "look",
            "input": "{broken",
            "errorText": "The arguments are not a JSON object.",
        },
        {"type": "tool-output-denied", "toolCallId": "c1"},
        {"type": "tool-output-error", "toolCallId": "c2", "errorText": "It broke."},
    ]


def test_an_approval_is_asked_at_its_call_and_any_other_question_in_a_data_part() -> None:
    approval = Interrupt("i1", "approval_required", "Delete?", "c")
    question = Interrupt("i2", "slot", "Which city?", schema={"type": "string"})

    chunks = write(STARTED, *call(), RunFinished("waiting", (approval, question)))

    assert chunks[5:] == [
        {"type": "tool-approval-request", "approvalId": "i1", "toolCallId": "c"},
        {
            "type": "data-interrupt",
            "id": "i2",
            "data": {"id": "i2", "reason": "slot", "message": "Which city?", "schema": {"type": "string"}},
        },
        END,
        {"type": "finish", "finishReason": "tool-calls"},
    ]


def test_the_result_of_a_call_of_an_earlier_run_comes_before_the_first_step() -> None:
    earlier = [{"type": "tool-look", "toolCallId": "c", "state": "input-available", "input": {}}]

    chunks = write(STARTED, ToolCallReturned("c", "look", "ok"), *text("a", "Yes"), reply=earlier)

    assert chunks[:4] == [
        START,
        {"type": "tool-output-available", "toolCallId": "c", "output": "ok"},
        BEGIN,
        {"type": "text-start", "id": "a"},
    ]


def test_the_result_of_a_call_that_the_client_has_never_seen_comes_with_its_call() -> None:
    chunks = write(STARTED, ToolCallReturned("x", "look", "ok"))

    assert [chunk["type"] for chunk in chunks] == [
        "start",
        "start-step",
        "tool-input-start",
        "tool-input-available",
        "tool-output-available",
    ]


def test_a_resumed_reply_repeats_its_earlier_parts_without_running_the_calls_of_the_page_again() -> None:
    earlier = [
        {"type": "step-start"},
        {"type": "text", "text": "One moment.", "state": "done"},
        {"type": "tool-paint", "toolCallId": "c", "state": "output-available", "input": {"a": 1}, "output": "done"},
    ]

    chunks = write(STARTED, *text("a", "Yes"), reply=earlier, repeat=True)

    assert chunks[:10] == [
        START,
        BEGIN,
        {"type": "text-start", "id": "earlier-1"},
        {"type": "text-delta", "id": "earlier-1", "delta": "One moment."},
        {"type": "text-end", "id": "earlier-1"},
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "paint"},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a":1}'},
        {"type": "tool-output-available", "toolCallId": "c", "output": "done"},
        END,
        BEGIN,
    ]


def test_a_failed_run_closes_what_is_open_and_ends_with_its_message() -> None:
    chunks = write(STARTED, TextStarted("a"), TextDelta("a", "Half"), RunFailed("model_error", "It broke."))

    assert chunks[-3:] == [{"type": "text-end", "id": "a"}, END, {"type": "error", "errorText": "It broke."}]


def test_a_cancelled_run_ends_with_abort_and_one_cut_short_says_so() -> None:
    assert write(STARTED, *text("a", "x"), RunFinished("cancelled"))[-1] == {"type": "abort"}
    assert write(RunFinished("cancelled")) == [START, {"type": "abort"}]
    for reason, finish in (("length", "length"), ("filtered", "content-filter")):
        ended = ModelResponseEnded("length" if reason == "length" else "filtered")
        assert write(STARTED, *text("a", "x"), ended, RunFinished("done"))[-1]["finishReason"] == finish


def test_state_is_a_data_part_that_is_replaced_and_steps_and_own_events_are_transient() -> None:
    patch: Any = {"op": "replace", "path": "/n", "value": 2}

    chunks = write(
        STARTED,
        StateReplaced({"n": 1}),
        StateChanged([patch]),
        StepStarted("plan"),
        StepEnded("plan"),
        Custom("tools.unavailable", "gone"),
        Custom("model.kept", {"secret": 1}),
        Custom("flow.step", {"event": "output", "value": {"record": "SELECT", "next": "b"}}),
    )

    assert chunks[2:] == [
        {"type": "data-state", "id": "state", "data": {"n": 1}},
        {"type": "data-state", "id": "state", "data": {"n": 2}},
        {"type": "data-step", "data": {"name": "plan", "status": "started"}, "transient": True},
        {"type": "data-step", "data": {"name": "plan", "status": "ended"}, "transient": True},
        {"type": "data-tools.unavailable", "data": "gone", "transient": True},
        {"type": "data-flow.step", "data": {"event": "output", "value": {"next": "b"}}, "transient": True},
    ]


def test_files_and_charts_are_data_parts_and_file_parts_with_their_addresses() -> None:
    chart = Custom("artifact", {"kind": "chart", "name": "Sales", "id": "f1"})
    file = Custom("artifact", {"kind": "file", "name": "a.csv", "id": "f2", "media_type": "text/csv"})

    chunks = write(STARTED, chart, file, files_url="http://x/files")

    assert chunks[3] == {"type": "file", "url": "http://x/files/f1.svg", "mediaType": "image/svg+xml"}
    assert chunks[4]["data"]["url"] == "http://x/files/f2"
    assert chunks[5] == {"type": "file", "url": "http://x/files/f2", "mediaType": "text/csv"}


def test_a_retracted_text_is_left_out_for_a_client_that_comes_later() -> None:
    events: list[Event] = [STARTED, *text("a", "Half"), MessagesReplaced((), ())]
    events += text("b", "Whole")
    entries = [Entry(1, number, event) for number, event in enumerate(events, 1)]

    chunks = write(*(entry.event for entry in drop_retracted(entries)))

    assert [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"] == ["Whole"]
    assert drop_retracted(entries[:3]) == entries[:3]


def test_a_retracted_text_is_reset_only_for_a_client_that_knows_the_chunk() -> None:
    events: list[Event] = [STARTED, *text("a", "Half"), MessagesReplaced((), ())]

    new = write(*events, *text("b", "Whole"), can_reset=True)
    old = write(*events, *text("b", "Whole"))

    assert [chunk["type"] for chunk in new[5:8]] == ["reset-step", "finish-step", "start-step"]
    assert [chunk["type"] for chunk in old[5:7]] == ["finish-step", "start-step"]


def test_after_a_lost_log_the_client_receives_what_it_lacks_and_nothing_twice() -> None:
    messages = (
        Message("assistant", (Text("Hello"), Call("c", "look", '{"a": 1}')), id="a"),
        Message("tool", (Result("c", "look", "seen"),), id="result-c"),
    )

    chunks = write(STARTED, TextStarted("a"), TextDelta("a", "Hel"), STARTED, MessagesReplaced((), messages))

    assert [chunk.get("delta") for chunk in chunks if chunk["type"] == "text-delta"] == ["Hel", "lo"]
    assert [chunk["type"] for chunk in chunks[5:]] == [
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-output-available",
    ]
    assert [chunk["type"] for chunk in chunks].count("start") == 1
