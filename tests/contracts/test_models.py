"""What every model promises (`core.model`). A new model is added to the fixture, and held to all of it.

A parameter of the fixture is a function that takes an answer (`rightseat.testing.Answer`), lets a server say exactly
that in the provider's own protocol, and gives a model that asks this server. An exception in the answer is a server
that refuses (as the first thing) or breaks off (after something).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast, get_args

import httpx2
import pytest
from langchain_openai import ChatOpenAI

from rightseat.core.errors import ModelBusy, ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.events import ModelResponseEnded, TextDelta, ToolCallDelta, ToolCallStarted, Usage
from rightseat.core.messages import user
from rightseat.core.model import (
    CallChunk,
    Chunk,
    Model,
    NoteChunk,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from rightseat.core.stream.framer import frame
from rightseat.core.tools import Tool
from rightseat.models.anthropic import Anthropic
from rightseat.models.completion.backends import LlamaCpp
from rightseat.models.completion.model import Completion
from rightseat.models.fallback import Fallback
from rightseat.models.fallback import Options as FallbackOptions
from rightseat.models.google import Google
from rightseat.models.langchain.model import LangChain
from rightseat.models.openai import OpenAI
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from rightseat.wire import eventstream
from tests.tcp import Server, Visit, chunked, playing
from tests.wire.test_eventstream import chunk as framed


@dataclass
class Subject:
    """A model, and a wait that is over once it holds no connection to its server open.

    `has_ids`: its server names calls; where it does not, ids are made up.
    """

    model: Model
    released: Callable[[], Awaitable[None]]
    has_ids: bool = True


Play = Callable[[ScriptedResponse], AbstractAsyncContextManager[Subject]]


@pytest.fixture(
    params=[
        "scripted",
        "openai",
        "responses",
        "anthropic",
        "bedrock",
        "google",
        "langchain",
        "fallback",
        "completion",
    ]
)
def play(request: pytest.FixtureRequest) -> Play:
    found: Play = globals()[f"play_{request.param}"]
    return found


@asynccontextmanager
async def play_scripted(answer: ScriptedResponse) -> AsyncIterator[Subject]:
    async def released() -> None:
        """It never holds any."""

    yield Subject(ScriptedModel([answer]), released)


Events = Iterator[bytes | Exception]
"""What a server sends, each an event with all its lines; an exception where it breaks off."""


@asynccontextmanager
async def serving(
    answer: ScriptedResponse,
    write: Callable[[ScriptedResponse], Events],
    per_segment: int | None = None,
    media_type: str = "text/event-stream",
) -> AsyncIterator[Server]:
    """A provider that says `answer` to every request, as `write` puts it, in segments of so many bytes."""

    async def script(visit: Visit) -> None:
        await visit.request()
        while await say(visit):
            await visit.request()

    async def say(visit: Visit) -> bool:
        """Whether it came to the end."""
        if isinstance(answer[0], ModelRefusedKey | ModelBusy | ModelRefused | ModelUnreachable):
            return await fail(visit, answer[0])
        head = b"content-type: %b\r\ntransfer-encoding: chunked\r\n" % media_type.encode()
        await visit.send(b"HTTP/1.1 200 OK\r\n%b\r\n" % head)
        for event in write(answer):
            if isinstance(event, Exception):
                return False
            size = per_segment or len(event)
            for piece in (event[at : at + size] for at in range(0, len(event), size)):
                await visit.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await visit.send(b"0\r\n\r\n")
        return True

    async with playing(script) as server:
        yield server


async def fail(visit: Visit, error: ModelError) -> bool:
    """Send the failure that an answer begins with. Whether the connection stays open."""
    match error:
        case ModelRefusedKey():
            status = 401
        case ModelBusy():
            status = 429
        case ModelRefused(upstream_status=int(status)):
            pass
        case _:
            return False
    await visit.send(b"HTTP/1.1 %d Refused\r\ncontent-length: 0\r\n\r\n" % status)
    return True


def event_of(value: object, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: %b\n\n" % json.dumps(value).encode()


@asynccontextmanager
async def play_openai(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    async with (
        serving(answer, as_openai, per_segment) as server,
        OpenAI("m", base_url=server.url) as model,
    ):
        yield Subject(model, lambda: server.visits[-1].gone())


@asynccontextmanager
async def play_responses(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    """OpenAI's Responses API."""
    async with (
        serving(answer, as_responses, per_segment) as server,
        OpenAI("m", base_url=server.url, api="responses") as model,
    ):
        yield Subject(model, lambda: server.visits[-1].gone())


