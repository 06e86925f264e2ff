"""Turns a model's chunks into events with ids and matching starts and ends.

Adapters never create ids or end events; the framer does it for every model.

1. Text starts with its first chunk and ends when a call starts or the response ends. Later text is a new message.
2. A call starts when its name is known. All calls stay open until the response ends, because chunks of different calls,
   which are distinguished by index, may arrive in any order until then.
   A call keeps the id that the model gave it, unless an earlier call of the run has the same id.
3. A response is held in memory until it ends, so its length and its number of calls are limited. A response that
   exceeds a limit is ended there.
4. A call that is cut off with its response, by the token limit or by a filter, ends as incomplete, with a warning.
5. If a response fails, everything open is ended before the error is raised, so no client waits for a missing end.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import assert_never, get_args

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core import events as e
from rightseat.core.errors import ModelError, ModelUnreachable, ResponseTooLong, TooManyToolCalls
from rightseat.core.ids import new_id
from rightseat.core.model import CallChunk, Chunk, NoteChunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.types import JSON_ERRORS

MAX_RESPONSE_CHARS = 10_000_000
"""Characters of one response. The longest responses of today's models have a twentieth of that."""

MAX_CALLS_PER_RESPONSE = 1000
"""Tool calls of one response. A model that is asked for many at once makes a few dozen."""

MAX_BESIDE_FACTOR = 10
"""The limit for metadata, such as names of calls and token probabilities, as a multiple of the response limit."""

STOP_REASONS: tuple[str, ...] = get_args(e.StopReason)

