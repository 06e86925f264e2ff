"""OpenAI's wire, both ways. The recordings are described in tests/recordings/openai/README.md."""

import asyncio
import json
import logging
import socket
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from rightseat import config
from rightseat.core.ask import NamedTool, Parameters, ToolChoice
from rightseat.core.errors import (
    ConfigError,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelRefusedKey,
    ModelTimeout,
    ModelUnreachable,
)
from rightseat.core.events import ToolCallDelta, ToolCallStarted
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.stream.framer import frame
from rightseat.core.tools import Tool
from rightseat.models.openai import OpenAI, Options, build, choose_effort, write_parameters
from rightseat.wire.openai_chat import read_error
from tests.models.recorded import UPSTREAM, answer, events, once, recording, refusal
from tests.tcp import Script, Server, Visit, answers, playing

KEY = "sk-test-0123456789"
PROMPT = Prompt((user("Hi"),))
HI = recording("llama-cpp")
SEARCH = Tool("search", "Find things.", {"type": "object", "properties": {"q": {"type": "string"}}})


@asynccontextmanager
async def model_of(script: Script | bytes, **options: Any) -> AsyncIterator[tuple[OpenAI, Server]]:
    async with playing(script if callable(script) else answers(script)) as server:
        given = {"api_key": KEY, "base_url": f"{server.url}/v1"} | options
        async with asyncio.timeout(30), OpenAI("gpt-4o-mini", **given) as model:
            yield model, server


async def collect(model: Model, prompt: Prompt = PROMPT) -> list[Chunk]:
    return [chunk async for chunk in model.stream(prompt)]


async def failure(model: Model) -> tuple[list[Chunk], ModelError]:
    """What came, and then the error."""
    chunks: list[Chunk] = []
    try:
        async for chunk in model.stream(PROMPT):
            chunks.append(chunk)  # noqa: PERF401  # what came before the error is wanted too
    except ModelError as error:
        return chunks, error
    pytest.fail(f"no error after {chunks}")


async def request_for(prompt: Prompt, **options: Any) -> Any:
    async with model_of(HI, **options) as (model, server):
        await collect(model, prompt)

    return server.requests[0].json


# What comes back


CHUNKS: dict[str, list[Chunk]] = {
    "text": [
        *(TextChunk(text) for text in ["Hello", " there", ", ", "Grüße", " 👋🏽", "!"]),
        StopChunk("stop"),
        UsageChunk(19, 9),
    ],
    "parallel-tool-calls": [
        CallChunk(0, "", "call_x1Qd0aPz", "get_weather"),
        CallChunk(0, '{"city"'),
        CallChunk(0, ': "Oslo"}'),
        CallChunk(1, "", "call_kP7sRb2M", "get_weather"),
        CallChunk(1, '{"city"'),
        CallChunk(1, ': "Rome"}'),
        StopChunk("tool_calls"),
        UsageChunk(19, 45),
    ],
    "text-then-tool-call": [
        TextChunk("I will"),
        TextChunk(" look."),
        CallChunk(0, "", "call_a", "search"),
        CallChunk(0, "{}"),
        StopChunk("tool_calls"),
        UsageChunk(19, 9),
    ],
    "interleaved-tool-calls": [
        CallChunk(0, "", "call_a", "set_color"),
        CallChunk(1, "", "call_b", "set_size"),
        CallChunk(1, '{"size"'),
        CallChunk(0, '{"color":'),
        CallChunk(1, ":4"),
        CallChunk(0, '"re'),
        CallChunk(0, 'd"}'),
        CallChunk(1, "2}"),
        StopChunk("tool_calls"),
    ],
    "length": [TextChunk("Once upon"), StopChunk("length"), UsageChunk(19, 9)],
    "content-filter": [TextChunk("The way"), StopChunk("filtered")],
    "refusal": [TextChunk("I'm sorry"), TextChunk(", I cannot help with that."), StopChunk("stop")],
    "reasoning-content": [
        ReasoningChunk("9.8 is"),
        ReasoningChunk(" more."),
        TextChunk("9.8"),
        TextChunk(" is greater."),
        StopChunk("stop"),
        UsageChunk(17, 31, reasoning_tokens=20),
    ],
    "thought-and-text-in-one-delta": [
        ReasoningChunk("Let me see"),
        ReasoningChunk("."),
        TextChunk("Yes"),
        TextChunk("."),
        StopChunk("stop"),
    ],
    "usage-in-every-event": [
        UsageChunk(12, 0),
        TextChunk("One"),
        UsageChunk(12, 1),
        TextChunk(" two"),
        UsageChunk(12, 2),
        StopChunk("stop"),
        UsageChunk(12, 3),
    ],
    "reasoning": [ReasoningChunk("We need"), TextChunk("Hi"), StopChunk("stop"), UsageChunk(70, 25)],
    "groq": [TextChunk("Hi"), StopChunk("stop"), UsageChunk(36, 2)],
    "ollama-tool-calls": [
        CallChunk(0, '{"a":1,"b":2}', "call_5dg1k2", "add"),
        CallChunk(1, '{"a":3,"b":4}', "call_9hh3x1", "add"),
        StopChunk("tool_calls"),
    ],
    "llama-cpp": [TextChunk("Hi"), TextChunk("!"), StopChunk("stop"), UsageChunk(14, 3)],
    "calls-all-at-index-zero": [
        CallChunk(0, '{"city":"Oslo"}', "function-call-71", "get_weather"),
        CallChunk(0, '{"city":"Rome"}', "function-call-72", "get_weather"),
        StopChunk("stop"),
    ],
    "calls-without-an-index": [
        CallChunk(0, '{"city":"Oslo"}', "", "get_weather"),
        CallChunk(1, '{"city":"Rome"}', "", "get_weather"),
        StopChunk("tool_calls"),
    ],
    "ids-in-every-delta": [
        UsageChunk(12, 0),
        CallChunk(0, '{"color":', "call_a", "set_color"),
        UsageChunk(12, 0),
        CallChunk(1, '{"size"', "call_b", "set_size"),
        UsageChunk(12, 0),
        CallChunk(0, '"red"}', "call_a", "set_color"),
        UsageChunk(12, 0),
        CallChunk(1, ":42}", "call_b", "set_size"),
        UsageChunk(12, 0),
        StopChunk("tool_calls"),
        UsageChunk(12, 20),
    ],
    "crlf-without-spaces": [TextChunk("Hi"), StopChunk("stop"), UsageChunk(3, 0)],
    "missing-done": [TextChunk("Hello"), StopChunk("stop")],
    "done-without-finish-reason": [TextChunk("Hello")],
}