@asynccontextmanager
async def play_langchain(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    """LangChain's own model for OpenAI's wire."""
    if any(isinstance(chunk, ReasoningChunk) for chunk in answer):
        pytest.skip("this model of LangChain's reads no thoughts")
    async with serving(answer, as_openai, per_segment) as server, httpx2.AsyncClient() as client:
        given = {"base_url": server.url, "api_key": "sk-0123456789", "max_retries": 0, "http_async_client": client}
        yield Subject(
            LangChain(ChatOpenAI(model="m", stream_usage=True, **cast(Any, given))), lambda: server.visits[-1].gone()
        )


@asynccontextmanager
async def play_fallback(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    """Whose first model is down."""
    async with (
        serving([ModelUnreachable("down")], as_openai) as down,
        serving(answer, as_openai, per_segment) as server,
        OpenAI("m", base_url=down.url) as first,
        OpenAI("m", base_url=server.url) as second,
    ):
        model = Fallback(FallbackOptions(models=("first", "second"), retries=0), {"first": first, "second": second})
        yield Subject(model, lambda: server.visits[-1].gone())


def as_openai(answer: ScriptedResponse) -> Events:
    for piece in answer:
        yield piece if isinstance(piece, Exception) else event_of(in_openais_words(piece))
    yield b"data: [DONE]\n\n"


def as_responses(answer: ScriptedResponse) -> Events:
    usage, reason = UsageChunk(0, 0), "stop"
    for piece in answer:
        match piece:
            case Exception():
                yield piece
            case TextChunk(text=text):
                yield response_event("output_text.delta", output_index=0, delta=text)
            case ReasoningChunk(text=text):
                yield response_event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta=text)
            case CallChunk(index=index, arguments=arguments, id=id, name=name):
                if name:
                    item = {"type": "function_call", "call_id": id, "name": name, "arguments": ""}
                    yield response_event("output_item.added", output_index=index + 1, item=item)
                if arguments:
                    yield response_event("function_call_arguments.delta", output_index=index + 1, delta=arguments)
            case UsageChunk():
                usage = piece
            case StopChunk():
                reason = piece.reason
            case NoteChunk():
                pass
    counted = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    cut = {"length": "max_output_tokens", "filtered": "content_filter"}.get(reason)
    response = {"usage": counted, "incomplete_details": {"reason": cut} if cut else None}
    yield response_event("incomplete" if cut else "completed", response=response)


def response_event(kind: str, **fields: Any) -> bytes:
    return event_of({"type": f"response.{kind}", **fields}, f"response.{kind}")


@asynccontextmanager
async def play_anthropic(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    async with (
        serving(answer, as_anthropic, per_segment) as server,
        Anthropic("m", base_url=server.url) as model,
    ):
        yield Subject(model, lambda: server.visits[-1].gone())


@asynccontextmanager
async def play_bedrock(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    """The same events, in AWS's frames."""
    keys = {"access_key_id": "a", "secret_access_key": "b"}
    async with (
        serving(answer, as_bedrock, per_segment, eventstream.MEDIA_TYPE) as server,
        Anthropic("m", platform="bedrock-runtime", region="r", base_url=server.url, aws=keys) as model,
    ):
        yield Subject(model, lambda: server.visits[-1].gone())


def as_bedrock(answer: ScriptedResponse) -> Events:
    for event in as_anthropic(answer):
        yield event if isinstance(event, Exception) else framed(event.partition(b"data: ")[2].strip())


def as_anthropic(answer: ScriptedResponse) -> Events:
    """Thoughts are the first block, text the second; each call has one of its own."""
    usage = next((chunk for chunk in answer if isinstance(chunk, UsageChunk)), UsageChunk(1, 1))
    reasons = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "filtered": "refusal"}
    reason = next((chunk.reason for chunk in answer if isinstance(chunk, StopChunk)), "stop")
    yield event_of(
        {"type": "message_start", "message": {"usage": {"input_tokens": usage.input_tokens, "output_tokens": 1}}},
        "message_start",
    )
    for piece in answer:
        match piece:
            case Exception():
                yield piece
            case TextChunk(text=text):
                yield delta_of(1, {"type": "text_delta", "text": text})
            case ReasoningChunk(text=text):
                yield delta_of(0, {"type": "thinking_delta", "thinking": text})
            case CallChunk(index=index, arguments=arguments, id=id, name=name):
                if name:
                    block = {"type": "tool_use", "id": id, "name": name, "input": {}}
                    begun = {"type": "content_block_start", "index": index + 2, "content_block": block}
                    yield event_of(begun, "content_block_start")
                yield delta_of(index + 2, {"type": "input_json_delta", "partial_json": arguments})
            case _:
                pass  # said at the end
    ended = {"delta": {"stop_reason": reasons[reason]}, "usage": {"output_tokens": usage.output_tokens}}
    yield event_of({"type": "message_delta", **ended}, "message_delta")
    yield event_of({"type": "message_stop"}, "message_stop")


def delta_of(index: int, delta: dict[str, str]) -> bytes:
    return event_of({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")


@asynccontextmanager
async def play_google(answer: ScriptedResponse, per_segment: int | None = None) -> AsyncIterator[Subject]:
    async with (
        serving(answer, as_google, per_segment) as server,
        Google("m", base_url=server.url) as model,
    ):
        yield Subject(model, lambda: server.visits[-1].gone())


def as_google(answer: ScriptedResponse) -> Events:
    """Calls come whole, at the end."""
    calls: dict[int, list[str]] = {}
    usage = next((chunk for chunk in answer if isinstance(chunk, UsageChunk)), UsageChunk(1, 1))
    reasons = {"length": "MAX_TOKENS", "filtered": "SAFETY"}
    reason = next((chunk.reason for chunk in answer if isinstance(chunk, StopChunk)), "stop")
    for piece in answer:
        match piece:
            case Exception():
                yield piece
            case TextChunk(text=text):
                yield event_of({"candidates": [{"content": {"parts": [{"text": text}]}}]})
            case ReasoningChunk(text=text):
                yield event_of({"candidates": [{"content": {"parts": [{"text": text, "thought": True}]}}]})
            case CallChunk(index=index, arguments=arguments, id=id, name=name):
                known = calls.setdefault(index, [id, name, ""])
                known[2] += arguments
            case _:
                pass  # said at the end
    parts = [{"functionCall": {"id": id, "name": name, "args": json.loads(said)}} for id, name, said in calls.values()]
    counted = {"promptTokenCount": usage.input_tokens, "candidatesTokenCount": usage.output_tokens}
    last = {"content": {"parts": parts}, "finishReason": reasons.get(reason, "STOP")}
    yield event_of({"candidates": [last], "usageMetadata": counted})


def in_openais_words(chunk: Chunk) -> dict[str, Any]:
    reasons = {"tool_calls": "tool_calls", "filtered": "content_filter"}
    match chunk:
        case TextChunk(text=text):
            return {"choices": [{"index": 0, "delta": {"content": text}}]}
        case ReasoningChunk(text=text):
            return {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}
        case CallChunk(index=index, arguments=arguments, id=id, name=name):
            function = {"name": name or None, "arguments": arguments}
            call = {"index": index, "id": id or None, "function": function}
            return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        case StopChunk(reason=reason):
            return {"choices": [{"index": 0, "delta": {}, "finish_reason": reasons.get(reason, reason)}]}
        case UsageChunk(input_tokens=input_tokens, output_tokens=output_tokens):
            usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
            return {"choices": [], "usage": usage}
        case NoteChunk():
            return {"choices": []}


@asynccontextmanager
async def play_completion(answer: ScriptedResponse) -> AsyncIterator[Subject]:
    """A llama-server whose model speaks as Hermes does."""
    if StopChunk("filtered") in answer:
        pytest.skip("no backend filters what its model says")
    ends = {StopChunk("length"): "limit"}
    usage = next((chunk for chunk in answer if isinstance(chunk, UsageChunk)), UsageChunk(1, 1))
    end = {
        "stop": True,
        "stop_type": next((ends[chunk] for chunk in answer if chunk in ends), "eos"),
        "tokens_evaluated": usage.input_tokens,
        "tokens_predicted": usage.output_tokens,
    }

    async def script(visit: Visit) -> None:
        while True:
            path = (await visit.request()).line.split()[1]
            if path != "/completion":
                known = {"/props": {"chat_template": HERMES}, "/tokenize": {"tokens": []}}
                body = json.dumps(known[path]).encode()
                await visit.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            elif not await say(visit):
                return

    async def say(visit: Visit) -> bool:
        """Whether it came to the end."""
        if isinstance(answer[0], ModelRefusedKey | ModelBusy | ModelRefused | ModelUnreachable):
            return await fail(visit, answer[0])
        await visit.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for text in in_hermes_words(answer):
            if isinstance(text, Exception):
                return False
            event = b"data: %b\n\n" % json.dumps({"content": text, "stop": False}).encode()
            await visit.send(b"%x\r\n%b\r\n" % (len(event), event))
        await visit.send(chunked(b"data: %b\n\n" % json.dumps({"content": "", **end}).encode()))
        return True

    async with playing(script) as server, Completion(LlamaCpp(server.url)) as model:
        yield Subject(model, lambda: server.visits[-1].gone(), has_ids=False)


def in_hermes_words(answer: ScriptedResponse) -> Iterator[str | Exception]:
    """Thoughts and text as they come; calls one after another, for a model has one mouth."""
    calls: dict[int, tuple[str, str]] = {}
    for chunk in answer:
        match chunk:
            case Exception():
                yield chunk
            case TextChunk(text=text):
                yield text
            case ReasoningChunk(text=text):
                yield f"<think>{text}</think>"
            case CallChunk(index=index, arguments=arguments, name=name):
                known = calls.get(index, ("", ""))
                calls[index] = (known[0] + name, known[1] + arguments)
            case _:
                pass  # said at the end
    for name, arguments in calls.values():
        yield f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>\n'


HERMES = "{{ tools }}{% for m in messages %}{{ m.content }}{% endfor %}<tool_call></tool_call>"
TOOLS = (
    Tool("search", "", {"type": "object", "properties": {"q": {"type": "integer"}}}),
    Tool("draw", "", {"type": "object", "properties": {"x": {"type": "integer"}}}),
)
PROMPT = Prompt((user("Hi"),), TOOLS)
LONG = says(*["word "] * 1000)


async def collect(model: Model, into: list[Chunk]) -> None:
    async with asyncio.timeout(30):
        async for chunk in model.stream(PROMPT):
            into.append(chunk)  # noqa: PERF401  # what came before an error is wanted too


async def ask(model: Model) -> list[Chunk]:
    chunks: list[Chunk] = []
    await collect(model, chunks)
    return chunks


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_an_answer_is_made_of_chunks(play: Play) -> None:
    answer: ScriptedResponse = [
        ReasoningChunk("Hm."),
        TextChunk("Hel"),
        TextChunk("lo"),
        StopChunk("stop"),
        UsageChunk(3, 5),
    ]

    async with play(answer) as subject:
        chunks = await ask(subject.model)

    assert all(isinstance(chunk, get_args(Chunk)) for chunk in chunks)
    assert text_of(chunks) == "Hello"
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningChunk)) == "Hm."


@pytest.mark.parametrize("reason", ["stop", "length", "filtered"])
async def test_a_response_has_its_stop_reason_and_its_usage(play: Play, reason: str) -> None:
    stops = {"stop": StopChunk("stop"), "length": StopChunk("length"), "filtered": StopChunk("filtered")}

    async with play([TextChunk("Hi"), stops[reason], UsageChunk(3, 5)]) as subject:
        *_, ended = [event async for event in frame(subject.model.stream(PROMPT))]

    assert ended == ModelResponseEnded(stops[reason].reason, Usage(3, 5))


async def test_parallel_calls_are_distinguished_in_any_order_of_their_chunks(play: Play) -> None:
    answer: ScriptedResponse = [
        CallChunk(0, "", "c1", "search"),
        CallChunk(1, "", "c2", "draw"),
        CallChunk(1, '{"x":'),
        CallChunk(0, '{"q":'),
        CallChunk(1, "2}"),
        CallChunk(0, "1}"),
        StopChunk("tool_calls"),
    ]

    async with play(answer) as subject:
        events = [event async for event in frame(subject.model.stream(PROMPT))]

    started = {event.name: event.call_id for event in events if isinstance(event, ToolCallStarted)}
    assert list(started) == ["search", "draw"]
    assert list(started.values()) == ["c1", "c2"] or not subject.has_ids
    for name, arguments in (("search", '{"q":1}'), ("draw", '{"x":2}')):
        assert (
            "".join(e.text for e in events if isinstance(e, ToolCallDelta) and e.call_id == started[name]) == arguments
        )


@pytest.mark.parametrize("size", [1, 3, 17])
@pytest.mark.parametrize(
    "play", [play_openai, play_responses, play_anthropic, play_bedrock, play_google, play_langchain, play_fallback]
)
async def test_nothing_is_lost_wherever_the_bytes_are_cut(play: Callable[..., Any], size: int) -> None:
    """Letters of several bytes, and names of events, are cut in two."""
    answer: ScriptedResponse = [
        TextChunk("Grüße "),
        TextChunk("👋🏽"),
        CallChunk(0, '{"q":', "c1", "search"),
        CallChunk(0, "1}"),
        StopChunk("tool_calls"),
    ]

    async with play(answer, size) as subject:
        events = [event async for event in frame(subject.model.stream(PROMPT))]

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Grüße 👋🏽"
    assert "".join(event.text for event in events if isinstance(event, ToolCallDelta)) == '{"q":1}'
    assert [event.name for event in events if isinstance(event, ToolCallStarted)] == ["search"]
    assert isinstance(events[-1], ModelResponseEnded)
    assert events[-1].reason == "tool_calls"


async def test_a_model_answers_again_and_several_at_once(play: Play) -> None:
    async with play(LONG) as subject:
        answers = await asyncio.gather(*(ask(subject.model) for _ in range(3)))
        answers.append(await ask(subject.model))

    assert {text_of(chunks) for chunks in answers} == {"word " * 1000}


@pytest.mark.parametrize(
    "refusal",
    [ModelRefusedKey("no such key"), ModelBusy("too many"), ModelRefused("bad", 400), ModelUnreachable("down")],
)
async def test_a_server_that_refuses_is_an_error_of_its_kind(play: Play, refusal: ModelError) -> None:
    chunks: list[Chunk] = []

    async with play([refusal]) as subject:
        with pytest.raises(type(refusal)) as caught:
            await collect(subject.model, chunks)

    assert chunks == []
    if isinstance(refusal, ModelRefused):
        assert isinstance(caught.value, ModelRefused)
        assert caught.value.upstream_status == refusal.upstream_status


async def test_an_interrupted_response_raises_after_its_chunks(play: Play) -> None:
    chunks: list[Chunk] = []

    async with play([TextChunk("Hel"), ModelUnreachable("gone")]) as subject:
        with pytest.raises(ModelUnreachable):
            await collect(subject.model, chunks)

    assert text_of(chunks) == "Hel"


async def test_an_answer_that_is_closed_early_releases_its_connection(play: Play) -> None:
    async with asyncio.timeout(30), play(LONG) as subject:
        async with aclosing(cast(Any, subject.model.stream(PROMPT))) as chunks:
            await anext(chunks)

        await subject.released()


async def test_an_answer_that_is_cancelled_releases_its_connection(play: Play) -> None:
    got_one = asyncio.Event()

    async def read_one_and_stop(model: Model) -> None:
        async for _ in frame(model.stream(PROMPT)):
            got_one.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(30), play(LONG) as subject:
        reading = asyncio.create_task(read_one_and_stop(subject.model))
        await got_one.wait()
        reading.cancel()
        await asyncio.wait((reading,))

        await subject.released()


async def test_an_answer_that_failed_releases_its_connection(play: Play) -> None:
    async with asyncio.timeout(30), play([TextChunk("Hel"), ModelUnreachable("gone")]) as subject:
        with pytest.raises(ModelError):
            await ask(subject.model)

        await subject.released()
