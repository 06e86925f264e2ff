"""Answers that grow: their bytes, those who go away, those who stop reading, and many at once."""

import asyncio
import json
import re
import socket
import struct
from collections.abc import AsyncIterator
from itertools import count
from typing import Any, NoReturn

import httpx2
import pytest

from rightseat.core.ask import Ask
from rightseat.core.errors import ModelUnreachable
from rightseat.core.hooks import Hooks
from rightseat.core.model import Chunk, Prompt, TextChunk
from rightseat.logs.memory import MemoryLog
from rightseat.logs.run_buffer import MAX_READER_LAG
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, says
from tests.conditions import Paced, until
from tests.conftest import Serve
from tests.faces.copilotkit import recorded, urql
from tests.faces.copilotkit.serving import Way, app, chat, connected, http, post, read_chunks, runtime

VARYING = re.compile(rb'msg_[0-9a-f]{32}|(?<="createdAt":")[^"]+')


@pytest.fixture(params=["ours", "somebody's"])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


class Prompted:
    """A model that says a word whenever it is told to, and knows when it was cut short."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.asked = asyncio.Event()
        self.closed = asyncio.Event()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.asked.set()
        try:
            while (word := await self.words.get()) is not None:
                yield TextChunk(word)
        finally:
            self.closed.set()


class Endless:
    """A model that never stops, and counts what was taken from it."""

    def __init__(self, piece: str) -> None:
        self.piece = piece
        self.taken = 0
        self.went_on = asyncio.Event()
        self.closed = asyncio.Event()

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        try:
            async for _ in Paced(count()):
                self.taken += 1
                self.went_on.set()
                yield TextChunk(self.piece)
        finally:
            self.closed.set()

    async def pauses(self) -> None:
        """Wait until nothing has been taken for a while."""
        while True:
            self.went_on.clear()
            try:
                async with asyncio.timeout(0.25):
                    await self.went_on.wait()
            except TimeoutError:
                return


def request(question: str = "Hi", **headers: str) -> bytes:
    return http(json.dumps(chat(question, thread="t-1")).encode(), **headers)


async def read_until(reader: asyncio.StreamReader, wanted: bytes) -> None:
    async with asyncio.timeout(30):
        await reader.readuntil(wanted)


# Bytes


def part(payload: bytes) -> bytes:
    head = b"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(payload)
    return head + payload + b"\r\n---"


FIRST = (
    b'{"data":{"generateCopilotResponse":{"threadId":"t-1","runId":null,"extensions":null,"messages":[],'
    b'"metaEvents":[],"__typename":"CopilotResponse"}},"hasNext":true}'
)
MESSAGE = (
    b'{"items":[{"__typename":"TextMessageOutput","id":"ID","createdAt":"ID","content":[],"role":"assistant",'
    b'"parentMessageId":null}],"path":["generateCopilotResponse","messages",0]}'
)
WORDS = b'{"items":["Hel","lo"],"path":["generateCopilotResponse","messages",0,"content",0]}'
SPLIT_WORDS = (
    b'{"items":["Hel"],"path":["generateCopilotResponse","messages",0,"content",0]},'
    b'{"items":["lo"],"path":["generateCopilotResponse","messages",0,"content",1]}'
)
"""As a server sends them that has time between the two chunks."""
STATUS = (
    b'{"data":{"status":{"code":"Success","__typename":"SuccessMessageStatus"},"__typename":"TextMessageOutput"},'
    b'"path":["generateCopilotResponse","messages",0]}'
)
END = (
    b'{"data":{"status":{"code":"Success","__typename":"SuccessResponseStatus"},"__typename":"CopilotResponse"},'
    b'"path":["generateCopilotResponse"]}'
)


async def test_parts_are_framed_to_the_byte(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/copilotkit", json=chat(thread="t-1"), headers={"accept": recorded.ACCEPT})

    assert answer.headers["content-type"] == 'multipart/mixed; boundary="-"'
    assert answer.headers["cache-control"] == "no-cache"
    assert "content-length" not in answer.headers
    assert answer.content.startswith(b"\r\n---" + part(FIRST))
    assert answer.content.endswith(b'"hasNext":false}\r\n-----\r\n')
    patches = b",".join(
        payload[len(b'{"incremental":[') : payload.rindex(b'],"hasNext"')]
        for payload in re.findall(rb"\{\"incremental.*\}(?=\r\n)", answer.content)
    )
    forms = [b",".join([MESSAGE, words, STATUS, END]) for words in (WORDS, SPLIT_WORDS)]
    assert VARYING.sub(b"ID", patches) in forms
    assert urql.parts(answer.content)  # every length and every boundary is right


async def test_events_carry_the_same_payloads(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url:
        answer = await post(url, chat(thread="t-1"), accept="text/event-stream")

    assert answer.headers["content-type"] == "text/event-stream"
    comment, *events, complete, rest = answer.content.split(b"\n\n")
    assert (comment, complete, rest) == (b":", b"event: complete\ndata:", b"")
    assert events[0] == b"event: next\ndata: " + FIRST
    payloads = [json.loads(event.removeprefix(b"event: next\ndata: ")) for event in events]
    assert urql.merge(payloads)["generateCopilotResponse"]["messages"][0]["content"] == ["Hel", "lo"]
    assert [payload["hasNext"] for payload in payloads] == [True] * (len(payloads) - 1) + [False]


async def test_a_request_as_a_real_client_sent_it(serve: Serve, way: Way) -> None:
    sent = (recorded.FOLDER / "plain-chat.request.txt").read_bytes()

    async with serve(app(runtime(), way, path="/plain")) as url, connected(url) as (reader, writer):
        writer.write(sent)
        async with asyncio.timeout(30):
            answer = b"".join([chunk async for chunk in read_chunks(reader)])

    response = urql.merge(urql.parts(answer))["generateCopilotResponse"]
    assert response["threadId"] == "11111111-1111-4111-8111-111111111111"
    assert response["messages"][0]["content"] == ["Hel", "lo"]


async def test_a_delta_is_sent_at_once_with_the_boundary_after_it(serve: Serve, way: Way) -> None:
    model = Prompted()

    async with serve(app(runtime(model), way)) as url, connected(url) as (reader, writer), asyncio.timeout(30):
        writer.write(request())
        chunks = read_chunks(reader)
        assert await anext(chunks) == b"\r\n---" + part(FIRST)
        for number, word in enumerate(["Hel", "lo", "!"]):
            await model.words.put(word)
            seen = b""
            while not seen.endswith(b'"content",%d]}],"hasNext":true}\r\n---' % number):
                seen += await anext(chunks)
            assert b'{"items":["%b"]' % word.encode() in seen
        await model.words.put(None)
        rest = b"".join([chunk async for chunk in chunks])

    assert rest.endswith(b'"hasNext":false}\r\n-----\r\n')


async def test_a_connection_can_be_used_again(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, connected(url) as (reader, writer), asyncio.timeout(30):
        for _ in range(3):
            writer.write(request())
            answer = b"".join([chunk async for chunk in read_chunks(reader)])
            assert urql.parts(answer)


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream", "application/json"])
async def test_a_model_failure_during_streaming_is_reported_in_every_form(serve: Serve, way: Way, accept: str) -> None:
    model = ScriptedModel([[TextChunk("Hel"), ModelUnreachable("The model hung up.")]])

    async with serve(app(runtime(model), way)) as url:
        answer = await post(url, chat(), accept=accept)

    assert answer.status_code == 200
    assert "The model hung up." in answer.text
    assert "NETWORK_ERROR" in answer.text
    assert "FailedMessageStatus" in answer.text


class Losing(MemoryThreads):
    """Threads on a store that is lost: nothing can be begun."""

    async def claim(
        self, ask: object, *, again: bool = False, artifact: object = None, needs_slot: bool = False
    ) -> NoReturn:
        raise RuntimeError("no store")


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
async def test_a_run_that_cannot_start_is_reported(serve: Serve, way: Way, accept: str) -> None:
    async with serve(app(runtime(threads=Losing()), way)) as url:
        answer = await post(url, chat(), accept=accept)

    assert "Something went wrong on the server" in answer.json()["errors"][0]["message"]
    assert answer.json()["data"] is None


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
async def test_a_run_that_stops_without_a_final_event_is_ended_for_the_client(
    serve: Serve, way: Way, accept: str
) -> None:
    """As when another process takes the run over, and dies."""
    model, log, runs = Prompted(), MemoryLog(), list[str]()

    async def remember(ask: Ask) -> None:
        runs.append(ask.run_id)

    served = runtime(model, log=log, hooks=Hooks(before_request=[remember]))
    async with serve(app(served, way)) as url, asyncio.timeout(30):
        asking = asyncio.create_task(post(url, chat(), accept=accept))
        await model.words.put("Hel")
        await model.asked.wait()
        async with log.open(runs[0], epoch=1000):
            pass
        answer = await asking
        await model.words.put(None)

    response = answer.json()["data"] if accept == "application/json" else urql.merge(urql.parts(answer.content))
    status = response["generateCopilotResponse"]["status"]
    assert status["details"]["description"].startswith("Something went wrong on the server.")
    assert all(one["status"]["code"] == "Failed" for one in response["generateCopilotResponse"]["messages"])


# Those who go away


def reset(writer: asyncio.StreamWriter) -> None:
    """Cut the line: the other side gets a reset, not an end."""
    line: socket.socket = writer.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@pytest.mark.parametrize("accept", ["*/*", "text/event-stream", "application/json"])
@pytest.mark.parametrize("leave", [asyncio.StreamWriter.close, reset])
async def test_a_client_that_goes_away_ends_its_run(serve: Serve, way: Way, accept: str, leave: Any) -> None:
    model = Prompted()

    async with serve(app(runtime(model), way)) as url, connected(url) as (reader, writer):
        writer.write(request(accept=accept))
        await model.words.put("Hel")
        if accept == "application/json":
            async with asyncio.timeout(30):
                await model.asked.wait()
        else:
            await read_until(reader, b'"items":["Hel"]')
        leave(writer)
        async with asyncio.timeout(0.5):
            await model.closed.wait()


async def test_a_client_that_goes_away_while_its_model_pours_ends_its_run(serve: Serve, way: Way) -> None:
    model = Endless("x" * 100)

    async with serve(app(runtime(model), way)) as url, connected(url) as (reader, writer):
        writer.write(request())
        await read_until(reader, b'"items":["xxx')
        reset(writer)
        async with asyncio.timeout(0.5):
            await model.closed.wait()


async def test_a_client_that_goes_away_without_having_read_ends_its_run(serve: Serve, way: Way) -> None:
    model = Endless("x" * 10_000)

    async with serve(app(runtime(model), way)) as url, connected(url, limit=1) as (_, writer):
        writer.write(request())
        async with asyncio.timeout(60):
            await model.pauses()
        reset(writer)
        async with asyncio.timeout(0.5):
            await model.closed.wait()


async def test_the_end_of_one_client_is_not_the_end_of_another(serve: Serve, way: Way) -> None:
    model, other = Prompted(), Prompted()
    models = iter([model, other])

    class Either:
        def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
            return next(models).stream(prompt)

    async with serve(app(runtime(Either()), way)) as url, connected(url) as (reader, writer), asyncio.timeout(30):
        writer.write(request())
        await model.words.put("Hel")
        await read_until(reader, b'"items":["Hel"]')
        staying = asyncio.create_task(post(url, chat()))
        await other.asked.wait()
        reset(writer)
        await model.closed.wait()
        for word in ("Hi", None):
            await other.words.put(word)
        answer = await staying

    assert urql.merge(urql.parts(answer.content))["generateCopilotResponse"]["messages"][0]["content"] == ["Hi"]


# Those who stop reading


async def test_a_client_that_stops_reading_pauses_its_own_model_only(serve: Serve, way: Way) -> None:
    endless = Endless("x" * 10_000)
    stuck = True

    class Either:
        def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
            model = endless if prompt.messages[-1].text == "More!" else ScriptedModel([says("Hi")])
            return model.stream(prompt)

    async with serve(app(runtime(Either()), way)) as url, connected(url, limit=1) as (reader, writer):
        writer.write(request("More!"))
        async with asyncio.timeout(60):
            await until(lambda: endless.taken > MAX_READER_LAG)
            await endless.pauses()
            taken = endless.taken
            for _ in range(5):
                other = await post(url, chat())
                assert "SuccessResponseStatus" in other.text
            assert endless.taken == taken

            endless.went_on.clear()
            while not endless.went_on.is_set():  # it goes on where the reader does
                stuck = not await reader.read(2**16)

    assert not stuck
    assert taken * len(endless.piece) < 16 * 2**20  # what the two kernels hold, and little more
    assert taken > MAX_READER_LAG


# Many at once


async def test_many_answers_at_once_stay_apart(serve: Serve, way: Way) -> None:
    model = ScriptedModel(lambda prompt: says(*(f"{prompt.messages[-1].text}:{number} " for number in range(50))))

    async def ask(client: httpx2.AsyncClient, name: str) -> None:
        answer = await client.post("/copilotkit", json=chat(name, thread=name), headers={"accept": recorded.ACCEPT})
        response = urql.merge(urql.parts(answer.content))["generateCopilotResponse"]
        assert response["threadId"] == name
        (message,) = response["messages"]
        assert "".join(message["content"]) == "".join(f"{name}:{number} " for number in range(50))
        assert response["status"]["code"] == "Success"

    async with serve(app(runtime(model), way)) as url, asyncio.timeout(30):
        client = httpx2.AsyncClient(base_url=url, limits=httpx2.Limits(max_connections=None))
        async with client, asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(ask(client, f"client{number}"))