@pytest.mark.parametrize("name", CHUNKS)
async def test_a_recorded_answer_becomes_chunks(name: str) -> None:
    async with model_of(recording(name)) as (model, server):
        assert await collect(model) == CHUNKS[name]
        assert await collect(model) == CHUNKS[name]

    assert len(server.visits) == 1


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("parallel-tool-calls", [("get_weather", '{"city": "Oslo"}'), ("get_weather", '{"city": "Rome"}')]),
        ("interleaved-tool-calls", [("set_color", '{"color":"red"}'), ("set_size", '{"size":42}')]),
        ("ollama-tool-calls", [("add", '{"a":1,"b":2}'), ("add", '{"a":3,"b":4}')]),
        ("calls-all-at-index-zero", [("get_weather", '{"city":"Oslo"}'), ("get_weather", '{"city":"Rome"}')]),
        ("calls-without-an-index", [("get_weather", '{"city":"Oslo"}'), ("get_weather", '{"city":"Rome"}')]),
        ("ids-in-every-delta", [("set_color", '{"color":"red"}'), ("set_size", '{"size":42}')]),
    ],
)
async def test_calls_are_distinguished_however_a_server_numbers_them(name: str, calls: list[tuple[str, str]]) -> None:
    async with model_of(recording(name)) as (model, _):
        events = [event async for event in frame(model.stream(PROMPT))]

    ids = {event.call_id: event.name for event in events if isinstance(event, ToolCallStarted)}
    arguments = dict.fromkeys(ids, "")
    for event in events:
        if isinstance(event, ToolCallDelta):
            arguments[event.call_id] += event.text
    assert [(ids[id], arguments[id]) for id in ids] == calls


ERRORS = {
    "error-mid-stream": [TextChunk("Hello")],
    "error-beside-a-choice": [TextChunk("Hel")],
    "finish-reason-error": [TextChunk("Hel")],
    "vllm-error": [UsageChunk(12, 0), TextChunk("One"), UsageChunk(12, 1)],
    "not-json": [TextChunk("Hello")],
    "broken-utf-8": [],
}


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_inside_a_response_comes_after_its_chunks(name: str, caplog: pytest.LogCaptureFixture) -> None:
    async with model_of(recording(name)) as (model, server):
        chunks, error = await failure(model)

    assert chunks == ERRORS[name]
    assert isinstance(error, ModelUnreachable)
    assert error.message == "The model provider ended its response early with an error."
    assert "an error inside the response" in caplog.text
    assert len(server.requests) == 1


