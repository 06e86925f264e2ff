"""Timeouts for a streamed response of an upstream: the maximum time without content, and the maximum total time.

Keep-alive comments and chunks without content count as silence. Time in which the reader does not wait for the
upstream, because its own client is slow, does not.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from rightseat.core.errors import ModelTimeout, RightseatError
from rightseat.core.model import CallChunk, Chunk, NoteChunk, ReasoningChunk, TextChunk
from rightseat.shared_timers import SharedTimers

SILENCE_SECONDS = 300.0
ANSWER_SECONDS = 3600.0


class Timeouts(NamedTuple):
    """In seconds. If `answer` is None, a stream may last for as long as it sends content."""

    silence: float = SILENCE_SECONDS
    answer: float | None = ANSWER_SECONDS


class Deadlines:
    """Applies timeouts to a stream that an async generator reads. It costs about 200 ns a network read:

        with Deadlines(timeouts, fail) as deadlines:
            async for piece in response:
                deadlines.pause()
                ...  # decode it, yield its content
                deadlines.resume(has_content)

    A timeout while the generator waits cancels that wait, and the block raises `fail("silence")` or `fail("answer")`.
    A timeout while its reader is busy is raised by `resume`. A cancellation from elsewhere remains a cancellation.
    Streams with the same `timers` share timers of the loop.
    """

    __slots__ = (
        "_cancelling",
        "_clock",
        "_data_at",
        "_exceeded",
        "_fail",
        "_is_ours",
        "_loop",
        "_task",
        "_timeouts",
        "_timer_group",
        "_timers",
        "_until",
    )  # fmt: skip

    def __init__(
        self, timeouts: Timeouts, fail: Callable[[str], RightseatError], timers: SharedTimers | None = None
    ) -> None:
        self._timeouts = timeouts
        self._timers = timers or SharedTimers()
        self._fail = fail
        self._exceeded = ""
        self._is_ours = False  # a timeout has cancelled the task
        self._cancelling = 0

    def __enter__(self) -> Self:
        self._loop = loop = asyncio.get_running_loop()
        self._clock = loop.time
        self._data_at = now = loop.time()
        self._until = None if self._timeouts.answer is None else now + self._timeouts.answer
        self._task = asyncio.current_task()
        self._timer_group = self._timers.add(self, self._next() - now)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer_group.discard(self)
        task, self._task = self._task, None
        if not self._is_ours or task is None:
            return
        is_alone = task.uncancel() <= self._cancelling
        if is_alone and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise self._fail(self._exceeded) from None

    def pause(self) -> None:
        """Data has arrived: from now on the generator does not wait for the upstream."""
        self._task = None

    def resume(self, has_data: bool) -> None:
        """The generator waits for the upstream again. `has_data`: the data that arrived had content."""
        if self._exceeded:
            raise self._fail(self._exceeded)
        if has_data:
            self._data_at = self._clock()
        self._task = asyncio.current_task(self._loop)  # without the loop, it is looked up with a system call

    def _next(self) -> float:
        silent = self._data_at + self._timeouts.silence
        return silent if self._until is None else min(silent, self._until)

    def on_time(self) -> None:
        """The timer is re-armed only when it fires, so that a chunk costs no timer."""
        now = self._clock()
        if self._until is not None and now >= self._until:
            return self._end("answer")
        if self._task is None:
            self._data_at = now  # paused: the upstream is not silent, the generator is not reading
        elif now >= self._data_at + self._timeouts.silence:
            return self._end("silence")
        self._timer_group = self._timers.add(self, self._next() - now)

    def _end(self, exceeded: str) -> None:
        self._exceeded = exceeded
        if self._task is not None:
            self._is_ours = True
            self._cancelling = self._task.cancelling()
            self._task.cancel()


def has_content(chunk: Chunk) -> bool:
    """Whether the chunk adds to the response. Notes and empty chunks do not."""
    if type(chunk) is TextChunk or type(chunk) is ReasoningChunk:  # `isinstance` takes longer
        return chunk.text != ""
    if type(chunk) is CallChunk:
        return chunk.arguments != "" or chunk.name != ""
    return type(chunk) is not NoteChunk


def model_timeout(model: str, timeouts: Timeouts) -> Callable[[str], ModelTimeout]:
    """Return a function that makes the error. `model` is the model's name and address, without credentials."""

    def fail(exceeded: str) -> ModelTimeout:
        if exceeded == "silence":
            return ModelTimeout(
                f"{model} sent no content for {timeouts.silence:g} s, so the run was stopped. "
                "If it needs longer, raise `timeout` of the model."
            )
        return ModelTimeout(
            f"{model} did not finish its response within {timeouts.answer:g} s, so the run was stopped. "
            "If its responses take longer, raise `total_timeout` of the model."
        )

    return fail
