"""Continues an interrupted model response where it stopped, if the model is a `core.model.SupportsContinuation`.

The part that the log already has is emitted again, under the same ids, so that the guards, the saved step and the
thread receive the complete response. `core.run.replay` compares it with the log and writes only the new part.

A model that cannot continue generates a new response, and the partial one is retracted. So is a response in which a
tool call had begun: partial arguments mean nothing, and a different second half might mean something else.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from rightseat.concurrency import aclosing
from rightseat.core.engine import HasPartialResponse, PartialResponse, Steps
from rightseat.core.errors import ModelRefused
from rightseat.core.events import Event, ReasoningDelta, TextDelta
from rightseat.core.model import (
    CannotContinue,
    Chunk,
    Model,
    PartialOutput,
    Prompt,
    ReasoningChunk,
    SupportsContinuation,
    SupportsReadiness,
    TextChunk,
)
from rightseat.core.stream.framer import MAX_RESPONSE_CHARS, frame

logger = logging.getLogger(__name__)

T = TypeVar("T")


class ResumedSteps:
    """The steps of a run that another process began, with the partial response from that process's log."""

    def __init__(self, steps: Steps, log: HasPartialResponse) -> None:
        self._steps = steps
        self.resumed: HasPartialResponse | None = log

    @property
    def is_shutting_down(self) -> bool:
        return self._steps.is_shutting_down

    @is_shutting_down.setter
    def is_shutting_down(self, value: bool) -> None:
        self._steps.is_shutting_down = value

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await self._steps.do(name, kind, work)

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return self._steps.stream(name, source)


def stream_response(
    model: Model,
    prompt: Prompt,
    steps: Steps,
    taken: set[str] | None = None,
    *,
    renamed: bool = False,
    limit: int = MAX_RESPONSE_CHARS,
    on_first: Callable[[], None] | None = None,
) -> AsyncIterator[Event]:
    """Stream one model response as events: the rest of an interrupted one, or a new one.

    `limit` and `on_first` are those of `frame`.
    """
    if steps.resumed is None:
        return frame(model.stream(prompt), taken, renamed=renamed, limit=limit, on_first=on_first)
    half = steps.resumed.partial_response()
    return _continue_or_restart(half, model, prompt, taken, renamed, limit, on_first)


async def _continue_or_restart(
    half: PartialResponse | None,
    model: Model,
    prompt: Prompt,
    taken: set[str] | None,
    renamed: bool,
    limit: int,
    on_first: Callable[[], None] | None,
) -> AsyncIterator[Event]:
    if isinstance(model, SupportsReadiness):
        await model.wait_until_ready()  # it may have run in the process that died; this one has only just started it
    if half is not None:
        partial = partial_output(half)
        rest = _continue(model, prompt, partial)
        async with aclosing(rest):
            first = await _read_first(rest)
            if first is not None:
                if on_first is not None:
                    on_first()
                for event in half.events:
                    yield event
                ids = (half.text_id, half.reasoning_id)
                emitted = len(partial.reasoning) + len(partial.text)
                framed = frame(_prepend(first, rest), taken, renamed=renamed, opened=ids, limit=limit, emitted=emitted)
                async with aclosing(framed) as events:
                    async for event in events:
                        yield event
                return
    framed = frame(model.stream(prompt), taken, renamed=renamed, limit=limit, on_first=on_first)
    async with aclosing(framed) as events:
        async for event in events:
            yield event


def partial_output(response: PartialResponse) -> PartialOutput:
    return PartialOutput(
        "".join(event.text for event in response.events if isinstance(event, ReasoningDelta)),
        "".join(event.text for event in response.events if isinstance(event, TextDelta)),
        is_reasoning=response.reasoning_id is not None,
    )


async def _continue(model: Model, prompt: Prompt, partial: PartialOutput) -> AsyncIterator[Chunk]:
    if not isinstance(model, SupportsContinuation):
        raise CannotContinue("its model cannot continue a response")
    async with aclosing(model.continue_stream(prompt, partial)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _read_first(rest: AsyncIterator[Chunk]) -> Chunk | None:
    """Return the first chunk, or None if the model cannot continue. Other errors are raised as usual."""
    try:
        return await anext(rest)
    except StopAsyncIteration:
        why = "its model returned no content"
    except CannotContinue as error:
        why = str(error)
    except ModelRefused as error:
        why = error.log_message
    logger.warning("a response that was cut off is discarded and generated again: %s", why)
    return None


async def _prepend(first: Chunk, rest: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    yield first
    async for chunk in rest:
        yield chunk


class OverlapFilter:
    """Removes the text of `partial` from the start of a model's chunks, character by character.

    For a model that restarts slightly before the end of the partial output, where a token may extend beyond that end.
    """

    def __init__(self, partial: PartialOutput) -> None:
        self._reasoning, self._text = partial.reasoning, partial.text

    @property
    def is_through(self) -> bool:
        return not self._reasoning and not self._text

    def filter(self, chunk: Chunk) -> Chunk | None:
        """Return the new part of the chunk. Raises `CannotContinue` if the chunk differs from the partial output."""
        if self.is_through:
            return chunk
        if isinstance(chunk, ReasoningChunk) and self._reasoning:
            self._reasoning, new = strip_known_prefix(chunk.text, self._reasoning)
            return ReasoningChunk(new) if new else None
        if isinstance(chunk, TextChunk) and not self._reasoning:
            self._text, new = strip_known_prefix(chunk.text, self._text)
            return TextChunk(new) if new else None
        raise CannotContinue("the output of the model differs from its partial response")


def strip_known_prefix(text: str, known: str) -> tuple[str, str]:
    """Return (remaining known prefix, new text)."""
    if text.startswith(known):
        return "", text[len(known) :]
    if known.startswith(text):
        return known[len(text) :], ""
    raise CannotContinue("the output of the model differs from its partial response")