async def test_an_error_inside_an_answer_is_in_the_debug_log_in_the_words_of_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "rightseat")
    async with model_of(recording("vllm-error")) as (model, _):
        await failure(model)

    assert "the engine is dead" in caplog.text


async def test_a_response_without_a_stop_reason_and_an_end_is_incomplete() -> None:
    async with model_of(recording("missing-finish-reason")) as (model, _server):
        chunks, error = await failure(model)

    assert chunks == [TextChunk("Hello"), TextChunk(" wor")]
    assert isinstance(error, ModelUnreachable)
    assert error.message == "The response of the model provider ended early."


@pytest.mark.parametrize("how", ["closed", "reset"])
async def test_a_connection_that_ends_in_the_middle_is_an_error(how: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(events('{"choices":[{"delta":{"content":"Hel"}}]}', end=b""))
        if how == "reset":
            visit.writer.transport.abort()

    async with model_of(script) as (model, server):
        _, error = await failure(model)

    assert isinstance(error, ModelUnreachable)
    assert (
        error.message == "The request to the model server failed: "
        "The connection was closed in the middle of the response."
    )
    assert len(server.requests) == 1


STOP = '{"choices":[{"delta":{},"finish_reason":"stop"}]}'


@pytest.mark.parametrize("end", [(STOP,), (STOP, "[DONE]"), ("[DONE]",)])
async def test_an_answer_that_is_whole_stays_whole_if_its_connection_breaks(end: tuple[str, ...]) -> None:
    async with model_of(once(events('{"choices":[{"delta":{"content":"Hi"}}]}', *end, end=b""))) as (model, _):
        assert (await collect(model))[0] == TextChunk("Hi")


async def test_nothing_is_waited_for_after_the_end() -> None:
    """A server that says `[DONE]` and then keeps the answer open."""

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(events(STOP, "[DONE]", end=b""))
        await visit.gone()

    async with model_of(script) as (model, _), asyncio.timeout(1):
        assert await collect(model) == [StopChunk("stop")]


@pytest.mark.parametrize("said", ["[DONE]", "[DONE] ", "[DONE]\r"])
async def test_the_end_may_have_blanks_behind_it(said: str) -> None:
    async with model_of(events(STOP, said)) as (model, server):
        for _ in range(2):
            assert await collect(model) == [StopChunk("stop")]

    assert len(server.visits) == 1


@pytest.mark.parametrize("size", [1, 5, 64])
async def test_pieces_of_any_size_give_the_same_chunks(size: int) -> None:
    whole = recording("text")
    async with model_of(answers(*(whole[at : at + size] for at in range(0, len(whole), size)))) as (model, _):
        assert await collect(model) == CHUNKS["text"]


@pytest.mark.parametrize(
    "name",
    ["action-disabled-and-remote", "frontend-action", "parallel-tools", "unicode-chat", "interleaved-parallel-tools"],
)
async def test_what_a_real_runtime_was_sent_is_read(name: str) -> None:
    async with model_of(answer(UPSTREAM / f"{name}.response.txt")) as (model, _):
        chunks = await collect(model)

    assert len(chunks) > 3
    assert isinstance(chunks[-1], StopChunk)


# What is sent


async def test_the_smallest_request_is_exactly_this() -> None:
    async with model_of(HI) as (model, server):
        await collect(model)

    request = server.requests[0]
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert dict(request.headers) == {
        "host": server.url.removeprefix("http://"),
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": "rightseat",
        "authorization": f"Bearer {KEY}",
        "content-length": str(len(request.body)),
    }
    assert request.json == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_messages_are_written_as_openai_wants_them() -> None:
    prompt = Prompt(
        (
            system("Be brief."),
            user("Grüße 👋🏽"),
            assistant("Hello."),
            Message("user", (Text("Two"), Text(" parts"))),
            Message("user", (Text("What is this?"), Image("image/png", "iVBORw0K"))),
            Message("user", (Image("image/jpeg", "/9j/4AAQ"),)),
            Message("assistant", (Text("Let me look."), Call("c1", "search", '{"q":"x"}'), Call("c2", "search", ""))),
            Message("tool", (Result("c1", "search", "found"), Result("c2", "search", "no query", "tool_failed"))),
            Message("assistant", (Call("c3", "search", '{"q":'),)),
            Message("tool", (Result("c3", "search", ""),)),
        )
    )

    body = await request_for(prompt)

    def call(id: str, arguments: str) -> dict[str, object]:
        return {"id": id, "type": "function", "function": {"name": "search", "arguments": arguments}}

    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Grüße 👋🏽"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Two parts"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}},
            ],
        },
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/4AAQ"}}]},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [call("c1", '{"q":"x"}'), call("c2", "{}")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": "no query"},
        {"role": "assistant", "content": None, "tool_calls": [call("c3", '{"q":')]},
        {"role": "tool", "tool_call_id": "c3", "content": ""},
    ]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
