"""Turns a model's chunks into events that open and close properly.

No adapter makes an id or an end: it is done here, once, for every model.

1. Text opens with its first piece and closes when a call begins, or with the answer. Text after that is a new message.
2. A call opens when its name is known. All calls stay open until the answer ends, because only the end tells that no
   further piece of any of them will come: pieces are told apart by their index, in whatever order they arrive.
   A call keeps the id that it came with, unless an earlier call of the run has it.
3. An answer is in memory until it has come to its end, so it has a bound, and so has the number of its calls. One that
   goes on beyond it is ended there.
4. An answer that breaks off closes what is open before the error goes on, so no client is left waiting for an end.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import assert_never

import msgspec

from rightseat.core.closing import closing
from rightseat.core.errors import AnswerTooLong, ModelUnreachable, TooManyCalls
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallStarted,
    Custom,
    Event,
    StopReason,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    Usage,
)
from rightseat.core.ids import new_id
from rightseat.core.model import CallChunk, Chunk, NoteChunk, StopChunk, TextChunk, ThoughtChunk, UsageChunk

ANSWER_LIMIT = 10_000_000
"""Characters of one answer. The longest that models give today have a twentieth of that."""

CALL_LIMIT = 1000
"""Calls of one answer. A model that is asked for many at once makes some dozens."""

BESIDE = 10
"""How many times as long as an answer what stands beside it may be: names of calls, probabilities of tokens."""

_encode = msgspec.json.Encoder().encode


async def frame(
    chunks: AsyncIterator[Chunk],
    taken: set[str] | None = None,
    *,
    renamed: bool = False,
    opened: tuple[str | None, str | None] = (None, None),
    limit: int = ANSWER_LIMIT,
    said: int = 0,
) -> AsyncIterator[Event]:
    """Add ids and start/end pairs to one answer of a model, and `AnswerEnded` where it came to its end.

    `taken` holds the ids that a call may not have, and gets those of the answer's calls added to it. With `renamed`
    every call gets an id of ours: an answer that is given anew may come with the ids of the one that broke off.
    `opened` are the ids of a text and of a thought that are open already, and go on.
    Text, thoughts and arguments of calls may have `limit` characters together, of which `said` were said already;
    raises `AnswerTooLong` beyond, and `TooManyCalls` for more calls than `CALL_LIMIT`.
    """
    framer = Framer(taken, renamed=renamed, opened=opened, limit=limit, said=said)
    feed = framer.feed
    failure: Exception | None = None
    try:
        async with closing(chunks):
            async for chunk in chunks:
                for event in feed(chunk):
                    yield event
    except Exception as error:
        failure = error
    for event in framer.close(whole=failure is None):
        yield event
    if failure:
        raise failure
    yield framer.end()


class Framer:
    """Feed it chunks, take its events. It never waits."""

    def __init__(
        self,
        taken: set[str] | None = None,
        *,
        renamed: bool = False,
        opened: tuple[str | None, str | None] = (None, None),
        limit: int = ANSWER_LIMIT,
        said: int = 0,
    ) -> None:
        self._renamed = renamed
        self._limit = limit
        self._left = limit - said
        self._left_beside = BESIDE * limit
        self._text, self._thought = opened
        self._spoken = self._text  # the message that calls belong to
        self._calls: dict[int, _Call] = {}  # by the model's index
        self._opened: list[_Call] = []
        self._taken: set[str] = set() if taken is None else taken
        self._reason: StopReason | None = None
        self._usage: Usage | None = None

    def feed(self, chunk: Chunk) -> Iterable[Event]:
        # The first two cases are the hot path: a piece of a text or of a call that is open.
        if type(chunk) is TextChunk:
            self._left -= len(chunk.text)
            if self._left < 0:
                raise AnswerTooLong(self._limit)
            if self._text is not None:
                return (TextDelta(self._text, chunk.text),) if chunk.text else ()
            return self._begin_text(chunk.text)
        if type(chunk) is CallChunk:
            return self._call(chunk)
        match chunk:
            case TextChunk() | CallChunk():
                raise AssertionError("handled above")
            case ThoughtChunk(text=text):
                self._count(text)
                return self._think(text)
            case UsageChunk():
                self._usage = Usage(
                    chunk.input_tokens, chunk.output_tokens, chunk.cache_read_tokens, chunk.cache_written_tokens
                )
            case StopChunk(reason=reason):
                self._reason = reason
            case NoteChunk(name=name, value=value):
                self._count_beside(len(_encode(value)))
                return (Custom(f"model.{name}", value),)
            case _:
                assert_never(chunk)
        return ()

    def close(self, *, whole: bool = True) -> Iterator[Event]:
        """End whatever is open. A call whose name never came cannot be made: see `end`."""
        yield from self._end_thought(whole)
        yield from self._end_text(whole)
        for call in self._opened:
            if call.id:
                yield CallEnded(call.id, whole)
        self._opened = [call for call in self._opened if not call.id]

    def end(self) -> AnswerEnded:
        if self._opened:
            raise ModelUnreachable("The model called a tool without naming it. Nothing was run.")
        return AnswerEnded(self._reason or ("calls" if self._calls else "stop"), self._usage)

    def _count(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise AnswerTooLong(self._limit)

    def _count_beside(self, size: int) -> None:
        self._left_beside -= size
        if self._left_beside < 0:
            raise AnswerTooLong(self._limit)

    def _begin_text(self, text: str) -> Iterator[Event]:
        if not text:
            return
        yield from self._end_thought()
        self._text = self._spoken = new_id("msg")
        yield TextStarted(self._text)
        yield TextDelta(self._text, text)

    def _end_text(self, whole: bool = True) -> Iterator[Event]:
        if self._text is not None:
            yield TextEnded(self._text, whole)
            self._text = None

    def _think(self, text: str) -> Iterator[Event]:
        if not text:
            return
        if self._thought is None:
            self._thought = new_id("thought")
            yield ThoughtStarted(self._thought)
        yield ThoughtDelta(self._thought, text)

    def _end_thought(self, whole: bool = True) -> Iterator[Event]:
        if self._thought is not None:
            yield ThoughtEnded(self._thought, whole)
            self._thought = None

    def _call(self, chunk: CallChunk) -> Iterable[Event]:
        self._count(chunk.arguments)
        call = self._calls.get(chunk.index)
        if call is None or call.is_another(chunk):
            if len(self._opened) >= CALL_LIMIT:
                raise TooManyCalls(CALL_LIMIT)
            call = self._calls[chunk.index] = _Call()
            self._opened.append(call)
        call.given = call.given or chunk.id
        if call.id:
            return (CallDelta(call.id, chunk.arguments),) if chunk.arguments else ()
        if chunk.arguments:
            call.early.append(chunk.arguments)
        return self._begin_call(call, chunk.name) if chunk.name else ()

    def _begin_call(self, call: "_Call", name: str) -> Iterator[Event]:
        yield from self._end_thought()
        yield from self._end_text()
        self._count_beside(len(name) + len(call.given))
        call.name = name
        keeps = call.given and not self._renamed and call.given not in self._taken
        call.id = call.given if keeps else new_id("call")
        self._taken.add(call.id)
        yield CallStarted(call.id, name, self._spoken)
        if early := "".join(call.early):
            yield CallDelta(call.id, early)
        call.early.clear()


class _Call:
    """A call on its way: its id is set once its name is known, and what came before is kept until then."""

    __slots__ = ("early", "given", "id", "name")

    def __init__(self) -> None:
        self.given = ""
        self.name = ""
        self.id = ""
        self.early: list[str] = []

    def is_another(self, chunk: CallChunk) -> bool:
        """Some servers put every call at index 0. Then a new name begins the next one, or a new id beside a name.

        A new id alone does not: there are servers that make one up for every piece.
        """
        if not chunk.name or not self.name:
            return False
        return chunk.name != self.name or bool(chunk.id and self.given and chunk.id != self.given)
