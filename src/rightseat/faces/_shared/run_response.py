"""Streams a run to one client, with keep-alives, and cancels the run when the client disconnects."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from types import TracebackType
from typing import Any, Protocol, Self, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.core.errors import InternalError, LogTruncated, RightseatError, RunNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.log import Entry, ImmediateSink
from rightseat.faces._shared.entry_groups import split_entries
from rightseat.faces._shared.pieces_response import iterate_pieces
from rightseat.limits.read_limits import RequestReads, current_reads
from rightseat.shared_timers import SharedTimers

logger = logging.getLogger(__name__)

Write = Callable[[Sequence[Entry]], bytes | None]
TERMINAL_EVENTS = (RunFinished, RunFailed)
BATCH_INTERVAL_S = 0.002  # entries that arrive faster are sent in batches
LOST_LOG_TIMEOUT_S = 30.0
"""How long a stream waits for the log of a run in progress that was lost. Its writer creates it again."""
REFOLLOW_INTERVAL_S = 1.0
CATCH_UP_WAIT_S = 1.0
"""What is stored comes within this time; what comes later was just written."""
KEEP_ALIVE_COMMENT = b": keep-alive\n\n"
RAW_SEND = "rightseat.send"
"""The scope key under which the application stores the server's own `send`. Body chunks bypass middleware that would
only pass them on; the first and the last message do not."""
WRITE_NOW = "rightseat.write_now"
"""The scope key of a function with which the server writes a body chunk at once, without a coroutine. It returns False
if the chunk has to be sent in the usual way, for example because the client does not read."""


class FollowsRuns(Protocol):
    """What a response needs of the runtime. A face may follow several runs as if they were one."""

    @property
    def timers(self) -> SharedTimers: ...

    @property
    def hands_over_runs(self) -> bool: ...

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]: ...

    async def cancel(self, run_id: str) -> bool: ...

    async def is_running(self, run_id: str) -> bool: ...


class RunResponse(Response):
    """Sends each batch of entries as `write` encodes it, between `first` and `last`; with `after`, only later entries.

    With `cancel_on_disconnect` the run is cancelled when the client disconnects, because no client can resume it.
    `keep_alive` is for server-sent events: the `comment` is sent after so many seconds without data. Clients of the
    protocol ignore it.

    With `refusal` the response head waits for the first bytes or the first comment. If the run has failed by then, the
    refusal is sent instead. `headers` may then be a function, which is called when the head is sent.
    """

    def __init__(
        self,
        runtime: FollowsRuns,
        run_id: str,
        write: Write,
        *,
        headers: Mapping[str, str] | Callable[[], Mapping[str, str]],
        first: bytes | AsyncIterator[bytes] = b"",
        last: bytes = b"",
        after: str | None = None,
        cancel_on_disconnect: bool = True,
        keep_alive: float | None = None,
        refusal: Callable[[], Response | None] | None = None,
        comment: bytes = KEEP_ALIVE_COMMENT,
    ) -> None:
        self.background = None
        self.status_code = 200
        self.body = b""
        self.raw_headers = [] if callable(headers) else encode_headers(headers)
        self._late_headers = headers if callable(headers) else None
        self._runtime = runtime
        self._run_id = run_id
        self._write = write
        self._first = first
        self._last = last
        self._after = after
        self._cancel_on_disconnect = cancel_on_disconnect
        self._keep_alive = keep_alive
        self._refusal = refusal
        self._comment = comment

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head() -> None:
            await self.send_start(send)
            async for piece in iterate_pieces(self._first):
                await send({"type": "http.response.body", "body": piece, "more_body": True})

        stream = ClientStream(scope, send, send_head)
        if self._refusal is None:
            await stream.open()
        ending = await self._relay(stream, receive)
        if not stream.is_open:
            refusal = self._refusal() if self._refusal else None
            if refusal is not None:
                return await refusal(scope, receive, send)
            await stream.open()
        await send({"type": "http.response.body", "body": ending + self._last})

    async def send_start(self, send: Send) -> None:
        if self._late_headers:
            self.raw_headers = encode_headers(self._late_headers())
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

    def write_all(self, entries: Sequence[Entry]) -> bytes:
        """The whole body for a new run with these entries."""
        first = self._first if isinstance(self._first, bytes) else b""
        return first + (self._write(entries) or b"") + self._last

    def refuse_in_stream(self) -> None:
        """The head was sent before, so no other response can replace this one."""
        self._refusal = None

    async def _relay(self, stream: "ClientStream", receive: Receive) -> bytes:
        """Send until the run ends. Returns the last bytes, which are sent together with the end of the response.

        Whatever fails while the client is connected, it receives the error of its protocol.
        """
        watcher = (
            DisconnectWatcher(self._runtime, self._run_id, receive) if self._cancel_on_disconnect else nullcontext()
        )
        keep_alive = (
            KeepAlive(stream, self._keep_alive, self._runtime.timers, self._comment)
            if self._keep_alive
            else nullcontext()
        )
        try:
            async with watcher:
                with keep_alive:
                    return await self._relay_until_end(stream)
        except Exception as error:
            if ending := self._write_error(error):
                return ending
            raise  # the encoder failed: a closed connection is better than an end that looks complete

    async def _relay_until_end(self, stream: "ClientStream") -> bytes:
        after, loop = self._after, asyncio.get_running_loop()
        lost_at: float | None = None
        catch_up = CatchUp(current_reads())
        while True:
            try:
                return await self._relay_from(after, stream, catch_up)
            except LogTruncated as gone:  # the log repeats the state that a reader needs
                after = gone.resume
            except RunNotFound:
                await stream.drain()
                lost_at = lost_at or loop.time()
                if loop.time() - lost_at > LOST_LOG_TIMEOUT_S or not await self._runtime.is_running(self._run_id):
                    raise
                after = stream.last_entry.id if stream.last_entry else after
                await asyncio.sleep(REFOLLOW_INTERVAL_S)  # its writer may be about to create the log again

    async def _relay_from(self, after: str | None, stream: "ClientStream", catch_up: "CatchUp") -> bytes:
        write = self._write
        async with aclosing(self._runtime.follow(self._run_id, after, stream.tap(write))) as batches:
            async for batch in batches:
                catch_up.begin()
                for entries in split_entries(batch):
                    if stream.pending_send is not None or stream.failure is not None:
                        await stream.drain()
                    body = write(entries)
                    stream.last_entry = last = entries[-1]
                    if type(last.event) in TERMINAL_EVENTS:
                        return body or b""
                    if body:
                        if not stream.is_open:
                            await stream.open()
                        await stream.send(body)
                        stream.sent_at = stream.time()
                catch_up.end()
        await stream.drain()
        if self._runtime.hands_over_runs:
            return b""  # another process continues the run
        return write([Entry(0, 0, incomplete_run_failure(self._run_id))]) or b""

    def _write_error(self, error: Exception) -> bytes | None:
        """The end of a stream that cannot continue; None if not even that can be encoded."""
        if isinstance(error, RightseatError):
            logger.warning("run %s cannot be streamed any further: %s", self._run_id, error.log_message)
            failure = RunFailed(error.code, error.message)
        else:
            logger.error("run %s cannot be streamed any further", self._run_id, exc_info=error)
            failure = incomplete_run_failure(self._run_id)
        try:
            return self._write([Entry(0, 0, failure)])
        except Exception:
            logger.exception("run %s: the error cannot be encoded", self._run_id)
            return None


class CatchUp:
    """Gives the place of a request among the reads of its user back once its client has what was stored when it came,
    or if nothing was: the run has written nothing yet."""

    __slots__ = ("_reads", "_timer")

    def __init__(self, reads: RequestReads | None) -> None:
        self._reads = reads if reads is not None and reads.is_holding else None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(CATCH_UP_WAIT_S, self._reads.release) if self._reads is not None else None

    def begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> None:
        if self._reads is not None:
            self._reads.release()
            self._reads = None


def encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """As `Response.init_headers` does, but without a content length: the body is not known yet."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def incomplete_run_failure(run_id: str) -> RunFailed:
    """For a run whose log ended without a final event, because not even that could be written."""
    return RunFailed(InternalError.code, InternalError(run_id).message)