async def test_a_message_without_words_is_an_empty_text_and_never_null(role: Any) -> None:
    body = await request_for(Prompt((Message(role, ()), Message(role, (Text(""),)))))

    assert body["messages"] == [{"role": role, "content": ""}] * 2


async def test_tools_are_offered_as_functions() -> None:
    body = await request_for(Prompt((user("Hi"),), (SEARCH,)))

    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "search",
                "description": "Find things.",
                "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
            },
        }
    ]
    assert "tool_choice" not in body


STRICT = replace(SEARCH, parameters={**SEARCH.parameters, "required": ["q"], "additionalProperties": False})


@pytest.mark.parametrize(
    ("tool", "options", "sent"),
    [
        (STRICT, {}, True),
        (STRICT, {"strict": False}, None),
        (replace(STRICT, strict=False), {}, False),
        (replace(STRICT, strict=True), {"strict": False}, True),
        (SEARCH, {}, None),
    ],
)
async def test_a_tool_is_strict_where_its_schema_allows_it(tool: Tool, options: Any, sent: bool | None) -> None:
    body = await request_for(Prompt((user("Hi"),), (tool,)), **options)

    assert body["tools"][0]["function"].get("strict") is sent


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        (NamedTool("search"), {"type": "function", "function": {"name": "search"}}),
    ],
)
async def test_a_choice_of_tools_is_passed_on(choice: ToolChoice, written: object) -> None:
    body = await request_for(Prompt((user("Hi"),), (SEARCH,), Parameters(tool_choice=choice)))

    assert body["tool_choice"] == written


async def test_without_tools_the_prompt_does_not_mention_them() -> None:
    body = await request_for(Prompt((user("Hi"),), (), Parameters(tool_choice="required")))

    assert body.keys().isdisjoint({"tools", "tool_choice"})


@pytest.mark.parametrize(
    ("asked", "configured", "sent"), [(0, None, 0), (0, 0.7, 0), (None, 0.7, 0.7), (None, 0, 0), (1.5, 0, 1.5)]
)
async def test_a_temperature_is_forwarded_and_zero_is_one(
    asked: float | None, configured: float | None, sent: float
) -> None:
    body = await request_for(Prompt((user("Hi"),), (), Parameters(temperature=asked)), temperature=configured)

    assert body["temperature"] == sent


@pytest.mark.parametrize(("asked", "configured", "sent"), [(7, None, 7), (7, 9, 7), (None, 9, 9)])
async def test_a_limit_of_tokens_is_forwarded(asked: int | None, configured: int | None, sent: int) -> None:
    body = await request_for(Prompt((user("Hi"),), (), Parameters(max_tokens=asked)), max_tokens=configured)

    assert body["max_tokens"] == sent
    assert "max_completion_tokens" not in body


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({}, "max_completion_tokens"),
        ({"base_url": "https://eu.api.openai.com/v1"}, "max_completion_tokens"),
        ({"base_url": "https://acme.openai.azure.com/openai/v1"}, "max_completion_tokens"),
        ({"base_url": "https://api.groq.com/openai/v1"}, "max_tokens"),
        ({"base_url": "http://localhost:11434/v1"}, "max_tokens"),
        ({"base_url": "https://fakeapi.openai.com.evil.test/v1"}, "max_tokens"),
        ({"base_url": "https://notapi.openai.com/v1"}, "max_tokens"),
        ({"max_tokens_field": "max_tokens"}, "max_tokens"),
        ({"base_url": "http://localhost/v1", "max_tokens_field": "max_completion_tokens"}, "max_completion_tokens"),
    ],
)
def test_the_limit_of_tokens_has_the_name_that_the_server_knows(options: dict[str, Any], field: str) -> None:
    written = write_parameters(Options(model="m", **options), Parameters(max_tokens=5))

    assert written == {field: 5}


