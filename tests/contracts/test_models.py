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

import pytest

from rightseat.core.errors import ModelBusy, ModelError, ModelRefused, ModelRefusedKey, ModelUnreachable
from rightseat.core.events import AnswerEnded, CallDelta, CallStarted, Usage
from rightseat.core.framing import frame
from rightseat.core.messages import user
from rightseat.core.model import (
    CallChunk,
    Chunk,
    Model,
    NoteChunk,
    Prompt,
    StopChunk,
    TextChunk,
    ThoughtChunk,
    UsageChunk,
)
from rightseat.core.tools import Tool
from rightseat.models.completion.engines import LlamaCpp
from rightseat.models.completion.model import Completion
from rightseat.models.openai import OpenAI
from rightseat.testing import Answer, ScriptedModel, says
from tests.tcp import Visit, chunked, playing


@dataclass
class Subject:
    """A model, and a wait that is over once it holds no connection to its server open.

    `has_ids`: its server names calls; where it does not, ids are made up.
    """

    model: Model
    released: Callable[[], Awaitable[None]]
    has_ids: bool = True


Play = Callable[[Answer], AbstractAsyncContextManager[Subject]]


@pytest.fixture(params=["scripted", "openai", "completion"])
def play(request: pytest.FixtureRequest) -> Play:
    match request.param:
        case "scripted":
            return play_scripted
        case "openai":
            return play_openai
        case "completion":
            return play_completion
        case other:
            pytest.fail(f"no such model: {other}")


@asynccontextmanager
async def play_scripted(answer: Answer) -> AsyncIterator[Subject]:
    async def released() -> None:
        """It never holds any."""

    yield Subject(ScriptedModel([answer]), released)


