"""Replaces secret values in texts and logs, also percent-encoded, in Base64, and escaped for JSON or HTML.

Base64 is recognised inside longer values as well, such as `user:password`.
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

from rightseat.core.types import JsonValue

MASK = "••••"
MIN_SECRET_CHARS = 4  # anything shorter appears in ordinary text
MIN_NAMED_SECRET_CHARS = 6  # for a text that only its name marks as a secret
SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
SECRET_LIKE = re.compile(r"(?=\S*[A-Za-z])(?=\S*[0-9])\S{16,}")
PASSTHROUGH_FIELDS = ("headers", "env", "extra", "arguments")
PASSWORD_IN_URL = re.compile(r"://[^/@\s:]*:([^/@\s]{4,})@")
MAX_SUMMARY_CHARS = 500
MAX_TEMPORARY_SECRETS = 500  # tokens and the like; the oldest are dropped first


class Redactor:
    """Masks every value that was added. All plugins share one: no plugin may see another's secrets."""

    def __init__(self, mask: str = MASK, secrets: Iterable[str] = ()) -> None:
        """Entries of `secrets` shorter than `MIN_NAMED_SECRET_CHARS` are ignored."""
        self._mask = mask
        self._permanent: dict[str, tuple[str, ...]] = {}
        self._temporary: dict[str, tuple[str, ...]] = {}
        self._forms: tuple[str, ...] = ()
        for secret in secrets:
            for part in (secret, *secret.split(" ", 1)[1:]):  # `Bearer …` may come back without its first word
                if len(part) >= MIN_NAMED_SECRET_CHARS:
                    self.add(part)

    def add(self, value: str, *, is_temporary: bool = False) -> None:
        """`is_temporary`: it expires by itself. Raises `ValueError` for a value that is too short to be recognised."""
        if len(value) < MIN_SECRET_CHARS:
            raise ValueError(f"has fewer than {MIN_SECRET_CHARS} characters, which is too short to redact")
        if value in self._permanent or value in self._temporary:
            return
        (self._temporary if is_temporary else self._permanent)[value] = tuple(encode_forms(value))
        while len(self._temporary) > MAX_TEMPORARY_SECRETS:
            del self._temporary[next(iter(self._temporary))]
        every = {form for known in (self._permanent, self._temporary) for some in known.values() for form in some}
        self._forms = tuple(sorted(every, key=len, reverse=True))

    def redact_text(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, self._mask)
        return text

    def summarize(self, text: str, *others: "Redactor") -> str:
        """A server's text for a log or a message: on one line, truncated, redacted by this and all `others`."""
        for redactor in (self, *others):
            text = redactor.redact_text(text)
        return " ".join(text.split())[:MAX_SUMMARY_CHARS]

    def redact_bytes(self, content: bytes) -> bytes:
        for form in self._forms:
            if (raw := form.encode()) in content:
                content = content.replace(raw, self._mask.encode())
        return content

    def redact_value(self, value: JsonValue) -> JsonValue:
        """A number that is a secret becomes a string."""
        match value:
            case str():
                return self.redact_text(value)
            case list():
                return [self.redact_value(item) for item in value]
            case dict():
                return {self.redact_text(name): self.redact_value(item) for name, item in value.items()}
            case bool() | None:
                return value
            case _:
                digits = json.dumps(value)
                return self._mask if self.redact_text(digits) != digits else value


def encode_forms(value: str) -> Iterator[str]:
    yield value
    for safe in ("", "/"):
        for encoded in (quote(value, safe=safe), quote_plus(value, safe=safe)):
            yield from (encoded, lower_escapes(encoded))
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], html.escape(value))
    raw = value.encode()
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield from base64_forms(encode(b"\0" * offset + raw).decode(), offset, len(raw))


def lower_escapes(encoded: str) -> str:
    """Percent escapes with lower-case digits, as some servers write them."""
    head, *rest = encoded.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def base64_forms(encoded: str, offset: int, length: int) -> Iterator[str]:
    """The characters that depend on the value alone, whatever stands before and after it."""
    first = -(-offset * 8 // 6)
    last = (offset + length) * 8 // 6
    inner = encoded[first:last]
    if len(inner) >= MIN_SECRET_CHARS:
        yield inner


def find_secrets(value: JsonValue, name: str = "") -> Iterator[str]:
    """Strings in pass-through options that may be credentials.

    A string counts if its name marks it as a secret (`api_key`), or if it looks like one: long, without spaces, with
    letters and digits. Ordinary words (`high`, `auto`) do not: masking them would garble every message.
    """
    match value:
        case str():
            is_named = SECRET_NAME.search(name) is not None and len(value) >= MIN_NAMED_SECRET_CHARS
            if is_named or (name not in ("model", "models") and SECRET_LIKE.fullmatch(value)):
                yield value
        case list():
            for item in value:
                yield from find_secrets(item, name)
        case dict():
            for key, item in value.items():
                yield from find_secrets(item, key)


def find_option_secrets(options: object, name: str = "") -> Iterator[str]:
    """The secrets in the options of a part: every `SecretStr`, passwords in URLs, and what `find_secrets` finds in
    `PASSTHROUGH_FIELDS`."""
    match options:
        case BaseModel():
            for field, value in options:
                yield from find_option_secrets(value, field)
        case SecretStr():
            yield options.get_secret_value()
            yield from PASSWORD_IN_URL.findall(options.get_secret_value())
        case str():
            yield from PASSWORD_IN_URL.findall(options)
        case dict():
            for key, value in options.items():
                plain = value.get_secret_value() if isinstance(value, SecretStr) else value
                yield from (
                    find_secrets(plain, str(key))
                    if name in PASSTHROUGH_FIELDS
                    else find_option_secrets(value, str(key))
                )
        case list() | tuple():
            for value in options:
                yield from find_option_secrets(value, name)


class RedactingFilter(logging.Filter):
    """Masks secrets in log records: the message, its arguments and the traceback."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        redacted = self._redactor.redact_text(message)
        if redacted != message:
            record.msg, record.args = redacted, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text and (text := self._redactor.redact_text(record.exc_text)) != record.exc_text:
            record.exc_text, record.exc_info = text, None  # a handler that formats it again would log the secret
        return True


@contextmanager
def redact_logs(redactor: Redactor) -> Iterator[None]:
    """Every handler that exists on entry masks secrets until exit."""
    named = (one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger))
    handlers = {handler for logger in (logging.root, *named) for handler in logger.handlers}
    redacting = RedactingFilter(redactor)
    for handler in handlers:
        handler.addFilter(redacting)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(redacting)