async def test_all_that_a_client_may_ask_of_a_model_is_forwarded() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    asked = Parameters(
        top_p=0.5,
        seed=0,
        presence_penalty=-1,
        frequency_penalty=0,
        logprobs=0,
        parallel_calls=False,
        response_schema=schema,
        response_strict=False,
    )

    sent = await request_for(Prompt((user("Hi"),), [replace(SEARCH, strict=True)], asked))

    assert (sent["top_p"], sent["seed"], sent["presence_penalty"], sent["frequency_penalty"]) == (0.5, 0, -1, 0)
    assert sent["logprobs"] is True
    assert "top_logprobs" not in sent
    assert sent["parallel_tool_calls"] is False
    assert sent["tools"][0]["function"]["strict"] is True
    form = {"name": "answer", "schema": schema, "strict": False}
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}


async def test_unset_parameters_are_not_sent() -> None:
    assert set(await request_for(PROMPT)) == {"model", "messages", "stream", "stream_options"}


async def test_parallel_tool_calls_is_not_sent_without_tools() -> None:
    """OpenAI refuses that."""
    assert "parallel_tool_calls" not in await request_for(Prompt((user("Hi"),), (), Parameters(parallel_calls=True)))


@pytest.mark.parametrize("count", [1, 5])
async def test_likely_tokens_are_asked_for(count: int) -> None:
    assert (await request_for(Prompt((user("Hi"),), (), Parameters(logprobs=count))))["top_logprobs"] == count


async def test_words_to_stop_at_are_forwarded() -> None:
    assert (await request_for(Prompt((user("Hi"),), (), Parameters(stop=("END", "\n")))))["stop"] == ["END", "\n"]


async def test_no_words_to_stop_at_are_not_sent_as_an_empty_list() -> None:
    assert "stop" not in await request_for(Prompt((user("Hi"),), (), Parameters(stop=())))


@pytest.mark.parametrize(
    ("allowed", "asked", "used"),
    [
        ([], None, "gpt-4o-mini"),
        ([], "gpt-4o-mini", "gpt-4o-mini"),
        (["gpt-4o", "o4"], "o4", "o4"),
        (["*"], "anything", "anything"),
    ],
)
async def test_a_client_may_choose_among_the_models_it_is_allowed(
    allowed: list[str], asked: str | None, used: str, caplog: pytest.LogCaptureFixture
) -> None:
    body = await request_for(Prompt((user("Hi"),), (), Parameters(model=asked)), client_models=allowed)

    assert body["model"] == used
    assert not caplog.records


async def test_a_model_that_is_not_allowed_is_not_used_and_this_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    body = await request_for(Prompt((user("Hi"),), (), Parameters(model="o9\nexpensive")), client_models=["o4"])

    assert body["model"] == "gpt-4o-mini"
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            "a client requested the model 'o9\\nexpensive', which is not in client_models; using 'gpt-4o-mini'",
        )
    ]


async def test_extra_fields_are_added_and_win() -> None:
    body = await request_for(PROMPT, extra={"top_k": 5, "reasoning_effort": "low", "model": "other"}, temperature=1)

    assert body["top_k"] == 5
    assert body["reasoning_effort"] == "low"
    assert body["model"] == "other"
    assert body["temperature"] == 1


async def test_the_effort_of_a_client_is_sent_where_it_is_switched_on() -> None:
    prompts = {effort: Prompt((user("Hi"),), (), Parameters(effort=effort)) for effort in ("low", "max")}

    assert (await request_for(prompts["low"], client_effort=True))["reasoning_effort"] == "low"
    assert (await request_for(prompts["max"], client_effort=True))["reasoning_effort"] == "xhigh"  # the API's highest
    assert "reasoning_effort" not in await request_for(prompts["low"])
    assert "reasoning_effort" not in await request_for(PROMPT, client_effort=True)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"model": "gpt-5.5"}, "low"),
        ({"model": "o4-mini"}, "low"),
        ({"model": "gpt-5-chat-latest"}, None),
        ({"model": "gpt-4o"}, None),
        ({"model": "gpt-5.5", "client_effort": False}, None),
        ({"model": "gpt-5.5", "base_url": "http://127.0.0.1:11434/v1"}, None),
    ],
)
def test_the_effort_of_a_client_is_sent_to_reasoning_models_of_openai(more: Any, expected: str | None) -> None:
    assert choose_effort(Options.model_validate(more), Parameters(effort="low")) == expected


async def test_usage_is_not_asked_for_where_it_is_switched_off() -> None:
    assert "stream_options" not in await request_for(PROMPT, include_usage=False)


