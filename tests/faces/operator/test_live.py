"""What the event stream of the console writes, and what a chunk costs in it."""

import asyncio
import sys
from types import FrameType
from typing import Any

import httpx2
from starlette.types import Message

from rightseat import app, config
from rightseat.core.events import Event, ReasoningDelta, TextDelta, TextStarted
from rightseat.core.log import Entry
from rightseat.faces._shared.responses import encode
from rightseat.faces._shared.run_response import BATCH_INTERVAL_S, RAW_SEND, WRITE_NOW, ClientStream, Write
from rightseat.faces.operator.live import EntryWriter
from rightseat.wire.agui import AguiEncoder
from tests.conditions import settle
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, Server

THREADS = ["t1", "t2", "t3"]
SCOPE: dict[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "path": "/operator/live",
    "root_path": "",
    "query_string": "&".join(f"thread={name}" for name in THREADS).encode(),
    "headers": [(b"host", b"127.0.0.1")],
    "client": ("127.0.0.1", 1),
    "server": ("127.0.0.1", 80),
}


class PausingClient:
    """A client to which the server can write at once, except that it stops reading again and again."""

    def __init__(self) -> None:
        self.body = b""
        self.writes = {"at once": 0, "later": 0}
        self.received = asyncio.Event()

    def write_now(self, body: bytes) -> bool:
        if sum(self.writes.values()) % 3 == 2:
            return False
        self._receive(body, "at once")
        return True

    async def send(self, message: Message) -> None:
        await settle(5)
        self._receive(message.get("body", b""), "later")

    def _receive(self, body: bytes, when: str) -> None:
        self.body += body
        self.writes[when] += 1
        self.received.set()

    async def until_count(self, part: bytes, count: int) -> None:
        async with asyncio.timeout(30):
            while self.body.count(part) < count:
                self.received.clear()
                await self.received.wait()

    def entries(self, run: str) -> list[str]:
        prefix = f"id: {run}/"
        return [line.removeprefix(prefix) for line in self.body.decode().split("\n") if line.startswith(prefix)]


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_client_that_stops_reading_now_and_then_receives_every_entry_once_and_in_order(serve: Serve) -> None:
    found = config.parse(CONFIGURATION.replace("chunk_delay: 0}", "chunk_delay: 0.003}"), environ={})
    assembly = app.assemble(found)
    application = app.application(assembly, found.server)
    client = PausingClient()
    async with serve(application) as url, httpx2.AsyncClient(base_url=url) as http:
        scope = {**SCOPE, WRITE_NOW: client.write_now}
        stream = asyncio.create_task(application(scope, never, client.send))
        await client.until_count(b"event: caught_up", len(THREADS))
        runs: list[str] = []
        async with asyncio.timeout(60):
            while min(client.writes.values()) <= 10:  # on a busy machine nearly all are written later
                runs += [await Server(assembly, http).start("Tell me a long story", thread=name) for name in THREADS]
                await client.until_count(b'"type":"RunFinished"', len(runs))
        logged = {run: [entry.id for entry in await assembly.runtime.read(run)] for run in runs}
        stream.cancel()
        await asyncio.wait((stream,))

    for run in runs:
        sent = client.entries(run)
        assert sent == [id for id in logged[run] if id in set(sent)], "once and in order"
        assert sent[-1] == logged[run][-1]
        assert len(sent) == len(logged[run])


def test_the_frame_of_a_chunk_has_the_whole_event() -> None:
    write = EntryWriter("thread", "run", has_words=True, has_details=False)
    events: list[Event] = [
        TextDelta("m1", 'a "b"\n'),
        TextDelta("m1", ""),
        TextDelta('m"2', "…"),
        ReasoningDelta("m1", "x"),
    ]
    entries = [Entry(2, number, event) for number, event in enumerate(events, 7)]

    one_by_one = [write((entry,)) for entry in entries]

    assert one_by_one == [
        b'id: run/2-%d\nevent: entry\ndata: {"thread":"thread","run":"run","id":"2-%d","event":%b}\n\n'
        % (entry.seq, entry.seq, encode(entry.event))
        for entry in entries
    ]
    assert write(entries) == b"".join(one_by_one)


async def test_a_chunk_takes_no_more_calls_for_the_console_than_for_an_agui_client() -> None:
    agui = AguiEncoder("1.0", "thread", "run")
    agui.feed([Entry(1, 1, TextStarted("m1"))])
    console = EntryWriter("thread", "run", has_words=True, has_details=True)

    assert await count_calls(console) <= await count_calls(agui.feed)


async def count_calls(write: Write) -> int:
    """Of Python and C functions, to send the second chunk of a text by the tap of a log."""
    written: list[bytes] = []

    def write_now(body: bytes) -> bool:
        written.append(body)
        return True

    async def send(message: Message) -> None:
        raise AssertionError("the server can write at once")

    async def send_head() -> None:
        pass

    stream = ClientStream({RAW_SEND: send, WRITE_NOW: write_now}, send, send_head)
    await stream.open()
    push = stream.tap(write)
    assert push is not None
    assert push(Entry(1, 2, TextDelta("m1", "Hello")))
    await asyncio.sleep(2 * BATCH_INTERVAL_S)  # chunks that follow faster are sent in batches
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        is_sent = push(Entry(1, 3, TextDelta("m1", " there")))
    finally:
        sys.setprofile(None)
    assert is_sent
    assert len(written) == 2
    return calls
