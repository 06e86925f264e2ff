"""Keeps secrets out of texts. It goes by their values: whatever a text is about, a value in it is covered.

A value is also known in the forms in which it travels: percent-encoded, Base64 (alone, or inside of `user:password`),
escaped for JSON and HTML.
"""

import base64
import html
import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, SecretStr

from rightseat.core.values import JsonValue

MASK = "••••"
SHORTEST = 4  # characters: anything shorter stands in every other text
SHORTEST_NAMED = 6  # characters of a text that is a secret by its name alone
SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
LIKE_A_SECRET = re.compile(r"(?=\S*[A-Za-z])(?=\S*[0-9])\S{16,}")
SENT_AS_THEY_ARE = ("headers", "env", "extra", "arguments")
PASSWORD_IN_ADDRESS = re.compile(r"://[^/@\s:]*:([^/@\s]{4,})@")
MAX_SUMMARY_CHARS = 500
PASSING = 500  # values that come and go, such as tokens; of more, the oldest are forgotten


class Redactor:
    """Learns values, and covers them from then on. One serves all plugins: no secret of one is for another."""

    def __init__(self, mask: str = MASK, secrets: Iterable[str] = ()) -> None:
        """Of `secrets`, those of fewer characters than `SHORTEST_NAMED` are left alone."""
        self._mask = mask
        self._lasting: dict[str, tuple[str, ...]] = {}
        self._passing: dict[str, tuple[str, ...]] = {}
        self._forms: tuple[str, ...] = ()
        for secret in secrets:
            for part in (secret, *secret.split(" ", 1)[1:]):  # `Bearer …` may come back without its first word
                if len(part) >= SHORTEST_NAMED:
                    self.learn(part)

    def learn(self, value: str, *, passing: bool = False) -> None:
        """`passing` values end by themselves. Raises `ValueError` for one that is too short to be told apart."""
        if len(value) < SHORTEST:
            raise ValueError(f"has fewer than {SHORTEST} characters, which cannot be kept out of texts")
        if value in self._lasting or value in self._passing:
            return
        (self._passing if passing else self._lasting)[value] = tuple(forms(value))
        while len(self._passing) > PASSING:
            del self._passing[next(iter(self._passing))]
        every = {form for known in (self._lasting, self._passing) for some in known.values() for form in some}
        self._forms = tuple(sorted(every, key=len, reverse=True))

    def text(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, self._mask)
        return text

    def summary(self, text: str, *others: "Redactor") -> str:
        """What a server said, for a log or a message: in one line, cut, and without the secrets of all of them."""
        for one in (self, *others):
            text = one.text(text)
        return " ".join(text.split())[:MAX_SUMMARY_CHARS]

    def content(self, content: bytes) -> bytes:
        for form in self._forms:
            if (raw := form.encode()) in content:
                content = content.replace(raw, self._mask.encode())
        return content

    def value(self, value: JsonValue) -> JsonValue:
        """The same value; a number that is a secret becomes a text."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.text(name): self.value(item) for name, item in value.items()}
            case bool() | None:
                return value
            case _:
                shown = json.dumps(value)
                return self._mask if self.text(shown) != shown else value


def forms(value: str) -> Iterator[str]:
    yield value
    for safe in ("", "/"):
        for encoded in (quote(value, safe=safe), quote_plus(value, safe=safe)):
            yield from (encoded, lowered(encoded))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], html.escape(value))
    raw = value.encode()
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield from in_base64(encode(b"\0" * offset + raw).decode(), offset, len(raw))


def lowered(encoded: str) -> str:
    """With the digits of its escapes in lower case, as some write them."""
    head, *rest = encoded.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def in_base64(encoded: str, offset: int, length: int) -> Iterator[str]:
    """The characters that the value alone decides, whatever stands before and after it."""
    first = -(-offset * 8 // 6)
    last = (offset + length) * 8 // 6
    inner = encoded[first:last]
    if len(inner) >= SHORTEST:
        yield inner


def secrets_in(value: JsonValue, name: str = "") -> Iterator[str]:
    """Texts of the operator's that are sent along as they are, and may be credentials.

    Those are texts under a name that says so, and texts that look like one: long, without spaces, with letters and
    digits. Ordinary words (`high`, `auto`) are none: to cover them would garble every message.
    """
    match value:
        case str():
            is_named = SECRET_NAME.search(name) is not None and len(value) >= SHORTEST_NAMED
            if is_named or (name not in ("model", "models") and LIKE_A_SECRET.fullmatch(value)):
                yield value
        case list():
            for item in value:
                yield from secrets_in(item, name)
        case dict():
            for key, item in value.items():
                yield from secrets_in(item, key)


def secrets_of(options: object, name: str = "") -> Iterator[str]:
    """The secrets in options of parts: every `SecretStr`, passwords in addresses, and what `secrets_in` finds in
    headers, variables and fields that are sent as they are."""
    match options:
        case BaseModel():
            for field, value in options:
                yield from secrets_of(value, field)
        case SecretStr():
            yield options.get_secret_value()
        case str():
            yield from PASSWORD_IN_ADDRESS.findall(options)
        case dict():
            for key, value in options.items():
                plain = value.get_secret_value() if isinstance(value, SecretStr) else value
                yield from secrets_in(plain, str(key)) if name in SENT_AS_THEY_ARE else secrets_of(value, str(key))
        case list() | tuple():
            for value in options:
                yield from secrets_of(value, name)


class RedactingFilter(logging.Filter):
    """Covers secrets in what is logged: the message, its arguments, and the text of an error."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        covered = self._redactor.text(said)
        if covered != said:
            record.msg, record.args = covered, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text and (text := self._redactor.text(record.exc_text)) != record.exc_text:
            record.exc_text, record.exc_info = text, None  # a handler that formats it anew would show it
        return True


@contextmanager
def covering_logs(redactor: Redactor) -> Iterator[None]:
    """While it is open, every handler that there is covers secrets."""
    named = (one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger))
    handlers = {handler for logger in (logging.root, *named) for handler in logger.handlers}
    covering = RedactingFilter(redactor)
    for handler in handlers:
        handler.addFilter(covering)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(covering)
