"""Log lines: each says for which request, run and thread it is, and that of a failed run where it failed."""

import json
import logging
from datetime import UTC, datetime

from rightseat.core.observing import ABOUT


class About(logging.Filter):
    """Puts what the work at hand is for into a record: `about`."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.about = {name: value for name, value in ABOUT.get()._asdict().items() if value}
        return True


class OneLine(logging.Formatter):
    """A message cannot begin a new line, so nobody can forge one. A traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")


class AsJson(logging.Formatter):
    """One JSON object a line, a traceback inside."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "about", {}),
            **getattr(record, "failure", {}),
        }
        if record.exc_text or record.exc_info:
            said["error"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(said, ensure_ascii=False)


FORMATTERS: dict[str, logging.Formatter] = {
    "plain": OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"),
    "json": AsJson(),
}
