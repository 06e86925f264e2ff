"""A guard that blocks phrases and patterns in questions, answers and tool calls."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rightseat.core.errors import GuardDenied
from rightseat.core.guard import Guard
from rightseat.guards import expressions
from rightseat.guards.expressions import BadPattern, Pattern
from rightseat.guards.normalization import INVISIBLE, normalize_with_places
from rightseat.guards.scanner import ALL_PARTS, CheckedPart, SearchGuard, TextSpan, TextTail
from rightseat.parts import Parts


def _validated_by(make: Callable[[str], object]) -> AfterValidator:
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
    """The name of the guard in events and in the server log."""
    phrases: tuple[Annotated[str, _validated_by(expressions.phrase)], ...] = ()
    """Blocked phrases. Case, full-width or mathematical letters, combining marks and white space make no difference."""
    patterns: tuple[Annotated[str, _validated_by(expressions.pattern)], ...] = ()
    """Blocked regular expressions, in Python syntax without look-around and back-references. Each must be bounded:
    `{1,64}` instead of `+`."""
    applies_to: tuple[CheckedPart, ...] = Field(default=ALL_PARTS, min_length=1)
    """What is checked: the user's `question`, the `answer`, the arguments of a tool `call`, a `memory` before it is
    saved."""
    reason: str = "Sorry, I can't help with that topic."
    """The message for the user."""


def build(options: Options, parts: Parts) -> Guard:
    patterns = [*expressions.phrases(options.phrases), *map(expressions.pattern, options.patterns)]
    return SearchGuard(options.name, Patterns(patterns, options.reason), options.applies_to)


class Patterns:
    """Searches for patterns in the normalised text, and in the text as written if it differs.

    Invisible characters are tried as themselves, as nothing and as a blank.
    """

    separator = INVISIBLE

    def __init__(self, patterns: Iterable[Pattern], reason: str) -> None:
        patterns = list(patterns)
        self.window = max((pattern.max_chars for pattern in patterns), default=0)
        self._normalized = [pattern.normalized for pattern in patterns if pattern.normalized]
        self._raw = [pattern.raw for pattern in patterns if pattern.raw]
        self._reason = reason

    def find(self, text: str) -> Iterator[TextSpan]:
        plain, places = normalize_with_places(text)
        for expression in self._normalized:
            yield from (TextSpan(places[start], places[end - 1] + 1, "phrase") for start, end in expression.find(plain))
        for expression in self._raw:
            yield from (TextSpan(start, end, "phrase") for start, end in expression.find(text))

    def __call__(self, normalized: TextTail, raw: TextTail, *, final: bool) -> None:
        text, start = normalized.text, normalized.start
        spellings = [text]
        if INVISIBLE in text:
            context, rest = text[:start], text[start:]
            spellings.append(context + rest.replace(INVISIBLE, ""))
            spellings.append(context + rest.replace(f"{INVISIBLE} ", " ").replace(INVISIBLE, " "))
        for expression in self._normalized:
            for spelling in spellings:
                if expression.is_in(spelling, start, final=final):
                    raise GuardDenied(self._reason)
        if raw.text != text:
            for expression in self._raw:
                if expression.is_in(raw.text, raw.start, final=final):
                    raise GuardDenied(self._reason)
