"""Chat completions as their clients speak them. tests/models holds the same against whole answers of real servers."""

import json
from typing import Any

import pytest
from pydantic import JsonValue

from rightseat.core.ask import NamedTool
from rightseat.core.model import CallChunk, Chunk, NoteChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.wire.openai_chat import ChatCompletionDecoder, read_error, write_format, write_tool, write_tool_choice
from rightseat.wire.sse import StreamError


def read(**choice: Any) -> list[Chunk]:
    return list(ChatCompletionDecoder().read(json.dumps({"choices": [choice]}).encode()))


@pytest.mark.parametrize(
    ("schema", "strict", "written"),
    [
        ({"type": "object"}, None, {"type": "json_object"}),
        ({"enum": [1]}, None, {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"enum": [1]}}}),
        (
            {"enum": [1]},
            True,
            {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"enum": [1]}, "strict": True}},
        ),
    ],
)
def test_the_form_of_an_answer_is_written(schema: dict[str, Any], strict: bool | None, written: Any) -> None:
    assert write_format(schema, strict) == written


@pytest.mark.parametrize("strict", [None, True, False])
def test_a_tool_has_strict_only_if_it_was_set(strict: bool | None) -> None:
    function: Any = write_tool(Tool("t", "T.", {"type": "object"}, strict=strict))["function"]

    assert function.get("strict") is strict
    assert ("strict" in function) is (strict is not None)


def test_a_choice_of_a_tool_is_written_by_name() -> None:
    assert write_tool_choice("required") == "required"
    assert write_tool_choice(NamedTool("t")) == {"type": "function", "function": {"name": "t"}}


def test_log_probabilities_come_before_their_text() -> None:
    tokens: JsonValue = [{"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}]

    assert read(delta={"content": "Hi"}, logprobs={"content": tokens, "refusal": None}) == [
        NoteChunk("logprobs", tokens),
        TextChunk("Hi"),
    ]


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}])
def test_no_log_probabilities_are_none(logprobs: Any) -> None:
    assert read(delta={"content": "Hi"}, logprobs=logprobs) == [TextChunk("Hi")]


def test_all_that_a_delta_holds_is_read() -> None:
    call = {"index": 2, "id": "c", "function": {"name": "t", "arguments": "{}"}}

    assert read(delta={"content": "Hi", "tool_calls": [call]}, finish_reason="tool_calls") == [
        TextChunk("Hi"),
        CallChunk(2, "{}", "c", "t"),
        StopChunk("tool_calls"),
    ]


def test_an_error_inside_of_an_answer_is_raised() -> None:
    with pytest.raises(StreamError, match="overloaded"):
        ChatCompletionDecoder().read(b'{"error": {"message": "overloaded"}}')


@pytest.mark.parametrize(
    ("details", "cached", "written"),
    [
        (None, 0, 0),
        ({}, 0, 0),
        ({"cached_tokens": None, "audio_tokens": 0}, 0, 0),
        ({"cached_tokens": 8}, 8, 0),
        ({"cached_tokens": 8, "cache_write_tokens": 2}, 8, 2),
        ({"cached_tokens": "8"}, 0, 0),
        ([1], 0, 0),
    ],
)
def test_cached_tokens_are_read_and_invalid_counts_ignored(details: Any, cached: int, written: int) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": details}

    found = list(ChatCompletionDecoder().read(json.dumps({"choices": [], "usage": usage}).encode()))

    assert found == [UsageChunk(10, 3, cached, written)]


@pytest.mark.parametrize(
    ("total", "output"), [(13, 3), (60, 50), (12, 2), (None, 3), (0, 3), (10, 3), (7, 3), ("60", 3), ([], 3)]
)
def test_the_reported_total_wins_over_its_parts(total: Any, output: int) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": total}

    found = list(ChatCompletionDecoder().read(json.dumps({"choices": [], "usage": usage}).encode()))

    assert found == [UsageChunk(10, output)]


@pytest.mark.parametrize(
    "data", [b'{"message": {"\x80": 1}}', b'{"message": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"]
)
def test_an_event_that_cannot_be_read_is_an_error_of_the_server(data: bytes) -> None:
    with pytest.raises(StreamError):
        ChatCompletionDecoder().read(data)


def test_the_words_of_a_refusal_that_are_no_json_are_taken_as_they_are() -> None:
    assert read_error("[" * 5_000) == "[" * 5_000


@pytest.mark.parametrize("value", [True, -1, 2**64, 1.5, "7", None])
def test_a_count_that_is_no_number_of_tokens_is_zero(value: object) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": value}}

    found = ChatCompletionDecoder().read(json.dumps({"choices": [], "usage": usage}).encode())

    assert [one.reasoning_tokens for one in found if isinstance(one, UsageChunk)] == [0]
