"""Reads one answer: feed it pieces of what the model said, take its chunks. It never waits.

What comes out is checked. A call is made only of a tool that was offered; once its arguments are whole they are held
against the tool's schema. A model that broke its grammar there is an error, for nobody can tell what it meant.
"""

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache

import msgspec

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import CallChunk, Chunk, NoteChunk, TextChunk, ThoughtChunk
from rightseat.core.values import JSON_ERRORS, JsonValue
from rightseat.models.completion.grammar import checking
from rightseat.models.completion.grammar.bounds import Bounds
from rightseat.models.completion.reading import limits
from rightseat.models.completion.reading.source import Reading, Source, begins

logger = logging.getLogger(__name__)

Schemas = Mapping[str, Mapping[str, JsonValue]]
"""The tools that may be called: their names, and the schemas of their arguments."""


class Reader:
    """`answer` reads the whole of an answer from `source`; what it finds it hands to the methods below.

    `said` is what the prompt ends with and belongs to the answer already: it is read first. `most` is how many calls
    the answer may have: an engine that lets more through is not listened to any longer. `text` is the schema of a text.
    `bounds` are those of the grammar: what stopped at one of them is warned of.
    """

    def __init__(
        self,
        answer: "Callable[[Reader], Reading[None]]",
        schemas: Schemas,
        said: str = "",
        *,
        most: int | None = None,
        text: Mapping[str, JsonValue] | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.source = Source()
        self.schemas = schemas
        self.most = most
        self.called = 0
        self.dropped = ""  # the white space before the last mark
        self.cut = False  # the answer is over, and was not meant to end here
        self._spoke = False
        self._bounds = bounds or Bounds()
        self._checks: dict[str, checking.Check] = {}
        self._text_schema = text
        self._texts: list[str] = []
        self._chunks: list[Chunk] = []
        self._arguments: list[str] | None = None
        self._name = ""
        self._reading: Reading[None] | None = answer(self)
        if said:
            self.feed(said)

    def feed(self, text: str) -> list[Chunk]:
        self.source.add(text)
        return self._read_on()

    def end(self, *, cut: bool) -> list[Chunk]:
        """What was held back. A call without an end is an error, unless the answer was `cut`."""
        self.source.ended, self.cut = True, cut
        try:
            chunks = self._read_on()
        except Broken:
            if not cut:
                raise
            chunks = self._take()
        if not cut:
            self._check_end()
        return [*chunks, *self._take()]

    def _check_end(self) -> None:
        if self.open:
            raise Broken(f"the arguments of {self._name!r} have no end")
        if self._text_schema is None or self.called:
            return
        text, check = "".join(self._texts), checking.compile(dict(self._text_schema))
        if problem := misfit(text, check):
            raise Broken(f"the text does not fit its schema: {problem}")
        self._warn("The answer", text, check)

    def check(self, name: str) -> checking.Check:
        """What the arguments of this tool are held against; made once, and only where it is called."""
        if name not in self._checks:
            self._checks[name] = checking.compile(dict(self.schemas[name]))
        return self._checks[name]

    def _warn(self, what: str, text: str, check: checking.Check) -> None:
        for sentence in limits.reached(text, check, self._bounds):
            self._chunks.append(NoteChunk("warning", f"{what} may be incomplete: {sentence}"))

    @property
    def open(self) -> bool:
        """Whether a call has begun that is not whole."""
        return self._arguments is not None

    def _read_on(self) -> list[Chunk]:
        if self._reading is not None:
            try:
                next(self._reading)
            except StopIteration:
                self._reading = None
            except _Enough:
                self._reading = None
                logger.warning("the model made more calls than the %s it may; they are left out", self.most)
        return self._take()

    def _take(self) -> list[Chunk]:
        chunks, self._chunks = self._chunks, []
        return chunks

    def say(self, text: str) -> None:
        """A piece of text. White space after a call is none."""
        if text and not (self.called and text.isspace()):
            self._spoke = True
            if self._text_schema is not None:
                self._texts.append(text)
            self._chunks.append(TextChunk(text))

    def think(self, text: str) -> None:
        if text:
            self._chunks.append(ThoughtChunk(text))

    def text(self, *marks: str) -> Reading[str | None]:
        """Say all before the first of these marks, and pass over it; None where the answer ends without one.

        White space before a mark is not said; neither is what may still become one, not even at the end of an answer
        that was cut before it said any text.
        """
        source, may_begin = self.source, _first_letters(marks)
        while True:
            text, at = source.text, source.at
            safe = len(text)
            if may_begin(text, at):  # nearly every piece holds none of them
                if found := [(where, mark) for mark in marks if (where := text.find(mark, at)) >= 0]:
                    return self._pass(*min(found))
                if not source.ended or (self.cut and not self._spoke):
                    safe = begins(text, at, marks)
            said = text[at:safe] if source.ended else text[at:safe].rstrip()
            if said:
                self.say(said)
                source.at = at + len(said)
            if not (yield from source.more()):
                return None

    def _pass(self, at: int, mark: str) -> str:
        """Over a mark, with what stands before it said."""
        source = self.source
        said = source.text[source.at : at].rstrip()
        self.dropped = source.text[source.at + len(said) : at]
        self.say(said)
        source.at = at + len(mark)
        return mark

    def begin(self, name: str) -> None:
        """A call of this tool."""
        if name not in self.schemas:
            raise Broken(f"it called {name!r}, which it was not offered")
        if self.called == self.most:
            raise _Enough
        self._name, self._arguments = name, []
        self._chunks.append(CallChunk(self.called, name=name))

    def argue(self, text: str) -> None:
        """More of the JSON text of the call's arguments."""
        if self._arguments is None:
            raise AssertionError("arguments of no call")
        self._arguments.append(text)
        self._chunks.append(CallChunk(self.called, text))

    def finish(self) -> None:
        """The call is whole."""
        arguments, self._arguments = "".join(self._arguments or ()), None
        check = self.check(self._name)
        if problem := misfit(arguments, check):
            raise Broken(f"the arguments of {self._name!r} do not fit: {problem}")
        self._warn(f"The call of {self._name!r}", arguments, check)
        self.called += 1

    def call(self, name: str, arguments: str) -> None:
        """A call that is there as a whole."""
        self.begin(name)
        self.argue(arguments)
        self.finish()


class _Enough(Exception):
    """One call more than the answer may have."""


class Broken(ModelUnreachable):
    """The model did not keep to the grammar it was held to."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The model broke the form of its answer: {problem}. Nothing was run.")


def misfit(text: str, check: checking.Check) -> str:
    """Why this JSON does not fit its schema; nothing where it does."""
    try:
        value = msgspec.json.decode(text)
    except JSON_ERRORS as error:
        return f"it is no JSON ({error})"
    return check(value) or ""


@cache
def _first_letters(marks: tuple[str, ...]) -> Callable[[str, int], object]:
    """Whether any mark may begin in a text, from a place on."""
    if not marks:
        return lambda text, at: None
    return re.compile("|".join(sorted({re.escape(mark[0]) for mark in marks}))).search