async def test_headers_are_sent_and_replace_ours() -> None:
    headers = {"api-key": "azure-key", "X-Title": "rightseat", "Authorization": "Basic abc", "User-Agent": "acme/1"}
    async with model_of(HI, headers=headers) as (model, server):
        await collect(model)

    request = server.requests[0]
    assert request.header("api-key") == "azure-key"
    assert request.header("x-title") == "rightseat"
    assert request.header("authorization") == "Basic abc"
    assert request.header("user-agent") == "acme/1"


@pytest.mark.parametrize("key", [None, ""])
async def test_without_a_key_none_is_sent(key: str | None) -> None:
    async with model_of(HI, api_key=key) as (model, server):
        await collect(model)

    assert server.requests[0].header("authorization") is None


async def test_a_query_of_the_address_is_kept() -> None:
    async with playing(answers(HI)) as server, OpenAI("m", base_url=f"{server.url}/v1/?api-version=1") as model:
        await collect(model)

    assert server.requests[0].line == "POST /v1/chat/completions?api-version=1 HTTP/1.1"


# Options that cannot work


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "base_url: localhost:11434/v1",
            "1:54: models.default.base_url: the address should begin with http:// or https:// "
            "and the name of a host, not 'localhost:11434/v1'.",
        ),
        ("api_key: '${KEY}'", "1:53: models.default.api_key: should be one line of plain characters, not '${KEY}'."),
        (
            "headers: {x-key: '${KEY}'}",
            "1:61: models.default.headers.x-key: should be one line of plain characters, not '${KEY}'.",
        ),
        ("timeout: 0", "1:53: models.default.timeout: should be greater than 0, not 0."),
    ],
)
def test_invalid_options_are_reported_with_their_path(options: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        config.parse(f"models: {{default: {{type: openai, model: m, {options}}}}}", environ={"KEY": f"{KEY}\n"})

    assert error.value.message.removeprefix("rightseat.yaml:") == said


@pytest.mark.parametrize("options", [{"api_key": f"{KEY}\n"}, {"headers": {"x": f"{KEY}\r\nx: y"}}])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="one line of plain characters") as error:
        OpenAI("m", **options)

    assert KEY not in str(error.value)


def test_a_name_of_a_header_that_is_two_is_refused() -> None:
    with pytest.raises(ValidationError, match="cannot be named"):
        OpenAI("m", headers={"x: 1\r\ny": "2"})


def test_building_opens_nothing_and_shows_no_key() -> None:
    model = build(Options(model="m", api_key=cast(Any, KEY)))

    assert isinstance(model, OpenAI)
    assert KEY not in repr(model.options)


# Refusals


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (
            401,
            ModelRefusedKey,
            "The model provider returned HTTP 401: it does not accept {cure}",
        ),
        (
            403,
            ModelRefusedKey,
            "The model provider returned HTTP 403: it does not accept {cure}",
        ),
        (400, ModelRefused, "The model provider returned HTTP 400: no good"),
        (404, ModelRefused, "The model provider returned HTTP 404: no good. Check `base_url` of the model."),
        (413, ModelRefused, "The model provider returned HTTP 413: no good"),
        (301, ModelRefused, "The model provider returned HTTP 301: no good"),
        (
            429,
            ModelBusy,
            "The model provider returned HTTP 429 (rate limited): no good",
        ),
        (500, ModelUnreachable, "The model provider returned HTTP 500."),
        (502, ModelUnreachable, "The model provider returned HTTP 502."),
        (503, ModelUnreachable, "The model provider returned HTTP 503."),
    ],
)
async def test_a_refusal_is_an_error_of_its_kind_and_nothing_is_tried_again(
    status: int, kind: type[ModelError], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    body = '{"error":{"message":"no good","type":"x","param":null,"code":null}}'
    async with model_of(refusal(f"{status} X", body)) as (model, server):
        chunks, error = await failure(model)

    assert chunks == []
    assert type(error) is kind
    cure = "the API key for 'gpt-4o-mini'. Check `api_key` of the model, or the environment variable that it names."
    assert error.message == message.format(url=f"{server.url}/v1", cure=cure)
    assert getattr(error, "upstream_status", status) == status
    assert f"{server.url}/v1 returned HTTP {status}: x" in caplog.text
    assert "no good" not in caplog.text
    assert "no good" not in error.log_message
    assert len(server.requests) == 1


async def test_a_refusal_leaves_its_connection_for_the_next_request() -> None:
    async with model_of(refusal("429 Slow", "{}")) as (model, server):
        await failure(model)
        await failure(model)

    assert len(server.visits) == 1
    assert len(server.requests) == 2


async def test_a_truncated_error_response_keeps_its_status() -> None:
    broken = b"HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\n{"
    async with model_of(once(broken)) as (model, _):
        _, error = await failure(model)

    assert isinstance(error, ModelRefusedKey)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error":{"message":"a"}}', "a"),
        ('{"error":"b"}', "b"),
        ('{"object":"error","message":"c"}', "c"),
        ('{"detail":"d"}', "d"),
        ('{"detail":[{"loc":["body"]}]}', '{"detail":[{"loc":["body"]}]}'),
        ("<html>e</html>", "<html>e</html>"),
        ("[]", "[]"),
        ("", ""),
    ],
)
def test_the_words_of_a_refusal_are_found_in_every_form(body: str, said: str) -> None:
    assert read_error(body) == said


