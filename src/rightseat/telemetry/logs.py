"""Formats log lines with the ids of their request, run and thread, as plain text or JSON, and keeps outages short."""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from datetime import UTC, datetime

from rightseat.core.tracing import LOG_CONTEXT
from rightseat.outages import REPEAT_INTERVAL_S, find_outage

logger = logging.getLogger(__name__)

MAX_OUTAGE_LINES = 3
"""From one line of code, in `REPEAT_INTERVAL_S`."""
LIMITED_LOGGERS = ("dbos", "sqlalchemy")
"""They log each attempt of theirs to reach a database."""
TRACEBACK = "Traceback (most recent call last)"


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
    because the text of an error may be a client's. No control character reaches a terminal.

    A line that a run has caused ends with the id of the run, unless it has it.
    """

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).translate(PLAIN_ESCAPES).replace("\n", INDENT)

    def formatMessage(self, record: logging.LogRecord) -> str:
        text = super().formatMessage(record).replace("\n", "\\n")
        run = LOG_CONTEXT.get().run
        return f"{text} (run {run})" if run and run not in text else text


@dataclass(slots=True)
class _Window:
    until: float
    passed: int = 0
    withheld: int = 0


class OutageFilter(logging.Filter):
    """Replaces the traceback of a dependency that is away or full by its cause, and limits the lines about it.

    Of the records from one line of code a few pass in 30 s; how many did not is logged with a later line. All other
    records pass unchanged.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._windows: dict[tuple[str, int], _Window] = {}  # as many as there are lines of code that log
        self._lock = threading.RLock()

    def filter(self, record: logging.LogRecord) -> bool:
        self._report_withheld()
        is_limited = record.name.partition(".")[0] in LIMITED_LOGGERS
        error = record.exc_info[1] if record.exc_info else None
        if error is None and is_limited and TRACEBACK in record.getMessage():
            error = sys.exception()  # DBOS formats the one that it handles into some messages
        cause = find_outage(error) if error is not None else None
        if cause is not None:
            message = record.getMessage().partition(TRACEBACK)[0].rstrip(": \n")
            record.msg, record.args = f"{message}: {cause}", ()
            record.exc_info = record.exc_text = None
        elif record.levelno < logging.WARNING or not is_limited:
            return True
        return self._passes(record)

    def _passes(self, record: logging.LogRecord) -> bool:
        place, now = (record.pathname, record.lineno), self._clock()
        with self._lock:
            window = self._windows.setdefault(place, _Window(now + REPEAT_INTERVAL_S))
            window.passed += 1
            if window.passed <= MAX_OUTAGE_LINES:
                return True
            window.withheld += 1
            return False

    def _report_withheld(self) -> None:
        now = self._clock()
        with self._lock:
            over = [place for place, window in self._windows.items() if window.until <= now]
            windows = {place: self._windows.pop(place) for place in over}
        for (path, line), window in windows.items():  # these lines pass this filter, too
            if window.withheld:
                text = "%d more lines like those of %s:%d were left out in %g s"
                values = (window.withheld, path.rpartition("/")[2], line, REPEAT_INTERVAL_S)
                Context().run(
                    logger.warning, text, *values
                )  # without the ids of a request that has nothing to do with it


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
