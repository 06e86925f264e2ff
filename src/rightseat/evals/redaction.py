"""Replaces personal data and secrets in a case before it is written: the same value by the same placeholder."""

import re
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pydantic import BaseModel

from rightseat.core.types import JsonValue
from rightseat.egress.redaction import Redactor
from rightseat.guards.scanner import FindsSpans, TextSpan

Model = TypeVar("Model", bound=BaseModel)

SECRETS = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,200}"  # OpenAI, Anthropic, Stripe
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS
    r"|\bgh[pousr]_[A-Za-z0-9]{30,255}|\bgithub_pat_\w{30,255}"
    r"|\bglpat-[A-Za-z0-9_-]{16,100}|\bxox[abeoprs]-[A-Za-z0-9-]{10,250}|\bAIza[0-9A-Za-z_-]{30,60}"
    r"|\bBearer +[A-Za-z0-9._~+/-]{16,4000}=*"
    r"|\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{0,2000}"  # a JSON Web Token
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
MIN_CARD_DIGITS = 13
STEP_CHARS, LONGEST_SPAN = 16_384, 16_384
"""A search keeps Python's interpreter lock for a whole text: a second for a megabyte. So long texts are searched in
steps, each with what may belong to a span that begins in it."""


class SecretSpans:
    """A `FindsSpans` for what looks like a key or a token."""

    def find(self, text: str) -> Iterator[TextSpan]:
        return (TextSpan(found.start(), found.end(), "secret") for found in SECRETS.finditer(text))


class Redaction:
    """`secrets` are those of the configuration. `values` is how many different values were replaced."""

    def __init__(self, finders: Sequence[FindsSpans], secrets: Redactor) -> None:
        self._finders = (SecretSpans(), *finders)
        self._secrets = secrets
        self._placeholders: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    @property
    def values(self) -> int:
        return len(self._placeholders)

    def redact_text(self, text: str) -> str:
        text = self._secrets.redact_text(text)
        spans = sorted(self._find(text))
        pieces, end = list[str](), 0
        for span in spans:
            if span.end <= end:
                continue
            start = max(span.start, end)
            pieces += (text[end:start], self._placeholder(span.kind, text[start : span.end]))
            end = span.end
        return "".join([*pieces, text[end:]])

    def _find(self, text: str) -> Iterator[TextSpan]:
        if len(text) <= STEP_CHARS + LONGEST_SPAN:
            yield from (span for finder in self._finders for span in finder.find(text))
            return
        for step in range(0, len(text), STEP_CHARS):
            began, first = time.monotonic(), max(step - 1, 0)  # one character of context
            piece = text[first : step + STEP_CHARS + LONGEST_SPAN]
            for start, end, kind in [span for finder in self._finders for span in finder.find(piece)]:
                if first + start < step + STEP_CHARS:
                    yield TextSpan(first + start, first + end, kind)
            time.sleep(time.monotonic() - began)  # then others have the lock for as long

    def redact_value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.redact_text(value)
            case list() | tuple():
                return [self.redact_value(item) for item in value]
            case dict():
                return {self.redact_text(key): self.redact_value(item) for key, item in value.items()}
            case int() if not isinstance(value, bool) and len(str(value)) >= MIN_CARD_DIGITS:
                redacted = self.redact_text(str(value))
                return value if redacted == str(value) else redacted
        return value

    def _placeholder(self, kind: str, text: str) -> str:
        """Case, blanks and signs do not count: `4111-1111…` and `4111 1111…` are one value."""
        key = kind, "".join(letter for letter in text.casefold() if letter.isalnum())
        if key not in self._placeholders:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._placeholders[key] = f"[{kind} {self._counts[kind]}]"
        return self._placeholders[key]
