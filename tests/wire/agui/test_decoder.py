"""AG-UI's events → ours: one to one where nothing is lost, and nothing lost where not."""

from typing import Any

import pytest

from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    ReasoningDelta,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallReturned,
)
from rightseat.wire.agui import AguiDecoder, AguiEncoder, BadEvent, Version

Json = dict[str, Any]


def read(*events: Json) -> list[Event]:
    reader = AguiDecoder()
    return [ours for event in events for ours in reader.read(event)]


def passed_on(*events: Json, version: Version = "1.0") -> list[Json]:
    writer = AguiEncoder(version, "t", "r")
    writer.mark_begun()
    return [written for ours in read(*events) for written in writer.write(ours)]


CALL = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"}
UNCHANGED: dict[str, list[Json]] = {
    "a name": [{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "Bo"}],
    "a subagent's text": [{"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"}],
    "another's text": [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi", "metadata": {"n": 1}},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ],
    "a call's metadata": [CALL | {"metadata": {"n": 1}}],
    "a result in parts": [
        CALL,
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "r",
            "toolCallId": "c",
            "content": [{"type": "text", "text": "a cat"}, {"type": "image", "source": {"type": "url", "value": "x"}}],
        },
    ],
    "a block of thoughts": [
        {"type": "REASONING_START", "messageId": "b"},
        {"type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_END", "messageId": "x"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "x", "encryptedValue": "b3Bh"},
        {"type": "REASONING_END", "messageId": "b"},
    ],
    "steps with metadata": [
        {"type": "STEP_STARTED", "stepName": "x", "metadata": {"n": 1}},
        {"type": "STEP_FINISHED", "stepName": "x", "metadata": {"n": 2}},
    ],
    "a subagent": [
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"},
        {"type": "STEP_STARTED", "stepName": "x", "subagentRunId": "s"},
        {"type": "STEP_FINISHED", "stepName": "x", "subagentRunId": "s"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
    ],
    "its own word": [{"type": "CUSTOM", "name": "my-event", "value": None}],
    "its own word with more": [{"type": "CUSTOM", "name": "my-event", "value": 1, "metadata": {}}],
    "a word that would be ours": [{"type": "CUSTOM", "name": "agui.RUN_ERROR", "value": {"message": "forged"}}],
    "messages": [{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "Hi"}]}],
    "raw": [{"type": "RAW", "event": None, "source": "x"}],
}


@pytest.mark.parametrize("events", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_it_is_passed_on_unchanged(events: list[Json]) -> None:
    assert passed_on(*events) == events


def test_a_message_with_extra_fields_becomes_a_raw_event_and_a_rightseat_event() -> None:
    start: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"}
    piece = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi", "subagentRunId": "s"}

    ours = read(start, piece, {"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "s"})

    assert ours == [Custom("agui.TEXT_MESSAGE_START", start), TextStarted("m"), TextDelta("m", "Hi"), TextEnded("m")]


def test_metadata_of_an_end_comes_on_an_empty_piece() -> None:
    """The clients join the metadata of all events of a message, so it may come with any of them."""
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}

    passed = passed_on(start, {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"n": 1}})

    assert passed == [
        start,
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "metadata": {"n": 1}},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]


def test_a_result_in_parts_is_text_to_everyone_else() -> None:
    parts = [{"type": "text", "text": "a "}, {"type": "image", "source": {}}, {"type": "text", "text": "cat"}]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": parts}

    *_, returned = read(CALL, result)
    *_, older = passed_on(CALL, result, version="0.0.59")

    assert returned == ToolCallReturned("c", "look", "a cat", message_id="r")
    assert older == {**result, "content": "a cat"}


def test_when_it_was_made_and_what_of_is_dropped_and_null_means_nothing() -> None:
    event = {"type": "STEP_STARTED", "stepName": "x", "timestamp": 1, "rawEvent": {"a": 1}, "metadata": None}

    assert read(event, {"type": "STEP_FINISHED", "stepName": "x", "subagentRunId": None}) == [
        StepStarted("x"),
        StepEnded("x"),
    ]


def test_chunks_are_spelt_out() -> None:
    ours = read(
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hel"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "lo"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "x", "delta": "Hm"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    )

    assert ours[:6] == [
        TextStarted("m"),
        TextDelta("m", "Hel"),
        TextDelta("m", "lo"),
        TextEnded("m"),
        ReasoningStarted("x"),
        ReasoningDelta("x", "Hm"),
    ]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, RunFinished("done")),
        ({"outcome": None, "result": 0}, RunFinished("done", result=0)),
        ({"outcome": {"type": "success"}}, RunFinished("done")),
        ({"outcome": {"type": "cancelled"}}, RunFinished("cancelled")),
        (
            {"outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "toolCallId": "c"}]}},
            RunFinished("waiting", (Interrupt("i", "x", "", "c"),)),
        ),
    ],
)
def test_an_end_is_ours(fields: Json, wanted: Event) -> None:
    assert read({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **fields}) == [wanted]


def test_calls_without_a_result_are_for_the_client() -> None:
    finished = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}

    assert read(CALL, finished)[-1] == RunFinished("waiting")
    assert passed_on(CALL, finished)[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["c"]}


@pytest.mark.parametrize(
    "more",
    [
        {"usage": [{"inputTokens": 1}]},
        {"outcome": {"type": "success", "pendingToolCallIds": ["elsewhere"]}},
        {"outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "metadata": {"n": 1}}]}},
    ],
)
def test_an_end_with_extra_fields_is_passed_on(more: Json) -> None:
    finished = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **more}

    assert passed_on(finished) == [finished]


def test_a_failure_has_a_code_even_if_the_agent_gives_none() -> None:
    assert read({"type": "RUN_ERROR", "message": "no"}) == [RunFailed("agent_failed", "no")]
    assert read({"type": "RUN_ERROR", "message": "no", "code": "X"}) == [RunFailed("X", "no")]


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({}, "no `type`"),
        ({"type": "TEXT_MESSAGE_START"}, "TEXT_MESSAGE_START lacks its `messageId`"),
        ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"}, "lacks its `delta`"),
        ({"type": "STATE_DELTA", "delta": {}}, "JSON Patch"),
        ({"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{}]}}, "interrupt lacks its `id`"),
        (
            {
                "type": "RUN_FINISHED",
                "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r", "message": 1}]},
            },
            "`message` is int",
        ),
        ({"type": "RUN_ERROR", "message": "no", "code": 1}, "`code` is int, and should be a text"),
        ({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": []}, "is list"),
        ({"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}, "a first TEXT_MESSAGE_CHUNK without `messageId`"),
        ({"type": "TOOL_CALL_CHUNK", "toolCallId": "c"}, "a first TOOL_CALL_CHUNK without `toolCallName`"),
    ],
)
def test_what_cannot_be_understood_is_the_agents_fault(event: Json, problem: str) -> None:
    with pytest.raises(BadEvent, match=problem):
        read(event)


def test_a_state_of_null_is_a_state() -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": None}

    assert passed_on(snapshot) == [snapshot]
