"""Our reading and writing of OpenAI's wire, held against OpenAI's own SDK: the same bytes to both."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.resources.chat.completions import AsyncCompletions
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam, ChatCompletionToolParam

from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.errors import ModelError
from rightseat.core.events import ModelResponseEnded, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStarted
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import Prompt
from rightseat.core.stream.framer import frame
from rightseat.core.tools import Tool
from rightseat.models.openai import OpenAI
from tests.models.recorded import OPENAI, UPSTREAM, answer
from tests.tcp import Request, Server, answers, playing

KEY = "sk-test-0123456789"

BEYOND = {
    "calls-all-at-index-zero": "the SDK leaves it to its user to tell them apart",
    "calls-without-an-index": "the SDK leaves it to its user to tell them apart",
    "crlf-without-spaces": "the SDK cannot read an event without data",
    "finish-reason-error": "the SDK passes the reason on",
    "missing-finish-reason": "the SDK does not notice",
    "vllm-error": "the SDK does not notice",
    "whole-answer": "the SDK does not notice",
    "upstream-mid-stream-drop": "what was recorded is what came; the drop itself is not in it",
    "client-abort": "what was recorded ends where the client left",
}


def recordings(*, whole: bool) -> list[Any]:
    """Those with a stream in them that the SDK can judge; `whole`, or with an error inside."""
    paths = [*sorted(OPENAI.glob("*.response.txt")), *sorted(UPSTREAM.glob("*.response.txt"))]
    names = {path: path.name.removesuffix(".response.txt") for path in paths}
    return [
        pytest.param(path, id=name)
        for path, name in names.items()
        if name not in BEYOND and b"200 OK" in path.read_bytes()[:20] and is_whole(path) is whole
    ]


def is_whole(path: Path) -> bool:
    body = path.read_bytes()
    return b'"error":{' not in body and b"<html>" not in body and b"\xff\xfe" not in body


@dataclass
class Said:
    text: str = ""
    thoughts: str = ""
    calls: dict[int, list[str]] = field(default_factory=dict)  # id, name, arguments
    reason: str | None = None
    usage: tuple[int, int] | None = None


def theirs(chunks: list[ChatCompletionChunk]) -> Said:
    said = Said()
    for chunk in chunks:
        for choice in chunk.choices:
            delta, extra = choice.delta, choice.delta.model_extra or {}
            said.text += (delta.content or "") + (delta.refusal or "")
            said.thoughts += extra.get("reasoning_content") or extra.get("reasoning") or ""
            for call in delta.tool_calls or ():
                ours = said.calls.setdefault(call.index, ["", "", ""])
                assert call.function
                ours[0] = ours[0] or call.id or ""
                ours[1] = ours[1] or call.function.name or ""
                ours[2] += call.function.arguments or ""
            said.reason = choice.finish_reason or said.reason
        if chunk.usage:
            said.usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
    return said


async def ours(model: OpenAI) -> Said:
    said = Said()
    places: dict[str, int] = {}
    reasons = {"tool_calls": "tool_calls", "filtered": "content_filter"}
    async for event in frame(model.stream(Prompt((user("Hi"),)))):
        match event:
            case TextDelta(text=text):
                said.text += text
            case ReasoningDelta(text=text):
                said.thoughts += text
            case ToolCallStarted(call_id=id, name=name):
                places[id] = len(places)
                said.calls[places[id]] = [id, name, ""]
            case ToolCallDelta(call_id=id, text=text):
                said.calls[places[id]][2] += text
            case ModelResponseEnded(reason=reason, usage=usage):
                said.reason = reasons.get(reason, reason)
                said.usage = (usage.input_tokens, usage.output_tokens) if usage else None
    return said


@asynccontextmanager
async def both(whole: bytes, **options: Any) -> AsyncIterator[tuple[OpenAI, openai.AsyncOpenAI, Server]]:
    async with (
        playing(answers(whole)) as server,
        OpenAI("m", api_key=KEY, base_url=f"{server.url}/v1", **options) as model,
        openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0) as sdk,
    ):
        yield model, sdk, server


async def ask(sdk: openai.AsyncOpenAI) -> list[ChatCompletionChunk]:
    asked = await sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], stream=True)
    return [chunk async for chunk in asked]


@pytest.mark.parametrize("path", recordings(whole=True))
async def test_we_read_what_the_sdk_reads(path: Path) -> None:
    async with both(answer(path)) as (model, sdk, _):
        expected = theirs(await ask(sdk))
        said = await ours(model)

    expected.reason = expected.reason or "stop"  # a reason that never came: the SDK has none, we say how it looks
    assert said == expected


@pytest.mark.parametrize("path", recordings(whole=False))
async def test_what_is_an_error_to_the_sdk_is_one_to_us(path: Path) -> None:
    async with both(answer(path)) as (model, sdk, _):
        with pytest.raises((openai.APIError, ValueError)):
            await ask(sdk)
        with pytest.raises(ModelError):
            await ours(model)


@pytest.mark.parametrize(("status", "kind"), [(401, openai.AuthenticationError), (429, openai.RateLimitError)])
async def test_a_refusal_is_one_to_both(status: int, kind: type[openai.APIStatusError]) -> None:
    async with both(answer(UPSTREAM / f"upstream-{status}.response.txt")) as (model, sdk, server):
        with pytest.raises(kind):
            await ask(sdk)
        with pytest.raises(ModelError, match=str(status)):
            await ours(model)

    assert len(server.requests) == 2


# What is sent


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
SEARCH = Tool("search", "Find things.", SCHEMA)
THEIR_SEARCH: ChatCompletionToolParam = {
    "type": "function",
    "function": {"name": "search", "description": "Find things.", "parameters": SCHEMA},
}
HI: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hi"}]

CONVERSATION = (
    system("Be brief."),
    user("Grüße 👋🏽 \u2028 \x7f"),
    assistant("Hello."),
    Message("user", (Text("What is this?"), Image("image/png", "iVBORw0K"))),
    Message("assistant", (Text("I look."), Call("c1", "search", '{"q":"x"}'), Call("c2", "search", '{"q":"y"}'))),
    Message("tool", (Result("c1", "search", "found"), Result("c2", "search", "not found"))),
    Message("assistant", (Call("c3", "search", "{}"),)),
    Message("tool", (Result("c3", "search", ""),)),
)
THEIR_CONVERSATION: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Grüße 👋🏽 \u2028 \x7f"},
    {"role": "assistant", "content": "Hello."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}},
        ],
    },
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":"x"}'}},
            {"id": "c2", "type": "function", "function": {"name": "search", "arguments": '{"q":"y"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "tool", "tool_call_id": "c2", "content": "not found"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c3", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c3", "content": ""},
]


Create = Callable[[AsyncCompletions], Awaitable[openai.AsyncStream[ChatCompletionChunk]]]


async def sent(prompt: Prompt, options: dict[str, Any], create: Create) -> tuple[Request, Request]:
    """What we send, and what the SDK does."""
    async with both(answer(OPENAI / "text.response.txt"), **options) as (model, sdk, server):
        assert [chunk async for chunk in model.stream(prompt)]
        async for _ in await create(sdk.chat.completions):
            pass

    return server.requests[0], server.requests[1]


async def test_a_conversation_is_written_as_the_sdk_writes_it() -> None:
    mine, its = await sent(
        Prompt(CONVERSATION),
        {},
        lambda completions: completions.create(
            model="m", messages=THEIR_CONVERSATION, stream=True, stream_options={"include_usage": True}
        ),
    )

    assert mine.json == its.json


async def test_tools_and_parameters_are_written_as_the_sdk_writes_them() -> None:
    mine, its = await sent(
        Prompt(
            (user("Hi"),),
            (SEARCH, SEARCH),
            Parameters(model="o", temperature=0, max_tokens=9, stop=("a", "b"), tool_choice=NamedTool("search")),
        ),
        {
            "client_models": ["*"],
            "max_tokens_field": "max_completion_tokens",
            "include_usage": False,
            "extra": {"seed": 7},
        },
        lambda completions: completions.create(
            model="o",
            messages=HI,
            stream=True,
            tools=[THEIR_SEARCH, THEIR_SEARCH],
            tool_choice={"type": "function", "function": {"name": "search"}},
            temperature=0,
            max_completion_tokens=9,
            stop=["a", "b"],
            seed=7,
        ),
    )

    assert mine.json == its.json


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
async def test_a_choice_of_tools_is_written_as_the_sdk_writes_it(choice: Any) -> None:
    mine, its = await sent(
        Prompt((user("Hi"),), (SEARCH,), Parameters(max_tokens=1, tool_choice=choice)),
        {"include_usage": False},
        lambda completions: completions.create(
            model="m", messages=HI, stream=True, tools=[THEIR_SEARCH], tool_choice=choice, max_tokens=1
        ),
    )

    assert mine.json == its.json


async def test_address_and_key_are_sent_as_the_sdk_sends_them() -> None:
    mine, its = await sent(
        Prompt((user("Hi"),)), {}, lambda completions: completions.create(model="m", messages=HI, stream=True)
    )

    assert mine.line == its.line
    for name in ("host", "authorization", "content-type"):
        assert mine.header(name) == its.header(name)
