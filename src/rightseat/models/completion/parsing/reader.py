"""Parses one response: takes pieces of the model's text, returns chunks, never waits.

The output is validated. A call must name a tool of the request, and its complete arguments must fit the tool's schema.
A model that broke its grammar there causes an error, because its intention is unknown.
"""

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache

import msgspec

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import CallChunk, Chunk, NoteChunk, ReasoningChunk, TextChunk
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.parsing import limits
from rightseat.models.completion.parsing.source import Reading, TextSource, find_partial_mark

logger = logging.getLogger(__name__)

Schemas = Mapping[str, Mapping[str, JsonValue]]
"""The tools that may be called: name → schema of the arguments."""


class Reader:
    """`parse` reads a whole response from `source` and reports what it finds to the methods below.

    `start` is the start of the response that the prompt ends with; it is parsed first. `max_calls` bounds the calls of
    the response: further output is ignored. `text` is the schema of a text. `bounds` are those of the grammar: a value
    that stopped at one of them causes a warning.
    """

    def __init__(
        self,
        parse: "Callable[[Reader], Reading[None]]",
        schemas: Schemas,
        start: str = "",
        *,
        max_calls: int | None = None,
        text: Mapping[str, JsonValue] | None = None,
        bounds: GrammarBounds | None = None,
    ) -> None:
        self.source = TextSource()
        self.schemas = schemas
        self.max_calls = max_calls
        self.called = 0
        self.dropped = ""  # white space before the last mark
        self.cut = False  # the response was cut short
        self._has_text = False
        self._bounds = bounds or GrammarBounds()
        self._checks: dict[str, validation.SchemaCheck] = {}
        self._text_schema = text
        self._texts: list[str] = []
        self._chunks: list[Chunk] = []
        self._arguments: list[str] | None = None
        self._name = ""
        self._reading: Reading[None] | None = parse(self)
        if start:
            self.feed(start)

    def feed(self, text: str) -> list[Chunk]:
        self.source.add(text)
        return self._resume()

    def end(self, *, cut: bool) -> list[Chunk]:
        """Return the buffered rest. A call without an end is an error, unless the response was `cut`."""
        self.source.ended, self.cut = True, cut
        try:
            chunks = self._resume()
        except InvalidOutput:
            if not cut:
                raise
            chunks = self._take()
        if not cut:
            self._check_end()
        return [*chunks, *self._take()]

    def _check_end(self) -> None:
        if self.open:
            raise InvalidOutput(f"the arguments of {self._name!r} have no end")
        if self._text_schema is None or self.called:
            return
        text, check = "".join(self._texts), validation.compile_schema(dict(self._text_schema))
        if problem := find_mismatch(text, check):
            raise InvalidOutput(f"the text does not match its schema: {problem}")
        self._warn("The response", text, check)

    def check(self, name: str) -> validation.SchemaCheck:
        """Return the validator of this tool's arguments, compiled when it is first called."""
        if name not in self._checks:
            self._checks[name] = validation.compile_schema(dict(self.schemas[name]))
        return self._checks[name]

    def _warn(self, what: str, text: str, check: validation.SchemaCheck) -> None:
        for sentence in limits.find_reached(text, check, self._bounds):
            self._chunks.append(NoteChunk("warning", f"{what} may be incomplete: {sentence}"))

    @property
    def open(self) -> bool:
        """Whether a call has started and not ended."""
        return self._arguments is not None

    def _resume(self) -> list[Chunk]:
        if self._reading is not None:
            try:
                next(self._reading)
            except StopIteration:
                self._reading = None
            except _TooManyCalls:
                self._reading = None
                logger.warning("the model made more than %s calls; the rest is ignored", self.max_calls)
        return self._take()

    def _take(self) -> list[Chunk]:
        chunks, self._chunks = self._chunks, []
        return chunks

    def add_text(self, text: str) -> None:
        """White space after a call is ignored."""
        if text and not (self.called and text.isspace()):
            self._has_text = True
            if self._text_schema is not None:
                self._texts.append(text)
            self._chunks.append(TextChunk(text))

    def add_reasoning(self, text: str) -> None:
        if text:
            self._chunks.append(ReasoningChunk(text))

    def read_text(self, *marks: str) -> Reading[str | None]:
        """Add the text before the first of these marks and skip the mark; None if the response ends without one.

        White space before a mark is dropped. Text that may be the start of a mark is held back, even at the end of a
        response that was cut before any text.
        """
        source, may_begin = self.source, _first_letters(marks)
        while True:
            text, at = source.text, source.at
            safe = len(text)
            if may_begin(text, at):  # nearly every piece has none of them
                if found := [(where, mark) for mark in marks if (where := text.find(mark, at)) >= 0]:
                    return self._skip(*min(found))
                if not source.ended or (self.cut and not self._has_text):
                    safe = find_partial_mark(text, at, marks)
            new = text[at:safe] if source.ended else text[at:safe].rstrip()
            if new:
                self.add_text(new)
                source.at = at + len(new)
            if not (yield from source.more()):
                return None

    def _skip(self, at: int, mark: str) -> str:
        """Skip a mark and add the text before it."""
        source = self.source
        new = source.text[source.at : at].rstrip()
        self.dropped = source.text[source.at + len(new) : at]
        self.add_text(new)
        source.at = at + len(mark)
        return mark

    def start_call(self, name: str) -> None:
        if name not in self.schemas:
            raise InvalidOutput(f"it called {name!r}, which is not among the tools")
        if self.called == self.max_calls:
            raise _TooManyCalls
        self._name, self._arguments = name, []
        self._chunks.append(CallChunk(self.called, name=name))

    def add_arguments(self, text: str) -> None:
        """`text` is a piece of the JSON of the call's arguments."""
        if self._arguments is None:
            raise AssertionError("arguments without a call")
        self._arguments.append(text)
        self._chunks.append(CallChunk(self.called, text))

    def end_call(self) -> None:
        """Validate the complete call."""
        arguments, self._arguments = "".join(self._arguments or ()), None
        check = self.check(self._name)
        if problem := find_mismatch(arguments, check):
            raise InvalidOutput(f"the arguments of {self._name!r} do not match the schema: {problem}")
        self._warn(f"The call of {self._name!r}", arguments, check)
        self.called += 1

    def add_call(self, name: str, arguments: str) -> None:
        """Add a complete call."""
        self.start_call(name)
        self.add_arguments(arguments)
        self.end_call()


class _TooManyCalls(Exception):
    """One call more than `max_calls`."""


class InvalidOutput(ModelUnreachable):
    """The model's output does not follow the grammar that constrained it."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The model's output is invalid: {problem}. No tool was run.")


def find_mismatch(text: str, check: validation.SchemaCheck) -> str:
    """Return why this JSON does not fit its schema, or an empty string."""
    try:
        value = msgspec.json.decode(text)
    except JSON_ERRORS as error:
        return f"it is not JSON ({error})"
    return check(value) or ""


@cache
def _first_letters(marks: tuple[str, ...]) -> Callable[[str, int], object]:
    """Return a search for the first character of any mark, from a position on."""
    if not marks:
        return lambda text, at: None
    return re.compile("|".join(sorted({re.escape(mark[0]) for mark in marks}))).search
