"""Answers of the Messages API, read. The recordings are described in tests/recordings/anthropic/README.md."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
)
from rightseat.core.model import (
    CallChunk,
    Chunk,
    NoteChunk,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from rightseat.models.anthropic import Anthropic, Options
from rightseat.models.anthropic.decoder import AnthropicDecoder
from tests.models.asking import answer_of, asking, assert_cut_anywhere, failure_of
from tests.models.recorded import RECORDINGS, once, played, refusal
from tests.tcp import Script, Server

KEY = "sk-ant-test-0123456789"


def model_of(script: Script | bytes, **options: Any) -> AbstractAsyncContextManager[tuple[Anthropic, Server]]:
    given = {"model": "claude-sonnet-5", "api_key": KEY} | options
    return asking(script, lambda url: Anthropic(Options(**{"base_url": url} | given)))


async def read(name: str) -> list[Chunk]:
    async with model_of(played("anthropic", name)) as (model, _):
        return await answer_of(model)


async def failure(script: Script | bytes, **options: Any) -> tuple[list[Chunk], ModelError]:
    async with model_of(script, **options) as (model, _):
        return await failure_of(model)


CHUNKS: dict[str, list[Chunk]] = {
    "text": [
        *(TextChunk(text) for text in ["Hello", " there", ", ", "Grüße", " 👋🏽", "!"]),
        StopChunk("stop"),
        UsageChunk(25, 15),
    ],
    "text-then-tool-call": [
        *(TextChunk(text) for text in ["Okay", ", let's check", " the weather:"]),
        CallChunk(1, "", "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather"),
        *(CallChunk(1, piece) for piece in ['{"location":', ' "San', ' Francisco, CA"', ', "unit": "fahrenheit"}']),
        StopChunk("tool_calls"),
        UsageChunk(25, 89),
    ],
    "interleaved-tool-calls": [
        CallChunk(0, "", "toolu_01A", "search"),
        CallChunk(1, "", "toolu_01B", "draw"),
        CallChunk(1, '{"x":'),
        CallChunk(0, '{"q":'),
        CallChunk(1, " 2}"),
        CallChunk(0, " 1}"),
        StopChunk("tool_calls"),
        UsageChunk(25, 40),
    ],
    "call-without-arguments": [CallChunk(0, "", "toolu_01A", "now"), StopChunk("tool_calls"), UsageChunk(25, 12)],
    "thinking-then-text": [
        ReasoningChunk("Let me solve this: "),
        ReasoningChunk("27 * 453."),
        TextChunk("27 * 453"),
        TextChunk(" = 12,231"),
        StopChunk("stop"),
        UsageChunk(25, 60),
    ],
    "cached": [TextChunk("Hi"), StopChunk("stop"), UsageChunk(21004, 5, 20000, 1000)],
    "max-tokens": [TextChunk("Once upon"), StopChunk("length"), UsageChunk(25, 8)],
    "context-window": [TextChunk("Once upon"), StopChunk("length"), UsageChunk(25, 8)],
    "stop-sequence": [TextChunk("One, two"), StopChunk("stop"), UsageChunk(25, 4)],
    "unknown-event": [TextChunk("Hi"), StopChunk("stop"), UsageChunk(25, 2)],
    "refusal": [
        TextChunk("I"),
        NoteChunk(
            "warning",
            "The provider stopped the response: This request was declined because it could enable cyber harm.",
        ),
        StopChunk("filtered"),
        UsageChunk(25, 3),
    ],
}


@pytest.mark.parametrize("name", CHUNKS)
async def test_a_recorded_answer_becomes_chunks(name: str) -> None:
    assert await read(name) == CHUNKS[name]


async def test_a_pause_of_the_providers_own_tools_is_reported() -> None:
    *_, unknown, paused, stop, _ = await read("pause-turn")

    assert isinstance(unknown, NoteChunk)
    assert "'server_tool_use'" in str(unknown.value)
    assert isinstance(paused, NoteChunk)
    assert "paused" in str(paused.value)
    assert stop == StopChunk("stop")


async def test_signed_thoughts_before_a_call_are_kept_with_their_places() -> None:
    kept = [chunk for chunk in await read("thinking-then-tool-call") if isinstance(chunk, NoteChunk)]

    signed = {"type": "thinking", "thinking": "The person wants the weather.", "signature": "EqQBCgIYAhIMsigned"}
    hidden = {"type": "redacted_thinking", "data": "EmwKAhgBEgyredacted"}
    said: Any = {"anthropic": {"model": "claude-sonnet-5", "thoughts": [[0, signed], [1, hidden]]}}
    assert kept == [NoteChunk("kept", said)]


@pytest.mark.parametrize("path", sorted((RECORDINGS / "anthropic").glob("*.response.txt")), ids=lambda path: path.stem)
def test_nothing_is_lost_wherever_the_bytes_are_cut(path: Path) -> None:
    assert_cut_anywhere(path, lambda: AnthropicDecoder("m"))


# What goes wrong


@pytest.mark.parametrize(
    ("name", "kind"),
    [("error-mid-stream", ModelBusy), ("api-error-mid-stream", ModelUnreachable), ("broken-off", ModelUnreachable)],
)
async def test_an_error_inside_a_response_comes_after_its_chunks(name: str, kind: type[ModelError]) -> None:
    chunks, error = await failure(once(played("anthropic", name)))

    assert chunks[-1] == TextChunk("Hel")
    assert type(error) is kind


SAID = '{"type":"error","error":{"type":"x","message":"%s"},"request_id":"req_1"}'


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        ("401 Unauthorized", "invalid x-api-key", ModelRefusedKey),
        ("403 Forbidden", "not allowed", ModelRefusedKey),
        ("404 Not Found", "model: claude-nothing", ModelRefused),
        ("400 Bad Request", "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
        ("413 Request Too Large", "Request exceeds the maximum size", ModelRefused),
        ("429 Too Many Requests", "This would exceed your rate limit", ModelBusy),
        ("529 Overloaded", "Overloaded", ModelBusy),
        ("500 Internal Server Error", "Internal server error", ModelUnreachable),
    ],
)
async def test_a_refusal_is_an_error_of_its_kind(status: str, said: str, kind: type[ModelError]) -> None:
    chunks, error = await failure(refusal(status, SAID % said))

    assert chunks == []
    assert type(error) is kind
    assert (said in error.message) is isinstance(error, ModelRefused | ModelBusy)


async def test_a_busy_server_has_a_retry_delay() -> None:
    body = SAID % "slow down"
    head = f"HTTP/1.1 429 Too Many Requests\r\nretry-after: 17\r\ncontent-length: {len(body)}\r\n\r\n"

    _, error = await failure((head + body).encode())

    assert error.retry_after == 17.0


async def test_a_key_that_the_server_repeats_is_redacted(caplog: pytest.LogCaptureFixture) -> None:
    _, error = await failure(
        refusal("400 Bad Request", SAID % f"the key {KEY} and x-secret-header"), headers={"a": "x-secret-header"}
    )

    assert "[key]" in error.message
    for secret in (KEY, "x-secret-header"):
        assert secret not in error.message
        assert secret not in caplog.text
