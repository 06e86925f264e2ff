"""A run, followed for as long as its client is there."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from types import TracebackType
from typing import Any, Self, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.core.errors import EntriesGone, InternalError, RunNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.log import Entry, Tap
from rightseat.core.runtime import Runtime

logger = logging.getLogger(__name__)

Write = Callable[[Sequence[Entry]], bytes | None]
ENDS = (RunFinished, RunFailed)
TOGETHER = 0.002  # seconds; what comes faster than that is written in batches
COMMENT = b": keep-alive\n\n"
STRAIGHT = "rightseat.send"
"""Where our own application leaves the server's `send` in the scope: the pieces of an answer go straight to it, past
middleware that would only pass them on. Its first message and its last go the usual way."""


class RunResponse(Response):
    """Writes each batch of a run's entries as `write` says, between `first` and `last`; with `after` only later ones.

    A run that is for its reader alone is cancelled when the client goes away: nobody can come back to it. Any other
    goes on. `keep_alive` is for server-sent events: how many seconds of silence there may be before a comment is sent.

    With `refusal` its head waits for the first bytes, or for that comment. Where the run has failed by then, a refusal
    is sent in place of all of it. `headers` may be a function then, which is called when the head is sent.
    """

    def __init__(
        self,
        runtime: Runtime,
        run_id: str,
        write: Write,
        *,
        headers: Mapping[str, str] | Callable[[], Mapping[str, str]],
        first: bytes = b"",
        last: bytes = b"",
        after: str | None = None,
        is_for_its_reader: bool = True,
        keep_alive: float | None = None,
        refusal: Callable[[], Response | None] | None = None,
    ) -> None:
        self.background = None
        self.status_code = 200
        self.body = b""
        self.init_headers(None if callable(headers) else headers)
        self._late_headers = headers if callable(headers) else None
        self._runtime = runtime
        self._run_id = run_id
        self._write = write
        self._first = first
        self._last = last
        self._after = after
        self._is_for_its_reader = is_for_its_reader
        self._keep_alive = keep_alive
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def begin() -> None:
            if self._late_headers:
                self.init_headers(self._late_headers())
            headers = [header for header in self.raw_headers if header[0] != b"content-length"]
            await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
            if self._first:
                await send({"type": "http.response.body", "body": self._first, "more_body": True})

        line = Line(send, scope.get(STRAIGHT), begin)
        if self._refusal is None:
            await line.open()
        ending = await self._relay(line, receive)
        if not line.is_open:
            refusal = self._refusal() if self._refusal else None
            if refusal is not None:
                return await refusal(scope, receive, send)
            await line.open()
        await send({"type": "http.response.body", "body": ending + self._last})

    async def _relay(self, line: "Line", receive: Receive) -> bytes:
        """Write until the run ends. The last of it is given back, to be sent together with the end of the answer."""
        after = self._after
        while True:
            try:
                return await self._relay_from(after, line, receive)
            except EntriesGone as gone:  # the log says anew what a reader must know
                after = gone.resume
            except RunNotFound:
                logger.info("run %s: its log is gone; who follows may come back", self._run_id)
                await line.clear()
                return b""

    async def _relay_from(self, after: str | None, line: "Line", receive: Receive) -> bytes:
        write = self._write
        following = self._runtime.follow(self._run_id, after, line.tap(write))
        watch = Watch(self._runtime, self._run_id, receive) if self._is_for_its_reader else nullcontext()
        pulse = Pulse(line, self._keep_alive) if self._keep_alive else nullcontext()
        async with watch, aclosing(following) as batches:
            with pulse:
                async for entries in batches:
                    if line.unfinished is not None or line.failure is not None:
                        await line.clear()
                    body = write(entries)
                    if type(entries[-1].event) in ENDS:
                        return body or b""
                    if body:
                        if not line.is_open:
                            await line.open()
                        await line.send(body)
                        line.sent_at = line.time()
        await line.clear()
        if self._runtime.is_leaving:
            return b""  # it goes on elsewhere
        return write([Entry(0, 0, broken_off(self._run_id))]) or b""


def broken_off(run_id: str) -> RunFailed:
    """What is told of a run whose log ended without an end, because the run could not even write that."""
    return RunFailed(InternalError.code, InternalError(run_id).message)


class Line:
    """The way to one client. What can be sent without waiting may be `push`ed from outside the client's own task.

    Nothing is sent before it is open: `begin` sends the head of the answer.
    """

    __slots__ = ("_begin", "_pushed_at", "_send", "_straight", "failure", "is_open", "sent_at", "time", "unfinished")

    def __init__(self, send: Send, straight: Send | None, begin: Callable[[], Awaitable[None]]) -> None:
        self.is_open = False
        self._begin = begin
        self.time = asyncio.get_running_loop().time
        self.sent_at = self.time()
        self._send = straight or send
        self._straight = straight
        self._pushed_at = 0.0
        self.unfinished: asyncio.Future[None] | None = None
        self.failure: Exception | None = None

    async def open(self) -> None:
        self.is_open = True
        await self._begin()

    async def send(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    def tap(self, write: Write) -> Tap | None:
        """For a log: sends an entry at once, unless it is the last, or one of many that come together.

        Only on a straight way: middleware may do things in `send` that belong into the client's own task.
        """
        if self._straight is None:
            return None

        def push(entry: Entry) -> bool:
            now = self.time()
            if now - self._pushed_at < TOGETHER or self.unfinished is not None or type(entry.event) in ENDS:
                return False
            if not self.is_open:
                return False
            self._pushed_at = now
            try:
                if body := write((entry,)):
                    self._push(body)
            except Exception as error:
                self.failure = error
            return self.failure is None

        return push

    def _push(self, body: bytes) -> None:
        sending = cast(Coroutine[Any, None, None], self.send(body))
        try:
            waiting_for = sending.send(None)
        except StopIteration:
            return
        self.unfinished = asyncio.ensure_future(_Rest(sending, waiting_for))

    @property
    def silent_for(self) -> float:
        return self.time() - max(self.sent_at, self._pushed_at)

    def mention(self, body: bytes) -> None:
        """Send it by the way, from outside the client's own task; not while something else is on its way."""
        if self.unfinished is None or (self.unfinished.done() and not self.unfinished.exception()):
            self.unfinished = asyncio.ensure_future(self._mention(body))

    async def _mention(self, body: bytes) -> None:
        if not self.is_open:
            await self.open()
        await self.send(body)

    async def clear(self) -> None:
        """Wait for what was pushed and could not be sent at once; tell what went wrong with it."""
        if self.failure is not None:
            raise self.failure
        if self.unfinished is not None:
            await self.unfinished
            self.unfinished = None


class _Rest:
    """The rest of a coroutine that was begun by hand and came to wait for something."""

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


class Pulse:
    """Says on a line that was silent for `seconds` that it is still there: what lies between would give it up."""

    __slots__ = ("_clock", "_line", "_seconds")

    def __init__(self, line: Line, seconds: float) -> None:
        self._line = line
        self._seconds = seconds

    def __enter__(self) -> None:
        self._arm(self._seconds)

    def __exit__(self, *_: object) -> None:
        self._clock.cancel()

    def _arm(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().call_later(seconds, self._beat)

    def _beat(self) -> None:
        """Armed again only when it beats, so that a piece costs no timer."""
        left = self._seconds - self._line.silent_for
        if left <= 0:
            self._line.mention(COMMENT)
            self._line.sent_at = self._line.time()
            left = self._seconds
        self._arm(left)


class Watch:
    """Cancels the run when its client goes away, or when the block is left before the run's end.

    Cancelling ends the run's log, so whoever follows it inside the block comes to an end by itself.
    """

    __slots__ = ("_receive", "_run_id", "_runtime", "_watcher")

    def __init__(self, runtime: Runtime, run_id: str, receive: Receive) -> None:
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
