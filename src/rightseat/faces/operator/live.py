"""The event stream of the console: the log entries of the threads that it shows, and news of the user's runs.

One stream serves all tabs of a browser. It follows each thread from run to run and never ends by itself. A client that
reconnects names the last entry that it has of each thread.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.core.ask import Ask, includes_agent
from rightseat.core.errors import BadRequest, LogTruncated, RunNotFound, ShuttingDown
from rightseat.core.events import RunFinished, TextDelta
from rightseat.core.log import Entry
from rightseat.core.run.outcome import LastEvent
from rightseat.core.runtime import Runtime
from rightseat.core.threads import RunRow, Thread
from rightseat.faces._shared.connection import wait_for_disconnect
from rightseat.faces._shared.entry_groups import split_entries
from rightseat.faces._shared.lost_log import read_entries, read_or_nothing, restore_run
from rightseat.faces._shared.pieces_response import split_bytes
from rightseat.faces._shared.responses import encode
from rightseat.faces._shared.run_response import KEEP_ALIVE_COMMENT, CatchUp, ClientStream, KeepAlive
from rightseat.faces.operator.entries import join_entries, write_entry
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.faces.operator.run_line import build_news_line
from rightseat.faces.operator.wordless import remove_words
from rightseat.limits.read_limits import RequestReads, current_reads, open_part
from rightseat.operations.activity import Announcement, Closed, PluginActivity, ThreadActivity
from rightseat.operations.rights import Operator, OperatorNotFound
from rightseat.operations.service import Operations
from rightseat.operations.visible_threads import VisibleThread
from rightseat.shared_timers import SharedTimers
from rightseat.wire.json_pieces import PIECE_BYTES

logger = logging.getLogger(__name__)

HEADERS = {"content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no"}
MAX_THREADS = 64  # in one stream: each tab of a browser shows one
MAX_UNSENT_FRAMES = 16
"""Each has about 64 KB at most, unless one entry is longer."""
END = b""
EVENT = b'","event":'


class ThreadPosition(NamedTuple):
    """The last entry that the client has of a thread; `run` is empty if it has none."""

    thread: str
    run: str
    entry: str


class LiveRoute:
    def __init__(self, runtime: Runtime, operations: Operations, keep_alive: float) -> None:
        self._runtime = runtime
        self._operations = operations
        self._keep_alive = keep_alive

    def routes(self) -> Routes:
        return {("GET", "live"): self.live}

    async def live(self, request: OperatorRequest) -> Response:
        if self._runtime.is_shutting_down:
            raise ShuttingDown
        positions = read_positions(request.http)

        def relay(client: ClientStream) -> Coroutine[Any, Any, None]:
            return LiveStream(self._runtime, self._operations, request.operator, client).relay(positions)

        return LiveResponse(relay, self._keep_alive, self._runtime.timers)


class LiveResponse(Response):
    def __init__(
        self, relay: Callable[[ClientStream], Coroutine[Any, Any, None]], keep_alive: float, timers: SharedTimers
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]  # of the empty body that it has before it is sent
        self._relay = relay
        self._keep_alive = keep_alive
        self._timers = timers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head() -> None:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": KEEP_ALIVE_COMMENT, "more_body": True})

        client = ClientStream(scope, send, send_head)
        relay = asyncio.create_task(self._relay(client))
        tasks = (relay, asyncio.create_task(wait_for_disconnect(receive)))
        try:
            with KeepAlive(client, self._keep_alive, self._timers):
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if relay in done:
            relay.result()
            await send({"type": "http.response.body", "body": b""})


class LiveStream:
    """The frames for one client. Threads are followed concurrently, and wait while the client does not read.

    Then frames wait in a queue, and one task sends them. If none is waiting, they are written at once, entries by a tap
    of the log, as for other clients of a run: a queue and a task switch would double the cost of a chunk.
    """

    def __init__(
        self,
        runtime: Runtime,
        operations: Operations,
        operator: Operator,
        client: ClientStream,
    ) -> None:
        self._runtime = runtime
        self._operations = operations
        self._client = client
        self._operator = operator
        self._principal = operator.principal
        self._rights = operator.rights
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(MAX_UNSENT_FRAMES)
        self._run_started: dict[str, asyncio.Event] = {}  # by followed thread

    async def relay(self, positions: Sequence[ThreadPosition]) -> None:
        """Send frames until a part of the stream fails or the server shuts down."""
        client = self._client
        with self._operations.subscribe(self._operator) as news:
            await client.open()
            async with self._operations.following(self._run_started):
                await self._relay_all(news, positions)

    async def _relay_all(self, news: "asyncio.Queue[Announcement]", positions: Sequence[ThreadPosition]) -> None:
        client = self._client
        tasks = [asyncio.create_task(self._end_on_failure(self._relay_news(news)))]
        tasks += [asyncio.create_task(self._end_on_failure(self._follow(one))) for one in positions]
        try:
            while frames := await self._unsent.get():
                await client.drain()
                for piece in split_bytes(frames):
                    await client.send(piece)
                client.sent_at = client.time()
                client.has_queued_frames = not self._unsent.empty()
            await client.drain()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_on_failure(self, work: Coroutine[Any, Any, None]) -> None:
        """The client reconnects, and receives what it does not have."""
        try:
            await work
        except Exception:
            logger.exception("the event stream of %r failed; its client reconnects", self._principal.id)
            await self._enqueue(END)

    async def _relay_news(self, news: "asyncio.Queue[Announcement]") -> None:
        while not isinstance(one := await news.get(), Closed):
            if isinstance(one, ThreadActivity):
                await self._send(write_thread_change(one))
                continue
            if isinstance(one, PluginActivity):
                await self._send(write_frame("plugin", one._asdict()))
                continue
            ask, last = one
            owner = ask.principal.id
            if self._operator.may_watch(owner, ask.agent):
                if last is None and (started := self._run_started.get(ask.thread_id)):
                    started.set()
                has_words = self._operator.is_own(owner, ask.agent) or includes_agent(self._rights.read, ask.agent)
                await self._send(write_frame("run", build_news_line(ask, last, has_words=has_words)))
            for frame in write_question_news(ask, last):
                await self._send(frame)
        if one.is_shutdown:
            await self._send(write_frame("bye", {}))
        await self._enqueue(END)

    async def _follow(self, seen: ThreadPosition) -> None:
        """Send the runs of a thread, one after the other, and wait for the next one. What is stored is sent in a place
        among the reads of the user, so that streams which are not read keep few threads in memory."""
        sent: set[str] = set()
        started = self._run_started[seen.thread] = asyncio.Event()
        reads, is_caught_up = open_part(), False
        try:
            while True:
                started.clear()
                await reads.hold(is_patient=True)
                is_caught_up = await self._send_new_runs(seen, sent, reads, is_caught_up=is_caught_up)
                reads.release()
                await started.wait()
        finally:
            reads.close()

    async def _send_new_runs(
        self, seen: ThreadPosition, sent: set[str], reads: RequestReads, *, is_caught_up: bool
    ) -> bool:
        """Returns whether the client knows that it has what was stored when it came: always true."""
        try:
            found = await self._operations.find_thread(self._operator, seen.thread, has_messages=False, is_opened=True)
        except OperatorNotFound:  # its first run has not started yet
            found = VisibleThread(Thread(seen.thread, ()), self._principal, is_own=True, has_words=True)
        for run in runs_after(found.thread, seen, sent):
            await reads.hold(is_patient=True)
            if run.outcome is None and not is_caught_up:
                is_caught_up = await self._say_caught_up(seen.thread)
            await self._send_run(found, run, seen.entry if run.id == seen.run else None)
            sent.add(run.id)
        return is_caught_up or await self._say_caught_up(seen.thread)

    async def _say_caught_up(self, thread_id: str) -> bool:
        await self._send(write_frame("caught_up", {"thread": thread_id}))
        return True

    async def _send_run(self, found: VisibleThread, run: RunRow, after: str | None) -> None:
        if run.outcome is None:
            return await self._send_active_run(found, run, after)
        try:
            entries = await read_entries(self._runtime, run.id, after)
        except RunNotFound:
            entries = [] if after else await self._restore(found, run)
        write = self._writer(found, run)
        for group in split_entries(join_entries(entries)):
            if frames := write(group):
                await self._send(frames)

    async def _send_active_run(self, found: VisibleThread, run: RunRow, after: str | None) -> None:
        write, catch_up = self._writer(found, run), CatchUp(current_reads())
        try:
            async with aclosing(self._runtime.follow(run.id, after, self._client.tap(write))) as batches:
                async for batch in batches:
                    catch_up.begin()
                    for entries in split_entries(batch):
                        if frames := write(entries):
                            await self._send(frames)
                    catch_up.end()
        except LogTruncated as gone:  # the log repeats the state that a reader needs
            await self._send_active_run(found, run, gone.resume)
        except RunNotFound:
            logger.info("run %s: its log is gone; its entries are not sent", run.id)

    async def _restore(self, found: VisibleThread, run: RunRow) -> list[Entry]:
        thread = await self._runtime.thread(found.thread.id, found.principal)
        if thread is None or run not in thread.runs:
            return []  # it was deleted meanwhile
        later = thread.runs[thread.runs.index(run) + 1 :]
        events = await restore_run(thread, run, later, lambda one: read_or_nothing(self._runtime, one.id))
        return [Entry(run.epoch, 0, event) for event in events]

    def _writer(self, found: VisibleThread, run: RunRow) -> Callable[[Sequence[Entry]], bytes]:
        has_details = includes_agent(self._rights.read, run.agent)
        return EntryWriter(found.thread.id, run.id, has_words=found.has_words, has_details=has_details)

    async def _send(self, frames: bytes) -> None:
        if len(frames) > PIECE_BYTES or not self._client.write_now(frames):
            await self._enqueue(frames)

    async def _enqueue(self, frames: bytes) -> None:
        await self._unsent.put(frames)
        self._client.has_queued_frames = True  # after `put`, which may wait until all others are sent


def remove_all_words(entries: Sequence[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if (event := remove_words(entry.event)) is not None:
            yield Entry(entry.epoch, entry.seq, event)


def runs_after(thread: Thread, seen: ThreadPosition, sent: set[str]) -> Iterator[RunRow]:
    """The runs that the client does not have to their end, in order; all of them if it names an unknown one."""
    ids = [run.id for run in thread.runs]
    first = ids.index(seen.run) if seen.run in ids else 0
    return (run for run in thread.runs[first:] if run.id not in sent)


def read_positions(request: Request) -> list[ThreadPosition]:
    """From the query: `thread=T1&after=RUN/ENTRY&thread=T2&after=`."""
    threads, after = request.query_params.getlist("thread"), request.query_params.getlist("after")
    if len(threads) > MAX_THREADS:
        raise BadRequest(f"A stream follows at most {MAX_THREADS} threads.")
    after += [""] * (len(threads) - len(after))
    found = {thread: position.rpartition("/") for thread, position in zip(threads, after, strict=False)}
    return [ThreadPosition(thread, run, entry if run else "") for thread, (run, _, entry) in found.items()]


class EntryWriter:
    """Writes the entries of a run as frames. Without `has_words`, entries that consist of text are left out.

    Nearly every batch is one chunk of text. It takes a third less time with the beginning of its event kept.
    """

    def __init__(self, thread_id: str, run_id: str, *, has_words: bool, has_details: bool) -> None:
        self._id_line = b"id: %b/" % run_id.encode()
        body = encode({"thread": thread_id, "run": run_id})
        self._data_line = b'\nevent: entry\ndata: %b,"id":"' % body.removesuffix(b"}")
        self._message_id = ""  # of the last delta
        self._text_head = b""  # of its event, before the text
        self._has_words = has_words
        self._has_details = has_details

    def __call__(self, entries: Sequence[Entry]) -> bytes:
        if self._has_words and len(entries) == 1 and type(event := entries[0].event) is TextDelta:  # nearly every chunk
            if event.message_id != self._message_id:
                self._message_id = event.message_id
                self._text_head = EVENT + encode(TextDelta(event.message_id, "")).removesuffix(b'""}')
            entry = entries[0]
            id = b"%d-%d" % (entry.epoch, entry.seq)
            text = encode(event.text)
            return b"".join((self._id_line, id, self._data_line, id, self._text_head, text, b"}}\n\n"))
        shown = entries if self._has_words else remove_all_words(entries)
        return b"".join([self._write(entry) for entry in shown])

    def _write(self, entry: Entry) -> bytes:
        id = b"%d-%d" % (entry.epoch, entry.seq)
        event = encode(write_entry(entry.event, has_details=self._has_details))
        return b"".join((self._id_line, id, self._data_line, id, EVENT, event, b"}\n\n"))


def write_question_news(ask: Ask, last: LastEvent | None) -> Iterator[bytes]:
    if last is None:
        for answer in ask.answers:
            yield write_frame("answered", write_question(answer.interrupt_id, ask))
    elif isinstance(last, RunFinished):
        for interrupt in last.interrupts:
            yield write_frame("asked", write_question(interrupt.id, ask))


def write_thread_change(change: ThreadActivity) -> bytes:
    return write_frame("thread", {"id": change.thread_id, "owner": change.owner, "deleted": change.is_deleted})


def write_question(interrupt_id: str, ask: Ask) -> dict[str, str]:
    return {"id": interrupt_id, "thread": ask.thread_id, "owner": ask.principal.id}


def write_frame(name: str, data: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), encode(data))
