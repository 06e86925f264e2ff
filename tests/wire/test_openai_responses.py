"""OpenAI's Responses format: requests to the letter, events as chunks."""

from typing import Any

import msgspec
import pytest

from rightseat.core.ask import NamedTool
from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.model import CallChunk, Chunk, NoteChunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.wire.openai_responses import (
    ResponseEventDecoder,
    write_input,
    write_response_tool,
    write_response_tool_choice,
    write_text_format,
)
from rightseat.wire.sse import StreamError

SEALED = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA", "id": "rs_1"}


def read_all(*events: dict[str, Any]) -> list[Chunk]:
    decoder = ResponseEventDecoder("o9")
    return [chunk for event in events for chunk in decoder.read(msgspec.json.encode(event))]


def test_the_parts_of_a_message_are_content_and_items() -> None:
    asked = (Text("Look"), Image("image/png", "AA"), File("document", "application/pdf", "BB", name="a.pdf"))
    called = Message("assistant", (Text("I look."), Call("c", "search", "")))
    result = Message("tool", (Result("c", "search", "found"),))

    assert write_input(Message("user", asked), "o9") == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,BB"},
            ],
        }
    ]
    assert write_input(called, "o9") == [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c", "name": "search", "arguments": "{}"},
    ]
    assert write_input(result, "o9") == [{"type": "function_call_output", "call_id": "c", "output": "found"}]


def test_strict_is_always_sent_because_the_default_of_the_provider_is_true() -> None:
    tool = Tool("search", "", {"type": "object"})

    assert write_response_tool(tool, None)["strict"] is False
    assert write_response_tool(tool, True)["strict"] is True


def test_choices_and_formats_are_flat() -> None:
    assert write_response_tool_choice(NamedTool("search")) == {"type": "function", "name": "search"}
    assert write_text_format({"type": "object"}, None) == {"type": "json_object"}
    schema: Any = {"type": "object", "properties": {}}
    form = {"type": "json_schema", "name": "Person", "schema": schema, "strict": True}
    assert write_text_format(schema, True, "Person") == form


def test_encrypted_reasoning_is_kept_and_sent_back_at_its_place_to_the_same_model() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "search", "arguments": "{}"}
    *_, note = read_all(
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "id": "msg_1"}},
        {"type": "response.output_item.done", "output_index": 1, "item": SEALED},
        {"type": "response.output_item.done", "output_index": 2, "item": call},
        {"type": "response.completed", "response": {}},
    )
    assert isinstance(note, NoteChunk)
    message = Message("assistant", (Text("I look."), Call("c", "search", "{}")), extra=note.value)

    assert [item["type"] for item in write_input(message, "o9")] == ["message", "reasoning", "function_call"]
    assert write_input(message, "o9")[1] == SEALED
    assert [item["type"] for item in write_input(message, "other")] == ["message", "function_call"]


def test_calls_are_read_with_or_without_deltas() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "search", "arguments": ""}
    assert read_all(
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"q":1}'},
        {"type": "response.output_item.done", "output_index": 1, "item": item | {"arguments": '{"q":1}'}},
        {"type": "response.output_item.added", "output_index": 2, "item": item | {"call_id": "d"}},
        {"type": "response.output_item.done", "output_index": 2, "item": item | {"arguments": "{}"}},
    ) == [CallChunk(1, "", "c", "search"), CallChunk(1, '{"q":1}'), CallChunk(2, "", "d", "search"), CallChunk(2, "{}")]


def test_reasoning_that_comes_as_text_and_as_summary_is_read_once() -> None:
    assert read_all(
        {"type": "response.reasoning_summary_text.delta", "delta": "One."},
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        {"type": "response.reasoning_summary_text.delta", "summary_index": 1, "delta": "Two."},
        {"type": "response.reasoning_text.delta", "delta": "One.Two."},
        {"type": "response.output_text.delta", "delta": "Yes."},
    ) == [ReasoningChunk("One."), ReasoningChunk("\n\n"), ReasoningChunk("Two."), TextChunk("Yes.")]


def test_the_end_has_the_usage_and_the_reason() -> None:
    usage = {
        "input_tokens": 11,
        "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    larger = usage | {"total_tokens": 40}
    assert read_all({"type": "response.completed", "response": {"usage": larger}}) == [UsageChunk(11, 29, 3, 0, 2)]
    details = {"reason": "max_output_tokens"}
    assert read_all({"type": "response.completed", "response": {"usage": usage}}) == [UsageChunk(11, 7, 3, 0, 2)]
    assert read_all({"type": "response.incomplete", "response": {"incomplete_details": details}}) == [
        StopChunk("length")
    ]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "Broken."}}},
        {"type": "error", "code": "server_error", "message": "Broken."},
    ],
    ids=lambda event: str(event["type"]),
)
def test_a_failure_is_raised_with_the_message_of_the_provider(event: dict[str, Any]) -> None:
    with pytest.raises(StreamError, match="Broken"):
        read_all(event)
