"""Phrases and patterns that are not to be asked, said or handed to a tool."""

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rightseat.core.errors import Denied
from rightseat.core.guard import Guard
from rightseat.guards import scanning
from rightseat.guards.scanning import EVERYWHERE, BadPattern, Finder, Pattern, Where, spaced, start
from rightseat.parts import Parts


def _read_by(make: Callable[[str, str], Pattern]) -> AfterValidator:
    def check(text: str) -> str:
        try:
            make(text, "")
        except BadPattern as error:
            raise PydanticCustomError("pattern", "{text}", {"text": str(error)}) from error
        return text

    return AfterValidator(check)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "patterns"
    """What the guard is called in the run and in the server's log."""
    phrases: tuple[Annotated[str, _read_by(scanning.phrase)], ...] = ()
    """Words that are denied, however they are written: upper or lower case, any white space between them."""
    patterns: tuple[Annotated[str, _read_by(scanning.pattern)], ...] = ()
    """Regular expressions that are denied. Each has an end: `{1,64}` in place of `+`."""
    on: tuple[Where, ...] = Field(default=EVERYWHERE, min_length=1)
    """Where to look: in the person's `question`, in the `answer`, in the arguments of a tool's `call`."""
    reason: str = "This is not talked about here."
    """What whoever asked is told."""


def build(options: Options, parts: Parts) -> Guard:
    phrases = [scanning.phrase(text, options.reason) for text in options.phrases]
    patterns = [*phrases, *(scanning.pattern(text, options.reason) for text in options.patterns)]
    window = max((pattern.longest for pattern in patterns), default=0)
    return Finder(options.name, Patterns(patterns), window, options.on)


class Patterns:
    """`scanning.Search` for patterns, in the text as it is and in the text with single spaces."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = patterns

    def __call__(self, text: str, *, final: bool = True, new: int | None = None) -> None:
        plain = spaced(text)
        spellings = (text,) if plain is text or plain == text else (text, plain)
        for one in self._patterns:
            for spelt in spellings:
                found = one.compiled.search(spelt, start(spelt, new, one.longest))
                if found and (final or found.end() < len(spelt)):
                    raise Denied(one.reason)
