"""Every kind of model against a server that keeps its answer alive without saying anything, or that never ends it.

The servers play bytes on a real socket, so these bounds hold whatever the HTTP client below the models is. Server and
model share a clock that stands still while the machine has no time for them.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any, cast

import httpx2
import pytest
from langchain_openai import ChatOpenAI

from rightseat.concurrency import aclosing
from rightseat.core.errors import ModelTimeout, ModelUnreachable, TooManyToolCalls
from rightseat.core.events import Event, ToolCallStarted
from rightseat.core.model import Model, NoteChunk, TextChunk
from rightseat.core.stream.framer import MAX_CALLS_PER_RESPONSE, frame
from rightseat.egress.deadlines import Timeouts
from rightseat.models.anthropic import Anthropic
from rightseat.models.completion import Options as CompletionOptions
from rightseat.models.completion import build as build_completion
from rightseat.models.fallback import Fallback
from rightseat.models.fallback import Options as FallbackOptions
from rightseat.models.google import Google
from rightseat.models.langchain.model import LangChain
from rightseat.models.openai import OpenAI
from rightseat.wire import eventstream
from rightseat.wire.lines import MAX_LINE_BYTES
from tests.conditions import Paced, settle, until
from tests.models.asking import PROMPT, failure_of
from tests.steady_clock import SteadyLoop, advance_clock
from tests.tcp import Server, Visit, playing
from tests.wire.test_eventstream import chunk as framed

BRIEF = 0.3  # seconds
OFTEN = 0.02
LONG = 60.0


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": SteadyLoop}


@dataclass(frozen=True)
class Provider:
    """How a server of this kind writes a comment, a chunk without content, and a word."""

    make: Callable[[str, Timeouts], Any]
    comment: bytes
    empty: bytes
    word: bytes
    media_type: bytes = b"text/event-stream"


def event(value: object) -> bytes:
    return b"data: %b\n\n" % json.dumps(value).encode()


def choice(delta: dict[str, object]) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta}]})


def claude(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def gemini(text: str) -> bytes:
    return event({"candidates": [{"content": {"parts": [{"text": text}]}}]})


def options_of(timeouts: Timeouts) -> dict[str, Any]:
    return {"timeout": timeouts.silence, "total_timeout": timeouts.answer}


def make_openai(url: str, timeouts: Timeouts) -> OpenAI:
    return OpenAI("m", base_url=url, **options_of(timeouts))


def make_anthropic(url: str, timeouts: Timeouts) -> Anthropic:
    return Anthropic("m", base_url=url, **options_of(timeouts))


def make_bedrock(url: str, timeouts: Timeouts) -> Anthropic:
    keys = {"access_key_id": "a", "secret_access_key": "b"}
    given = options_of(timeouts)
    return Anthropic("m", platform="bedrock-runtime", region="r", base_url=url, aws=keys, **given)


def make_google(url: str, timeouts: Timeouts) -> Google:
    return Google("m", base_url=url, **options_of(timeouts))


@asynccontextmanager
async def make_langchain(url: str, timeouts: Timeouts) -> AsyncIterator[Model]:
    async with httpx2.AsyncClient() as client:
        given = {"base_url": url, "api_key": "sk-0123456789", "max_retries": 0, "http_async_client": client}
        yield LangChain(ChatOpenAI(model="m", **cast(Any, given)), timeouts=timeouts, name="m")


@asynccontextmanager
async def make_fallback(url: str, timeouts: Timeouts) -> AsyncIterator[Model]:
    async with make_openai(url, timeouts) as model:
        yield Fallback(FallbackOptions(models=("only",), retries=0), {"only": model})


def make_completion(backend: str) -> Callable[[str, Timeouts], Any]:
    def make(url: str, timeouts: Timeouts) -> Any:
        named = {} if backend == "llama_cpp" else {"model": "m"}
        given = {"type": backend, "url": url, **named, **options_of(timeouts)}
        return build_completion(CompletionOptions.model_validate({"backend": given}))

    return make


COMMENT = b": still here\n\n"
PROVIDERS = {
    "openai": Provider(make_openai, COMMENT, choice({"content": ""}), choice({"content": "word "})),
    "openai, calls": Provider(
        make_openai, COMMENT, choice({"tool_calls": [{"index": 0, "id": "c"}]}), choice({"content": "word "})
    ),
    "anthropic": Provider(make_anthropic, event({"type": "ping"}), event(claude("")), event(claude("word "))),
    "bedrock": Provider(
        make_bedrock,
        framed(b'{"type": "ping"}'),
        framed(json.dumps(claude("")).encode()),
        framed(json.dumps(claude("word ")).encode()),
        eventstream.MEDIA_TYPE.encode(),
    ),
    "google": Provider(make_google, COMMENT, gemini(""), gemini("word ")),
    "langchain": Provider(make_langchain, COMMENT, choice({"content": ""}), choice({"content": "word "})),
    "fallback": Provider(make_fallback, COMMENT, choice({"content": ""}), choice({"content": "word "})),
    "llama_cpp": Provider(
        make_completion("llama_cpp"), COMMENT, event({"content": ""}), event({"content": "word ", "stop": False})
    ),
    "vllm": Provider(
        make_completion("vllm"), COMMENT, event({"choices": [{"text": ""}]}), event({"choices": [{"text": "word "}]})
    ),
}


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


@asynccontextmanager
async def asking(
    provider: Provider, pieces: Iterator[bytes], timeouts: Timeouts, every: float = OFTEN
) -> AsyncIterator[tuple[Model, Server]]:
    """A model whose server sends these pieces, one every so many seconds, and then nothing."""

    async def script(visit: Visit) -> None:
        while "generate" not in (path := (await visit.request()).line.split()[1]) and path in QUESTIONS:
            body = json.dumps(QUESTIONS[path]).encode()
            await visit.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await visit.send(b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n\r\n" % provider.media_type)
        async for piece in Paced(pieces, every):
            await visit.send(piece)
        await visit.gone()

    async with playing(script) as server, asyncio.timeout(60), provider.make(server.url, timeouts) as model:
        yield model, server


QUESTIONS: dict[str, object] = {
    "/props": {},
    "/tokenize": {"tokens": []},
    "/v1/models": {"data": [{"id": "m"}]},
    "/get_model_info": {},
    "/model_info": {},
    "/get_server_info": {},
    "/server_info": {},
    "/api/show": {},
}


async def test_a_server_that_only_sends_comments_is_silent(provider: Provider) -> None:
    async with asking(provider, repeat(provider.comment), Timeouts(BRIEF, LONG)) as (model, server):
        chunks, error = await failure_of(model)
        await server.visits[-1].gone()

    assert [chunk for chunk in chunks if not isinstance(chunk, NoteChunk)] in ([], [TextChunk("")])
    assert isinstance(error, ModelTimeout)
    assert f"sent no content for {BRIEF:g} s" in error.message
    assert "`timeout`" in error.message


async def test_a_server_that_only_sends_empty_chunks_is_silent(provider: Provider) -> None:
    async with asking(provider, repeat(provider.empty), Timeouts(BRIEF, LONG)) as (model, _):
        _, error = await failure_of(model)

    assert isinstance(error, ModelTimeout)
    assert f"sent no content for {BRIEF:g} s" in error.message


async def test_a_server_that_stops_in_the_middle_is_silent(provider: Provider) -> None:
    async with asking(provider, iter([provider.word]), Timeouts(BRIEF, LONG)) as (model, _):
        chunks, error = await failure_of(model)

    assert any(isinstance(chunk, TextChunk) and "word" in chunk.text for chunk in chunks)
    assert isinstance(error, ModelTimeout)


async def test_a_response_without_an_end_is_ended_and_its_text_stays(provider: Provider) -> None:
    async with asking(provider, repeat(provider.word), Timeouts(LONG, BRIEF)) as (model, server):
        chunks, error = await failure_of(model)
        await server.visits[-1].gone()

    assert any(isinstance(chunk, TextChunk) and "word" in chunk.text for chunk in chunks)
    assert isinstance(error, ModelTimeout)
    assert f"did not finish its response within {BRIEF:g} s" in error.message
    assert "`total_timeout`" in error.message


async def test_the_error_names_model_and_address_and_no_credentials() -> None:
    def make(url: str, timeouts: Timeouts) -> OpenAI:
        return OpenAI("gpt-x", base_url=f"{url}/v1?key=hidden-123", api_key="sk-hidden-123", **options_of(timeouts))

    hidden = Provider(make, COMMENT, b"", b"")
    async with asking(hidden, repeat(COMMENT), Timeouts(BRIEF, LONG)) as (model, server):
        _, error = await failure_of(model)

    assert f"The model 'gpt-x' at {server.url}/v1 sent" in error.message
    assert "hidden" not in error.message


async def test_a_slow_response_with_content_is_not_ended() -> None:
    words = [PROVIDERS["openai"].word] * 25
    end = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with asking(PROVIDERS["openai"], iter([*words, end]), Timeouts(BRIEF, LONG)) as (model, _):
        chunks = [chunk async for chunk in model.stream(PROMPT)]

    assert chunks.count(TextChunk("word ")) == 25


async def test_a_backend_that_reports_its_progress_with_a_long_prompt_is_not_silent() -> None:
    progress = event({"content": "", "stop": False, "prompt_progress": {"total": 9000, "cache": 0, "processed": 512}})
    end = event({"content": "word", "stop": False}) + event({"content": "", "stop": True, "stop_type": "eos"})
    async with asking(PROVIDERS["llama_cpp"], iter([*[progress] * 25, end]), Timeouts(BRIEF, LONG)) as (model, _):
        chunks = [chunk async for chunk in model.stream(PROMPT)]

    assert [chunk for chunk in chunks if isinstance(chunk, TextChunk)] == [TextChunk("word")]


async def test_time_in_which_the_reader_is_slow_is_no_silence() -> None:
    end = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    words = [PROVIDERS["openai"].word, PROVIDERS["openai"].word, end]
    said = []
    async with asking(PROVIDERS["openai"], iter(words), Timeouts(BRIEF, LONG)) as (model, _):
        async for chunk in model.stream(PROMPT):
            said.append(chunk)
            advance_clock(2 * BRIEF)  # it is the client that is slow
            await settle()

    assert said.count(TextChunk("word ")) == 2


async def test_a_reader_that_is_cancelled_stays_cancelled(provider: Provider) -> None:
    async with asking(provider, repeat(provider.comment), Timeouts(LONG, LONG)) as (model, server):
        reading = asyncio.create_task(failure_of(model))
        await until(lambda: server.requests)
        reading.cancel()

        with pytest.raises(asyncio.CancelledError):
            await reading


async def gather(model: Model, events: list[Event]) -> None:
    async with aclosing(frame(model.stream(PROMPT))) as said:
        async for one in said:
            events.append(one)  # noqa: PERF401  # what came before an error is wanted


def line_without_end() -> Iterator[bytes]:
    yield b'data: {"choices":[{"delta":{"content":"'
    yield from repeat(b"a" * 65536)


@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "llama_cpp"])
async def test_a_line_without_an_end_ends_the_answer(name: str) -> None:
    sent = 0

    def counted() -> Iterator[bytes]:
        nonlocal sent
        for piece in line_without_end():
            sent += len(piece)
            yield piece

    async with asking(PROVIDERS[name], counted(), Timeouts(LONG, LONG), every=0) as (model, server):
        _, error = await failure_of(model)
        await server.visits[-1].gone()

    assert isinstance(error, ModelUnreachable)
    assert "a line of the stream is longer than 4 MB" in error.message
    assert sent < 3 * MAX_LINE_BYTES


async def test_a_frame_that_is_too_large_ends_the_answer() -> None:
    large = framed(b'{"type": "ping", "x": "%b"}' % (b"a" * MAX_LINE_BYTES))
    async with asking(PROVIDERS["bedrock"], iter([large]), Timeouts(LONG, LONG), every=0) as (model, _):
        _, error = await failure_of(model)

    assert "a frame of the stream is longer than 4 MB" in error.message


async def test_an_event_of_many_lines_ends_the_answer() -> None:
    lines = repeat(b"data: %b\n" % (b"a" * 65536))
    async with asking(PROVIDERS["openai"], lines, Timeouts(LONG, LONG), every=0) as (model, _):
        _, error = await failure_of(model)

    assert "an event of the stream is longer than 4 MB" in error.message


async def test_calls_without_end_are_cut_off_and_none_is_whole() -> None:
    def calls() -> Iterator[bytes]:
        for number in range(100_000):
            function = {"name": "t", "arguments": "{}"}
            yield choice({"tool_calls": [{"index": number, "id": f"c{number}", "function": function}]})

    events: list[Event] = []
    async with asking(PROVIDERS["openai"], calls(), Timeouts(LONG, LONG), every=0) as (model, _):
        with pytest.raises(TooManyToolCalls):
            await gather(model, events)

    assert sum(isinstance(one, ToolCallStarted) for one in events) == MAX_CALLS_PER_RESPONSE