async def test_long_words_of_a_refusal_are_cut_and_made_one_line() -> None:
    body = json.dumps({"error": {"message": "much\r\ntoo\tlong " * 1000}})
    async with model_of(refusal("400 Bad", body)) as (model, _):
        _, error = await failure(model)

    assert len(error.message) < 600
    assert ": much too long much too" in error.message


@pytest.mark.parametrize(
    ("path", "text", "hint"),
    [
        ("", "404 page not found", ". Check `base_url` of the model. Most servers need `/v1` at its end."),
        ("/api/v1", "Not Found.", " Check `base_url` of the model."),
        ("", "", ". Check `base_url` of the model. Most servers need `/v1` at its end."),
        ("", "model 'llama9' not found, try pulling it first", ""),
    ],
)
async def test_a_404_that_is_not_about_the_model_names_the_address(path: str, text: str, hint: str) -> None:
    async with (
        playing(answers(refusal("404 Not Found", text))) as server,
        OpenAI("m", base_url=server.url + path) as model,
    ):
        _, error = await failure(model)

    assert error.message == (
        f"The model provider returned HTTP 404{': ' if text else ''}{text}{hint.format(url=server.url + path)}"
    )


async def test_a_refused_connection_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with OpenAI("m", base_url=f"http://127.0.0.1:{port}/v1") as model:
        _, error = await failure(model)

    assert isinstance(error, ModelUnreachable)
    assert error.message == "Cannot reach the model server: Connection refused. Is it running?"
    assert f"http://127.0.0.1:{port}/v1: Connection refused" in caplog.text


async def test_silence_is_an_error() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.gone()

    async with model_of(script, timeout=0.1) as (model, server):
        _, error = await failure(model)

    assert isinstance(error, ModelTimeout)
    assert error.message == (
        f"The model 'gpt-4o-mini' at {server.url}/v1 sent no content for 0.1 s, so the run was stopped. "
        "If it needs longer, raise `timeout` of the model."
    )
    assert len(server.requests) == 1


async def test_an_answer_that_is_no_stream_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async with model_of(recording("whole-answer")) as (model, _):
        chunks, error = await failure(model)

    assert chunks == []
    assert isinstance(error, ModelUnreachable)
    assert error.message == (
        "The model provider returned application/json instead of a stream. Check `base_url` of the model."
    )
    assert '"finish_reason":"stop"' not in caplog.text


async def test_a_web_page_is_no_stream() -> None:
    async with model_of(refusal("200 OK", "<html>Log in</html>", "text/html")) as (model, _):
        _, error = await failure(model)

    assert error.message == (
        "The model provider returned text/html instead of a stream. Check `base_url` of the model."
    )


# Secrets


ECHOES = {
    "a refused key": refusal("401 No", f'{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}'),
    "a refused request": refusal("400 No", f'{{"error":{{"message":"You sent Bearer {KEY} and {KEY}"}}}}'),
    "a text": refusal("400 No", f"authorization: Bearer {KEY}", "text/plain"),
    "a text that is cut at the key": refusal("400 No", f"{'x' * 490}{KEY}", "text/plain"),
    "an escaped key": refusal("400 No", '{"error":{"message":"' + "".join(f"\\u{ord(c):04x}" for c in KEY) + '"}}'),
    "an error in the stream": events(f'{{"error":{{"message":"bad {KEY}"}}}}'),
    "no JSON in the stream": events(f"oops {KEY}"),
    "no JSON in the stream that is cut": events(f"{'x' * 190}{KEY}"),
    "a whole answer": refusal("200 OK", f'{{"error":"{KEY}"}}'),
    "no HTTP": f"{KEY}\r\n\r\n".encode(),
    "a status": f"HTTP/1.1 500 {KEY}\r\ncontent-length: 0\r\n\r\n".encode(),
    "a content type": f"HTTP/1.1 200 OK\r\ncontent-type: {KEY}\r\ncontent-length: 0\r\n\r\n".encode(),
}


