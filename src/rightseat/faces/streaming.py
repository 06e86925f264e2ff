"""A run, followed for as long as its client is there."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.core.errors import InternalError
from rightseat.core.events import Event, RunFailed, RunFinished
from rightseat.core.log import Entry, Tap
from rightseat.core.runtime import Runtime

Write = Callable[[Sequence[Event]], bytes | None]
ENDS = (RunFinished, RunFailed)
TOGETHER = 0.002  # seconds; what comes faster than that is written in batches
STRAIGHT = "rightseat.send"
"""Where our own application leaves the server's `send` in the scope: the pieces of an answer go straight to it, past
middleware that would only pass them on. Its first message and its last go the usual way."""


class RunResponse(Response):
    """Writes each batch of a run's events as `write` says, between `first` and `last`.

    Nobody can come back to such a run: when the client goes away, it is cancelled.
    """

    def __init__(
        self, runtime: Runtime, run_id: str, write: Write, *, headers: Mapping[str, str], first: bytes, last: bytes
    ) -> None:
        self.background = None
        self.status_code = 200
        self.body = b""
        self.init_headers(headers)
        self._runtime = runtime
        self._run_id = run_id
        self._write = write
        self._first = first
        self._last = last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [header for header in self.raw_headers if header[0] != b"content-length"]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self._first, "more_body": True})
        ending = await self._relay(Line(send, scope.get(STRAIGHT)), receive)
        await send({"type": "http.response.body", "body": ending + self._last})

    async def _relay(self, line: "Line", receive: Receive) -> bytes:
        """Write until the run ends. The last of it is given back, to be sent together with the end of the answer."""
        write = self._write
        following = self._runtime.follow(self._run_id, tap=line.tap(write))
        async with Watch(self._runtime, self._run_id, receive), aclosing(following) as batches:
            async for entries in batches:
                await line.clear()
                body = write([entry.event for entry in entries])
                if type(entries[-1].event) in ENDS:
                    return body or b""
                if body:
                    await line.send(body)
        return write([broken_off(self._run_id)]) or b""


def broken_off(run_id: str) -> RunFailed:
    """What is told of a run whose log ended without an end, because the run could not even write that."""
    return RunFailed(InternalError.code, InternalError(run_id).message)


class Line:
    """The way to one client. What can be sent without waiting may be `push`ed from outside the client's own task."""

    __slots__ = ("_failure", "_pushed_at", "_send", "_straight", "_time", "_unfinished")

    def __init__(self, send: Send, straight: Send | None) -> None:
        self._send = straight or send
        self._straight = straight
        self._time = asyncio.get_running_loop().time
        self._pushed_at = 0.0
        self._unfinished: asyncio.Future[None] | None = None
        self._failure: Exception | None = None

    async def send(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    def tap(self, write: Write) -> Tap | None:
        """For a log: sends an entry at once, unless it is the last, or one of many that come together.

        Only on a straight way: middleware may do things in `send` that belong into the client's own task.
        """
        if self._straight is None:
            return None

        def push(entry: Entry) -> bool:
            now = self._time()
            if now - self._pushed_at < TOGETHER or self._unfinished is not None or type(entry.event) in ENDS:
                return False
            self._pushed_at = now
            try:
                if body := write((entry.event,)):
                    self._push(body)
            except Exception as error:
                self._failure = error
            return self._failure is None

        return push

    def _push(self, body: bytes) -> None:
        sending = cast(Coroutine[Any, None, None], self.send(body))
        try:
            waiting_for = sending.send(None)
        except StopIteration:
            return
        self._unfinished = asyncio.ensure_future(_Rest(sending, waiting_for))

    async def clear(self) -> None:
        """Wait for what was pushed and could not be sent at once; tell what went wrong with it."""
        if self._failure is not None:
            raise self._failure
        if self._unfinished is not None:
            await self._unfinished
            self._unfinished = None


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
