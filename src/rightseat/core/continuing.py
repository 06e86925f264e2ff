"""An answer that broke off goes on where it stopped, if its model can do that (`core.model.Continuing`).

What the log has of it is said again, under the ids that it had. So whoever reads along has it whole: the guards, the
step that is kept, the thread. `core.resuming` holds it against the log, and writes only what comes after.

A model that cannot go on gives its answer anew, and the half is taken back. So is one in which a call had begun: half
of its arguments mean nothing, and another half might mean something else.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from rightseat.core.closing import closing
from rightseat.core.engine import HasPartialAnswer, PartialAnswer, Steps
from rightseat.core.errors import ModelRefused
from rightseat.core.events import Event, TextDelta, ThoughtDelta
from rightseat.core.framing import ANSWER_LIMIT, frame
from rightseat.core.model import (
    Begun,
    CannotContinue,
    Chunk,
    Continuing,
    Model,
    Prompt,
    Starting,
    TextChunk,
    ThoughtChunk,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")


class ResumedSteps:
    """The steps of a run that another process began, and the log of that process."""

    def __init__(self, steps: Steps, log: HasPartialAnswer) -> None:
        self._steps = steps
        self.resumed: HasPartialAnswer | None = log

    @property
    def is_leaving(self) -> bool:
        return self._steps.is_leaving

    @is_leaving.setter
    def is_leaving(self, value: bool) -> None:
        self._steps.is_leaving = value

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await self._steps.do(name, kind, work)

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return self._steps.stream(name, source)


def answer(
    model: Model,
    prompt: Prompt,
    steps: Steps,
    taken: set[str] | None = None,
    *,
    renamed: bool = False,
    limit: int = ANSWER_LIMIT,
) -> AsyncIterator[Event]:
    """One answer of a model, framed: the rest of one that broke off, or a new one. `limit` is that of `frame`."""
    if steps.resumed is None:
        return frame(model.stream(prompt), taken, renamed=renamed, limit=limit)
    return _rest_or_anew(steps.resumed.partial_answer(), model, prompt, taken, renamed, limit)


async def _rest_or_anew(
    half: PartialAnswer | None, model: Model, prompt: Prompt, taken: set[str] | None, renamed: bool, limit: int
) -> AsyncIterator[Event]:
    if isinstance(model, Starting):
        await model.ready()  # the process that died may have had it running, and this one has just begun to
    if half is not None:
        begun = partial_output(half)
        rest = _rest(model, prompt, begun)
        async with closing(rest):
            first = await _first(rest)
            if first is not None:
                for event in half.events:
                    yield event
                ids = (half.text_id, half.thought_id)
                said = len(begun.thought) + len(begun.text)
                whole = frame(_after(first, rest), taken, renamed=renamed, opened=ids, limit=limit, said=said)
                async with closing(whole) as events:
                    async for event in events:
                        yield event
                return
    async with closing(frame(model.stream(prompt), taken, renamed=renamed, limit=limit)) as events:
        async for event in events:
            yield event


def partial_output(answer: PartialAnswer) -> Begun:
    return Begun(
        "".join(event.text for event in answer.events if isinstance(event, ThoughtDelta)),
        "".join(event.text for event in answer.events if isinstance(event, TextDelta)),
        is_thinking=answer.thought_id is not None,
    )


async def _rest(model: Model, prompt: Prompt, begun: Begun) -> AsyncIterator[Chunk]:
    if not isinstance(model, Continuing):
        raise CannotContinue("its model can only answer from the beginning")
    async with closing(model.go_on(prompt, begun)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _first(rest: AsyncIterator[Chunk]) -> Chunk | None:
    """It tells whether there is a rest at all; None where there is none. What else goes wrong is an error as ever."""
    try:
        return await anext(rest)
    except StopAsyncIteration:
        why = "its model said nothing"
    except CannotContinue as error:
        why = str(error)
    except ModelRefused as error:
        why = error.log_message
    logger.warning("an answer that broke off is taken back and given anew: %s", why)
    return None


async def _after(first: Chunk, rest: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    yield first
    async for chunk in rest:
        yield chunk


class Known:
    """Takes out of a model's chunks what was said before: all of `begun`, to the character.

    For a model that is made to begin a little before the end of what was said, where a token may go on beyond it.
    """

    def __init__(self, begun: Begun) -> None:
        self._thought, self._text = begun.thought, begun.text

    @property
    def is_through(self) -> bool:
        return not self._thought and not self._text

    def take(self, chunk: Chunk) -> Chunk | None:
        """What is new of it. Raises `CannotContinue` where it is something else than what was said."""
        if self.is_through:
            return chunk
        if isinstance(chunk, ThoughtChunk) and self._thought:
            self._thought, new = behind(chunk.text, self._thought)
            return ThoughtChunk(new) if new else None
        if isinstance(chunk, TextChunk) and not self._thought:
            self._text, new = behind(chunk.text, self._text)
            return TextChunk(new) if new else None
        raise CannotContinue("its model went on in another way than it had begun")


def behind(text: str, known: str) -> tuple[str, str]:
    """What is left of what is known, and what is new in the text."""
    if text.startswith(known):
        return "", text[len(known) :]
    if known.startswith(text):
        return known[len(text) :], ""
    raise CannotContinue("its model went on in another way than it had begun")
