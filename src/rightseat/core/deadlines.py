"""Bounds in time for one streamed answer of an upstream: how long it may be silent, and how long it may take.

A comment that keeps the connection alive, and a chunk without content, are silence. Time in which the reader does not
wait for the upstream, because its own client is slow, is not.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from rightseat.core.errors import ModelTimeout, RightseatError
from rightseat.core.model import CallChunk, Chunk, NoteChunk, TextChunk, ThoughtChunk

SILENCE_SECONDS = 300.0
ANSWER_SECONDS = 3600.0


class Timeouts(NamedTuple):
    """In seconds. `answer` is None where a stream may go on for as long as it is not silent."""

    silence: float = SILENCE_SECONDS
    answer: float | None = ANSWER_SECONDS


class Deadlines:
    """Watches one stream that an async generator reads. It costs one timer, and some 200 ns a network read:

        with Deadlines(timeouts, fail) as deadlines:
            async for piece in response:
                deadlines.pause()
                ...  # decode it, yield what is in it
                deadlines.resume(has_content)

    What is exceeded while the generator waits cancels that wait, and the block raises `fail("silence")` or
    `fail("answer")`; what is exceeded while its reader is busy is raised by `resume`. A cancel from elsewhere stays a
    cancel.
    """

    __slots__ = (
        "_cancelling",
        "_clock",
        "_exceeded",
        "_fail",
        "_heard_at",
        "_is_ours",
        "_task",
        "_timeouts",
        "_timer",
        "_until",
    )  # fmt: skip

    def __init__(self, timeouts: Timeouts, fail: Callable[[str], RightseatError]) -> None:
        self._timeouts = timeouts
        self._fail = fail
        self._exceeded = ""
        self._is_ours = False  # the cancel that is on its way
        self._cancelling = 0

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._clock = loop.time
        self._heard_at = now = loop.time()
        self._until = None if self._timeouts.answer is None else now + self._timeouts.answer
        self._task = asyncio.current_task()
        self._timer = loop.call_at(self._next(), self._check)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        task, self._task = self._task, None
        if not self._is_ours or task is None:
            return
        is_alone = task.uncancel() <= self._cancelling
        if is_alone and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise self._fail(self._exceeded) from None

    def pause(self) -> None:
        """What came is being read: from here on the generator does not wait for the upstream."""
        self._task = None

    def resume(self, heard: bool) -> None:
        """It waits again. `heard` where what came had content."""
        if self._exceeded:
            raise self._fail(self._exceeded)
        if heard:
            self._heard_at = self._clock()
        self._task = asyncio.current_task()

    def _next(self) -> float:
        silent = self._heard_at + self._timeouts.silence
        return silent if self._until is None else min(silent, self._until)

    def _check(self) -> None:
        """Re-armed only when it rings, so that a chunk costs no timer."""
        now = self._clock()
        if self._until is not None and now >= self._until:
            return self._end("answer")
        if self._task is None:
            self._heard_at = now  # it is we who do not listen
        elif now >= self._heard_at + self._timeouts.silence:
            return self._end("silence")
        self._timer = asyncio.get_running_loop().call_at(self._next(), self._check)

    def _end(self, exceeded: str) -> None:
        self._exceeded = exceeded
        if self._task is not None:
            self._is_ours = True
            self._cancelling = self._task.cancelling()
            self._task.cancel()


def has_content(chunk: Chunk) -> bool:
    """Does it bring the answer forward? Notes and empty pieces do not."""
    if type(chunk) is TextChunk or type(chunk) is ThoughtChunk:  # `isinstance` takes longer
        return chunk.text != ""
    if type(chunk) is CallChunk:
        return chunk.arguments != "" or chunk.name != ""
    return type(chunk) is not NoteChunk


def model_timeout(model: str, timeouts: Timeouts) -> Callable[[str], ModelTimeout]:
    """Makes the error. `model` is how an operator knows it: its name and its address, without credentials."""

    def fail(exceeded: str) -> ModelTimeout:
        if exceeded == "silence":
            return ModelTimeout(
                f"{model} sent no content for {timeouts.silence:g} s, so the answer was ended. "
                "Raise `patience` of the model if it needs longer."
            )
        return ModelTimeout(
            f"{model} did not finish its answer within {timeouts.answer:g} s, so the answer was ended. "
            "Raise `answer_timeout` of the model if its answers take longer."
        )

    return fail