@asynccontextmanager
async def play_openai(answer: Answer) -> AsyncIterator[Subject]:
    async def script(visit: Visit) -> None:
        await visit.request()
        while await say(visit):
            await visit.request()

    async def say(visit: Visit) -> bool:
        """Whether it came to the end."""
        match answer[0]:
            case ModelRefusedKey():
                await visit.send(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
                return True
            case ModelBusy():
                await visit.send(b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n")
                return True
            case ModelRefused(upstream_status=status):
                await visit.send(b"HTTP/1.1 %d Refused\r\ncontent-length: 0\r\n\r\n" % status)
                return True
        for piece in answer:
            if isinstance(piece, Exception):
                return False
            if piece is answer[0]:
                await visit.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            event = b"data: %b\n\n" % json.dumps(in_openais_words(piece)).encode()
            await visit.send(b"%x\r\n%b\r\n" % (len(event), event))
        await visit.send(chunked(b"data: [DONE]\n\n"))
        return True

    async with playing(script) as server, OpenAI("m", base_url=server.url) as model:
        yield Subject(model, lambda: server.visits[-1].gone())


def in_openais_words(chunk: Chunk) -> dict[str, Any]:
    reasons = {"calls": "tool_calls", "filtered": "content_filter"}
    match chunk:
        case TextChunk(text=text):
            return {"choices": [{"index": 0, "delta": {"content": text}}]}
        case ThoughtChunk(text=text):
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
async def play_completion(answer: Answer) -> AsyncIterator[Subject]:
    """A llama-server whose model speaks as Hermes does."""
    if StopChunk("filtered") in answer:
        pytest.skip("no engine filters what its model says")
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
        match answer[0]:
            case ModelRefusedKey():
                await visit.send(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
                return True
            case ModelBusy():
                await visit.send(b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n")
                return True
            case ModelRefused(upstream_status=status):
                await visit.send(b"HTTP/1.1 %d Refused\r\ncontent-length: 0\r\n\r\n" % status)
                return True
            case ModelUnreachable():
                return False
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


def in_hermes_words(answer: Answer) -> Iterator[str | Exception]:
    """Thoughts and text as they come; calls one after another, for a model has one mouth."""
    calls: dict[int, tuple[str, str]] = {}
    for chunk in answer:
        match chunk:
            case Exception():
                yield chunk
            case TextChunk(text=text):
                yield text
            case ThoughtChunk(text=text):
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
    async with asyncio.timeout(5):
        async for chunk in model.stream(PROMPT):
            into.append(chunk)  # noqa: PERF401  # what came before an error is wanted too


async def ask(model: Model) -> list[Chunk]:
    chunks: list[Chunk] = []
    await collect(model, chunks)
    return chunks


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_an_answer_is_made_of_chunks(play: Play) -> None:
    answer: Answer = [ThoughtChunk("Hm."), TextChunk("Hel"), TextChunk("lo"), StopChunk("stop"), UsageChunk(3, 5)]

    async with play(answer) as subject:
        chunks = await ask(subject.model)

    assert all(isinstance(chunk, get_args(Chunk)) for chunk in chunks)
    assert text_of(chunks) == "Hello"
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThoughtChunk)) == "Hm."


@pytest.mark.parametrize("reason", ["stop", "length", "filtered"])
async def test_an_answer_says_why_it_ended_and_what_it_cost(play: Play, reason: str) -> None:
    stops = {"stop": StopChunk("stop"), "length": StopChunk("length"), "filtered": StopChunk("filtered")}

    async with play([TextChunk("Hi"), stops[reason], UsageChunk(3, 5)]) as subject:
        *_, ended = [event async for event in frame(subject.model.stream(PROMPT))]

    assert ended == AnswerEnded(stops[reason].reason, Usage(3, 5))


async def test_calls_side_by_side_are_told_apart_however_their_pieces_come(play: Play) -> None:
    answer: Answer = [
        CallChunk(0, "", "c1", "search"),
        CallChunk(1, "", "c2", "draw"),
        CallChunk(1, '{"x":'),
        CallChunk(0, '{"q":'),
        CallChunk(1, "2}"),
        CallChunk(0, "1}"),
        StopChunk("calls"),
    ]

    async with play(answer) as subject:
        events = [event async for event in frame(subject.model.stream(PROMPT))]

    started = {event.name: event.call_id for event in events if isinstance(event, CallStarted)}
    assert list(started) == ["search", "draw"]
    assert list(started.values()) == ["c1", "c2"] or not subject.has_ids
    for name, arguments in (("search", '{"q":1}'), ("draw", '{"x":2}')):
        assert "".join(e.text for e in events if isinstance(e, CallDelta) and e.call_id == started[name]) == arguments


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


async def test_a_server_that_breaks_off_is_an_error_after_what_it_said(play: Play) -> None:
    chunks: list[Chunk] = []

    async with play([TextChunk("Hel"), ModelUnreachable("gone")]) as subject:
        with pytest.raises(ModelUnreachable):
            await collect(subject.model, chunks)

    assert text_of(chunks) == "Hel"


async def test_an_answer_that_is_closed_early_releases_its_connection(play: Play) -> None:
    async with asyncio.timeout(5), play(LONG) as subject:
        async with aclosing(cast(Any, subject.model.stream(PROMPT))) as chunks:
            await anext(chunks)

        await subject.released()


async def test_an_answer_that_is_cancelled_releases_its_connection(play: Play) -> None:
    got_one = asyncio.Event()

    async def read_one_and_stop(model: Model) -> None:
        async for _ in frame(model.stream(PROMPT)):
            got_one.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(5), play(LONG) as subject:
        reading = asyncio.create_task(read_one_and_stop(subject.model))
        await got_one.wait()
        reading.cancel()
        await asyncio.wait((reading,))

        await subject.released()


async def test_an_answer_that_failed_releases_its_connection(play: Play) -> None:
    async with asyncio.timeout(5), play([TextChunk("Hel"), ModelUnreachable("gone")]) as subject:
        with pytest.raises(ModelError):
            await ask(subject.model)

        await subject.released()
