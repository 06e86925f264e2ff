"""Keeps the last lines of the audit log of this process, for operators who read them in a page."""

import logging
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from rightseat.core.tracing import LOG_CONTEXT

AUDIT_LOGGER = "rightseat.audit"
ROUTINE = "is_routine"
"""The attribute of log records for lines about single requests; they are not kept, or they would replace all others."""
MAX_LINES = 1000


class AuditLine(msgspec.Struct, frozen=True):
    """`at` is ISO 8601, in UTC. `request` is the id in the header `x-request-id` of the response; empty if unknown."""

    at: str
    text: str
    request: str = ""


class AuditTrail(logging.Handler):
    """Keeps nothing while the logger's level is above INFO."""

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[AuditLine] = deque(maxlen=max_lines)

    @property
    def lines(self) -> Sequence[AuditLine]:
        """The newest last."""
        return list(self._lines)

    def emit(self, record: logging.LogRecord) -> None:
        if not getattr(record, ROUTINE, False):
            at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._lines.append(AuditLine(at, record.getMessage(), LOG_CONTEXT.get().request))

    def attach(self) -> None:
        logging.getLogger(AUDIT_LOGGER).addHandler(self)

    def detach(self) -> None:
        logging.getLogger(AUDIT_LOGGER).removeHandler(self)
