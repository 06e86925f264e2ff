"""Formats log lines with the ids of their request, run and thread, as plain text or JSON."""

import json
import logging
from datetime import UTC, datetime

from rightseat.core.tracing import LOG_CONTEXT


class ContextFilter(logging.Filter):
    """Adds the ids of the current request, run and thread to a record, as `about`."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.about = {name: value for name, value in LOG_CONTEXT.get()._asdict().items() if value}
        return True


CONTROLS = (
    *range(0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    0x2028,
    0x2029,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
"""Characters that move the cursor, change a terminal, or reverse text. Tabs are harmless."""
PLAIN_ESCAPES = {number: repr(chr(number))[1:-1] for number in CONTROLS}
JSON_ESCAPES = {number: f"\\u{number:04x}" for number in CONTROLS}
INDENT = "\n    "


class PlainFormatter(logging.Formatter):
    """Input cannot forge log lines: line breaks in messages are escaped, and the lines of a traceback are indented,
    because the text of an error may be a client's. No control character reaches a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).translate(PLAIN_ESCAPES).replace("\n", INDENT)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", "\\n")


class JsonFormatter(logging.Formatter):
    """Writes one JSON object per line, with the traceback inside."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "about", {}),
            **getattr(record, "fields", {}),
        }
        if record.exc_text or record.exc_info:
            line["error"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line, ensure_ascii=False).translate(JSON_ESCAPES)


FORMATTERS: dict[str, logging.Formatter] = {
    "plain": PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"),
    "json": JsonFormatter(),
}