@pytest.mark.parametrize("where", ["api_key", "header"])
@pytest.mark.parametrize("echo", ECHOES)
async def test_a_key_is_in_no_message_and_in_no_log_even_where_the_server_repeats_it(
    echo: str, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    options = {"api_key": KEY} if where == "api_key" else {"api_key": None, "headers": {"api-key": KEY}}
    async with model_of(once(ECHOES[echo]), **options) as (model, _):
        _, error = await failure(model)

    half = KEY[: len(KEY) // 2]
    assert half not in error.message
    assert half not in "".join(traceback.format_exception(error))
    assert caplog.records
    for record in caplog.records:
        assert half not in record.getMessage()


@pytest.mark.parametrize(
    "answer",
    [
        refusal("400 No", '{"error":{"message":"cannot answer: my private question","type":"bad_request"}}'),
        refusal("500 No", '{"error":{"message":"cannot answer: my private question"}}'),
        refusal("200 OK", "my private question", "text/html"),
        events('{"error":{"message":"my private question"}}'),
        events("{ my private question"),
    ],
)
async def test_what_a_server_repeats_of_the_prompt_is_not_in_the_log_at_its_usual_level(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat")
    async with model_of(once(answer)) as (model, _):
        _, error = await failure(model)

    assert caplog.records
    assert "private" not in caplog.text
    assert "private" not in error.log_message


async def test_secrets_in_extra_fields_are_covered_and_ordinary_words_are_not() -> None:
    extra: Any = {"user": "canary-5f2c9be1d0a74-x", "reasoning_effort": "high", "metadata": {"api_token": "short-1"}}
    said = '{"error":{"message":"no high for canary-5f2c9be1d0a74-x with short-1"}}'
    async with model_of(refusal("400 No", said), extra=extra) as (model, _):
        _, error = await failure(model)

    assert error.message.endswith("no high for [key] with [key]")


async def test_a_key_in_the_query_of_the_address_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        playing(answers(refusal("500 No", ""))) as server,
        OpenAI("m", base_url=f"{server.url}?k={KEY}") as model,
    ):
        await failure(model)

    assert caplog.records
    assert KEY not in caplog.text


async def test_short_headers_are_no_secrets_and_garble_nothing(caplog: pytest.LogCaptureFixture) -> None:
    body = '{"error":{"message":"the limit is 128000 tokens"}}'
    async with model_of(refusal("400 No", body), headers={"x-version": "1"}) as (model, _):
        _, error = await failure(model)

    assert error.message.endswith("the limit is 128000 tokens")


# Connections


async def test_a_thousand_requests_one_after_another_use_one_connection() -> None:
    async with model_of(HI) as (model, server):
        for _ in range(1000):
            assert len(await collect(model)) == 4

    assert len(server.visits) == 1
    assert len(server.requests) == 1000


def endless(text: str = "word ") -> Script:
    async def script(visit: Visit) -> None:
        await visit.request()
        event = f'{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}'
        await visit.send(events(event, end=b""))
        await visit.gone()

    return script


async def test_cancelling_the_consumer_closes_the_connection_at_once() -> None:
    got_one = asyncio.Event()

    async def consume(model: Model) -> None:
        async for _ in model.stream(PROMPT):
            got_one.set()

    async with model_of(endless()) as (model, server):
        consuming = asyncio.create_task(consume(model))
        await got_one.wait()
        consuming.cancel()
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()
        with pytest.raises(asyncio.CancelledError):
            await consuming


async def test_cancelling_before_the_first_byte_closes_the_connection_at_once() -> None:
    asked = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.request()
        asked.set()
        await visit.gone()

    async with model_of(script) as (model, server):
        consuming = asyncio.create_task(collect(model))
        await asked.wait()
        consuming.cancel()
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()
        with pytest.raises(asyncio.CancelledError):
            await consuming


async def test_closing_the_stream_closes_the_connection_at_once() -> None:
    async with model_of(endless()) as (model, server):
        async with aclosing(cast(Any, model.stream(PROMPT))) as chunks:
            assert await anext(chunks) == TextChunk("word ")
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()


async def test_a_model_that_is_closed_closes_its_idle_connections() -> None:
    async with playing(answers(HI)) as server:
        async with OpenAI("m", base_url=server.url) as model:
            await collect(model)
        async with asyncio.timeout(0.5):
            await server.visits[0].gone()
