"""Outages of what the server depends on: which errors are one, and the few lines that the log has about it.

A database that is away for a minute fails hundreds of statements. The log has one warning when that begins, one line
with a count every 30 seconds, and one line when it is over.
"""

import logging
import threading
import time
from collections.abc import Callable

from rightseat.core.errors import LogUnreachable, StoreUnreachable
from rightseat.core.full_storage import find_causes, is_full_error

REPEAT_INTERVAL_S = 30.0
OUTAGE_SQLSTATES = ("08", "53", "57P", "25006")
"""Of PostgreSQL: no connection, no resources, a shutdown, a database that is read-only."""


class OutageLog:
    """Logs the outages of one dependency. Threads may share it: at worst a count is off by one."""

    __slots__ = ("_clock", "_failures", "_lock", "_logger", "_name", "_repeat_at", "_since")

    def __init__(self, name: str, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        """`name` is the dependency, as in "cannot use the database of threads"."""
        self._name = name
        self._logger = logger
        self._clock = clock
        self._since: float | None = None
        self._repeat_at = 0.0
        self._failures = 0
        self._lock = threading.Lock()

    def fail(self, cause: object) -> None:
        now = self._clock()
        with self._lock:
            self._failures += 1
            since, self._since = self._since, now if self._since is None else self._since
            if since is not None and now < self._repeat_at:
                return
            self._repeat_at = now + REPEAT_INTERVAL_S
        if since is None:
            self._logger.warning("cannot use %s, retrying: %s", self._name, cause)
        else:
            text = "still cannot use %s after %.0f s and %d failures: %s"
            self._logger.warning(text, self._name, now - since, self._failures, cause)

    def recover(self) -> None:
        """Call it after each success: without an outage it takes no time."""
        if self._since is None:
            return
        with self._lock:
            since, failures, self._since, self._failures = self._since, self._failures, None, 0
        if since is not None:
            text = "%s can be used again after %.1f s and %d failures"
            self._logger.info(text, self._name, self._clock() - since, failures)


def find_outage(error: BaseException) -> str | None:
    """The cause, in a line, if the error is that of a dependency that is away or full; None for any other error."""
    for link in find_causes(error):
        if is_full_error(link):
            return "the disk is full, or fails"
        if isinstance(link, StoreUnreachable | LogUnreachable) or _is_connection_error(link):
            return (str(link).strip() or type(link).__name__).splitlines()[0]
    return None


def _is_connection_error(error: BaseException) -> bool:
    """By what all drivers have in common: none is imported here."""
    if getattr(error, "connection_invalidated", False):
        return True
    sqlstate = getattr(error, "sqlstate", None)
    if isinstance(sqlstate, str):
        return sqlstate.startswith(OUTAGE_SQLSTATES)
    return type(error).__module__.partition(".")[0] == "psycopg" and type(error).__name__ == "OperationalError"
