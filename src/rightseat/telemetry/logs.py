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


class PlainFormatter(logging.Formatter):
    """Escapes line breaks in messages, so that input cannot forge log lines. A traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")


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
        return json.dumps(line, ensure_ascii=False)


FORMATTERS: dict[str, logging.Formatter] = {
    "plain": PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"),
    "json": JsonFormatter(),
}