class ClientStream:
    """The response stream of one client. A tap of the log can send from outside the client's own task.

    Nothing is sent before it is open: `send_head` sends the response head. While it `has_queued_frames`, which its own
    task sends, taps take no entry, so that the order is kept.
    """

    __slots__ = (
        "_pushed_at",
        "_raw_send",
        "_send",
        "_send_head",
        "_write_now",
        "failure",
        "has_queued_frames",
        "is_open",
        "last_entry",
        "pending_send",
        "sent_at",
        "time",
    )

    def __init__(self, scope: Scope, send: Send, send_head: Callable[[], Awaitable[None]]) -> None:
        self.is_open = False
        self.has_queued_frames = False
        # Taken out of the scope: both refer to the object that holds the scope, and only the collector frees a cycle.
        raw_send: Send | None = scope.pop(RAW_SEND, None)
        write_now: Callable[[bytes], bool] | None = scope.pop(WRITE_NOW, None)
        self._write_now = write_now if raw_send is not None else None
        self._send_head = send_head
        self.time = asyncio.get_running_loop().time
        self.sent_at = self.time()
        self._send = raw_send or send
        self._raw_send = raw_send
        self._pushed_at = 0.0
        self.pending_send: asyncio.Future[None] | None = None
        self.last_entry: Entry | None = None  # that was encoded
        self.failure: Exception | None = None

    async def open(self) -> None:
        self.is_open = True
        await self._send_head()

    async def send(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    def write_now(self, body: bytes) -> bool:
        """Send from outside the client's own task, if the server can write at once and nothing waits to be sent."""
        if self._write_now is None or self.has_queued_frames or self.pending_send is not None or not self.is_open:
            return False
        if not self._write_now(body):
            return False
        self.sent_at = self.time()
        return True

    def tap(self, write: Write) -> ImmediateSink | None:
        """For a log: sends an entry immediately, unless it is the last one or one of a fast series.

        Only with the raw `send`: middleware may do things in `send` that belong in the client's own task.
        """
        if self._raw_send is None:
            return None

        def push(entry: Entry) -> bool:
            now = self.time()
            if (
                now - self._pushed_at < BATCH_INTERVAL_S
                or self.pending_send is not None
                or type(entry.event) in TERMINAL_EVENTS
            ):
                return False
            if self.has_queued_frames or not self.is_open:
                return False
            self._pushed_at = now
            try:
                if body := write((entry,)):
                    self._push(body)
                self.last_entry = entry
            except Exception as error:
                self.failure = error
            return self.failure is None

        return push

    def _push(self, body: bytes) -> None:
        if self._write_now is not None and self._write_now(body):
            return
        sending = cast(Coroutine[Any, None, None], self.send(body))
        try:
            waiting_for = sending.send(None)
        except StopIteration:
            return
        self.pending_send = asyncio.ensure_future(_ResumedCoroutine(sending, waiting_for))

    @property
    def idle_seconds(self) -> float:
        return self.time() - max(self.sent_at, self._pushed_at)

    def send_soon(self, body: bytes) -> None:
        """Send from outside the client's own task, unless another send is in progress."""
        if self.pending_send is None or (self.pending_send.done() and not self.pending_send.exception()):
            self.pending_send = asyncio.ensure_future(self._send_soon(body))

    async def _send_soon(self, body: bytes) -> None:
        if not self.is_open:
            await self.open()
        await self.send(body)

    async def drain(self) -> None:
        """Wait for a pushed send that could not complete at once; raises its error."""
        if self.failure is not None:
            raise self.failure
        if self.pending_send is not None:
            await self.pending_send
            self.pending_send = None


class _ResumedCoroutine:
    """Awaits the rest of a coroutine that was started by hand and is suspended."""

    def __init__(self, coroutine: Coroutine[Any, None, None], waiting_for: Any) -> None:
        self._coroutine = coroutine
        self._waiting_for = waiting_for

    def __await__(self) -> Generator[Any, None, None]:
        try:
            while True:
                yield self._waiting_for
                self._waiting_for = self._coroutine.send(None)
        except StopIteration:
            return
        finally:
            self._coroutine.close()


class KeepAlive:
    """Sends a comment after `seconds` without data, so that proxies keep the connection open."""

    __slots__ = ("_comment", "_seconds", "_stream", "_timer_group", "_timers")

    def __init__(
        self, stream: ClientStream, seconds: float, timers: SharedTimers, comment: bytes = KEEP_ALIVE_COMMENT
    ) -> None:
        self._stream = stream
        self._comment = comment
        self._seconds = seconds
        self._timers = timers

    def __enter__(self) -> None:
        self._timer_group = self._timers.add(self, self._seconds)

    def __exit__(self, *_: object) -> None:
        self._timer_group.discard(self)

    def on_time(self) -> None:
        """Rearmed only when it fires, so that a chunk costs no timer."""
        left = self._seconds - self._stream.idle_seconds
        if left <= 0:
            self._stream.send_soon(self._comment)
            self._stream.sent_at = self._stream.time()
            left = self._seconds
        self._timer_group = self._timers.add(self, left)


class DisconnectWatcher:
    """Cancels the run when its client disconnects, or when the block is left with an error.

    Cancelling ends the run's log, which ends the subscription inside the block.
    """

    __slots__ = ("_receive", "_run_id", "_runtime", "_watcher")

    def __init__(self, runtime: FollowsRuns, run_id: str, receive: Receive) -> None:
        self._runtime = runtime
        self._run_id = run_id
        self._receive = receive

    async def __aenter__(self) -> Self:
        self._watcher = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watcher.cancel()
        if kind is not None:
            await self._runtime.cancel(self._run_id)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        await self._runtime.cancel(self._run_id)