CUT_BY: dict[e.StopReason, str] = {"length": "the token limit (`max_tokens`)", "filtered": "the provider's filter"}
"""Stop reasons with which a response may end in the middle of a call."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


async def frame(
    chunks: AsyncIterator[Chunk],
    taken: set[str] | None = None,
    *,
    renamed: bool = False,
    opened: tuple[str | None, str | None] = (None, None),
    limit: int = MAX_RESPONSE_CHARS,
    emitted: int = 0,
    on_first: Callable[[], None] | None = None,
) -> AsyncIterator[e.Event]:
    """Add ids and start/end pairs to one model response, and `ModelResponseEnded` if it completes.

    `taken` holds the ids that a call may not have; the ids of this response's calls are added to it. With `renamed`
    every call gets a new id: a regenerated response may have the same ids as the interrupted one.
    `opened` are the ids of a text and of reasoning that are already open and continue.
    Text, reasoning and call arguments may have `limit` characters in total, of which `emitted` have already been sent.
    Raises `ResponseTooLong` above that, and `TooManyToolCalls` for more calls than `MAX_CALLS_PER_RESPONSE`.
    `on_first` is called once, when the first text, reasoning or call of the response begins.
    """
    framer = Framer(taken, renamed=renamed, opened=opened, limit=limit, emitted=emitted, on_first=on_first)
    feed = framer.feed
    failure: Exception | None = None
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                for event in feed(chunk):
                    yield event
    except Exception as error:
        failure = error
    for event in framer.close(complete=failure is None):
        yield event
    if failure:
        raise failure
    yield framer.end()


class Framer:
    """Takes chunks and returns events. It never waits."""

    def __init__(
        self,
        taken: set[str] | None = None,
        *,
        renamed: bool = False,
        opened: tuple[str | None, str | None] = (None, None),
        limit: int = MAX_RESPONSE_CHARS,
        emitted: int = 0,
        on_first: Callable[[], None] | None = None,
    ) -> None:
        self._on_first = on_first
        self._renamed = renamed
        self._limit = limit
        self._left = limit - emitted
        self._left_beside = MAX_BESIDE_FACTOR * limit
        self._text_id, self._reasoning_id = opened
        self._parent_id = self._text_id  # the message that calls belong to
        self._calls: dict[int, _Call] = {}  # by the index of their chunks
        self._opened: list[_Call] = []
        self._taken: set[str] = set() if taken is None else taken
        self._reason: e.StopReason | None = None
        self._usage: e.Usage | None = None

    def feed(self, chunk: Chunk) -> Iterable[e.Event]:
        # The first two cases are the hot path: chunks of text and of calls.
        if type(chunk) is TextChunk:
            self._left -= len(chunk.text)
            if self._left < 0:
                raise ResponseTooLong(self._limit)
            if self._text_id is not None:
                return (e.TextDelta(self._text_id, chunk.text),) if chunk.text else ()
            return self._begin_text(chunk.text)
        if type(chunk) is CallChunk:
            return self._add_call(chunk)
        match chunk:
            case TextChunk() | CallChunk():
                raise AssertionError("handled above")
            case ReasoningChunk(text=text):
                self._count(text)
                return self._add_reasoning(text)
            case UsageChunk():
                self._usage = e.Usage(
                    chunk.input_tokens,
                    chunk.output_tokens,
                    chunk.cache_read_tokens,
                    chunk.cache_written_tokens,
                    chunk.reasoning_tokens,
                )
            case StopChunk(reason=reason):
                if reason not in STOP_REASONS:  # a log with this reason could not be read again
                    raise ModelError(
                        f"The model ended its response with the reason {reason!r}, which is not one of"
                        f" {', '.join(STOP_REASONS)}. Correct the StopChunk of this model."
                    )
                self._reason = reason
            case NoteChunk(name=name, value=value):
                self._count_beside(len(_encode(value)))
                return (e.Custom(f"model.{name}", value),)
            case _:
                assert_never(chunk)
        return ()

    def close(self, *, complete: bool = True) -> Iterator[e.Event]:
        """End everything open. A call without a name cannot be run: see `end`."""
        yield from self._end_reasoning(complete)
        yield from self._end_text(complete)
        for call in self._opened:
            if call.id:
                if is_cut := complete and self._reason in CUT_BY and not call.is_json():
                    yield e.Custom("model.warning", explain_cut(call.name, self._reason))
                yield e.ToolCallEnded(call.id, complete and not is_cut)
        self._opened = [call for call in self._opened if not call.id]

    def end(self) -> e.ModelResponseEnded:
        if self._opened:
            raise ModelUnreachable("The model called a tool without a name. No tool was run.")
        return e.ModelResponseEnded(self._reason or ("tool_calls" if self._calls else "stop"), self._usage)

    def _count(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise ResponseTooLong(self._limit)

    def _count_beside(self, size: int) -> None:
        self._left_beside -= size
        if self._left_beside < 0:
            raise ResponseTooLong(self._limit)

    def _note_first(self) -> None:
        if self._on_first is not None:
            self._on_first()
            self._on_first = None

    def _begin_text(self, text: str) -> Iterator[e.Event]:
        if not text:
            return
        self._note_first()
        yield from self._end_reasoning()
        self._text_id = self._parent_id = new_id("msg")
        yield e.TextStarted(self._text_id)
        yield e.TextDelta(self._text_id, text)

    def _end_text(self, complete: bool = True) -> Iterator[e.Event]:
        if self._text_id is not None:
            yield e.TextEnded(self._text_id, complete)
            self._text_id = None

    def _add_reasoning(self, text: str) -> Iterator[e.Event]:
        if not text:
            return
        if self._reasoning_id is None:
            self._note_first()
            self._reasoning_id = new_id("reasoning")
            yield e.ReasoningStarted(self._reasoning_id)
        yield e.ReasoningDelta(self._reasoning_id, text)

    def _end_reasoning(self, complete: bool = True) -> Iterator[e.Event]:
        if self._reasoning_id is not None:
            yield e.ReasoningEnded(self._reasoning_id, complete)
            self._reasoning_id = None

    def _add_call(self, chunk: CallChunk) -> Iterable[e.Event]:
        self._count(chunk.arguments)
        call = self._calls.get(chunk.index)
        if call is None or call.is_another(chunk):
            if len(self._opened) >= MAX_CALLS_PER_RESPONSE:
                raise TooManyToolCalls(MAX_CALLS_PER_RESPONSE)
            call = self._calls[chunk.index] = _Call()
            self._opened.append(call)
        call.given = call.given or chunk.id
        if chunk.arguments:
            call.pieces.append(chunk.arguments)
        if call.id:
            return (e.ToolCallDelta(call.id, chunk.arguments),) if chunk.arguments else ()
        return self._begin_call(call, chunk.name) if chunk.name else ()

    def _begin_call(self, call: "_Call", name: str) -> Iterator[e.Event]:
        self._note_first()
        yield from self._end_reasoning()
        yield from self._end_text()
        self._count_beside(len(name) + len(call.given))
        call.name = name
        keeps = call.given and not self._renamed and call.given not in self._taken
        call.id = call.given if keeps else new_id("call")
        self._taken.add(call.id)
        yield e.ToolCallStarted(call.id, name, self._parent_id)
        if early := "".join(call.pieces):
            yield e.ToolCallDelta(call.id, early)


def explain_cut(name: str, reason: e.StopReason | None) -> str:
    return f"The call of {name!r} was cut off by {CUT_BY[reason or 'length']}. It is no call and is not run."


class _Call:
    """A call in progress. Its id is set once its name is known. `pieces` are those of its arguments."""

    __slots__ = ("given", "id", "name", "pieces")

    def __init__(self) -> None:
        self.given = ""
        self.name = ""
        self.id = ""
        self.pieces: list[str] = []

    def is_json(self) -> bool:
        try:
            _decode("".join(self.pieces))
        except JSON_ERRORS:
            return False
        return True

    def is_another(self, chunk: CallChunk) -> bool:
        """Whether the chunk begins another call. Some servers send every call with index 0.

        A different name begins another call, and so does a different id with a name. A different id alone does not,
        because some servers generate an id for every chunk.
        """
        if not chunk.name or not self.name:
            return False
        return chunk.name != self.name or bool(chunk.id and self.given and chunk.id != self.given)
