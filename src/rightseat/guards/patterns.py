"""Phrases and patterns that are not to be asked, said or handed to a tool."""

from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rightseat.core.errors import Denied
from rightseat.core.guard import Guard
from rightseat.guards import expressions
from rightseat.guards.expressions import BadPattern, Pattern
from rightseat.guards.normalization import UNSEEN
from rightseat.guards.scanning import EVERYWHERE, Finder, Spelling, Where
from rightseat.parts import Parts


def _read_by(make: Callable[[str], object]) -> AfterValidator:
    def check(text: str) -> str:
        try:
            make(text)
        except BadPattern as error:
            raise PydanticCustomError("pattern", "{text}", {"text": str(error)}) from error
        return text

    return AfterValidator(check)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "patterns"
    """What the guard is called in the run and in the server's log."""
    phrases: tuple[Annotated[str, _read_by(expressions.phrase)], ...] = ()
    """Words that are denied, however they are written: in upper or lower case, in full-width or mathematical letters,
    with marks on them, with any white space between them."""
    patterns: tuple[Annotated[str, _read_by(expressions.pattern)], ...] = ()
    """Regular expressions that are denied, in Python's syntax without look-around and back-references. Each has an end:
    `{1,64}` in place of `+`."""
    on: tuple[Where, ...] = Field(default=EVERYWHERE, min_length=1)
    """Where to look: in the person's `question`, in the `answer`, in the arguments of a tool's `call`."""
    reason: str = "This is not talked about here."
    """What whoever asked is told."""


def build(options: Options, parts: Parts) -> Guard:
    patterns = [*expressions.phrases(options.phrases), *map(expressions.pattern, options.patterns)]
    return Finder(options.name, Patterns(patterns, options.reason), options.on)


class Patterns:
    """`scanning.Search` for patterns: in the normalised text, and in the text as it was written where that is another.

    What may be read as nothing or as a blank is read as itself, as nothing and as a blank.
    """

    seam = UNSEEN

    def __init__(self, patterns: Iterable[Pattern], reason: str) -> None:
        patterns = list(patterns)
        self.window = max((pattern.longest for pattern in patterns), default=0)
        self._normalized = [pattern.normalized for pattern in patterns if pattern.normalized]
        self._raw = [pattern.raw for pattern in patterns if pattern.raw]
        self._reason = reason

    def __call__(self, normalized: Spelling, raw: Spelling, *, final: bool) -> None:
        text, start = normalized.text, normalized.start
        spellings = [text]
        if UNSEEN in text:
            context, rest = text[:start], text[start:]
            spellings.append(context + rest.replace(UNSEEN, ""))
            spellings.append(context + rest.replace(f"{UNSEEN} ", " ").replace(UNSEEN, " "))
        for expression in self._normalized:
            for spelling in spellings:
                if expression.is_in(spelling, start, final=final):
                    raise Denied(self._reason)
        if raw.text != text:
            for expression in self._raw:
                if expression.is_in(raw.text, raw.start, final=final):
                    raise Denied(self._reason)
