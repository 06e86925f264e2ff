"""Exponential backoff with jitter for a server that is unavailable. It neither sleeps nor reads a clock."""

import logging
import math
import random

from rightseat.outages import REPEAT_INTERVAL_S

logger = logging.getLogger(__name__)

MIN_DELAY_S, MAX_DELAY_S = 0.05, 1.0


class Backoff:
    """Covers one outage of a server at a time, from the first failure to the first success."""

    __slots__ = ("_attempts", "_level", "_name", "_repeat_at", "_since", "_timeout")

    def __init__(self, name: str, timeout: float, level: int = logging.WARNING) -> None:
        self._name = name
        self._level = level
        self._timeout = timeout
        self._since: float | None = None
        self._attempts = 0
        self._repeat_at = 0.0

    def record_failure(self, now: float, problem: object) -> float | None:
        """Return the delay before the next attempt in seconds; None once the timeout has passed."""
        if self._since is None:
            self._since, self._repeat_at = now, now + REPEAT_INTERVAL_S
            limit = "" if math.isinf(self._timeout) else f" for at most {self._timeout:g} s"
            logger.log(self._level, "%s: %s; retrying%s", self._name, problem, limit)
        self._attempts += 1
        if now >= self._repeat_at and now - self._since < self._timeout:
            self._repeat_at = now + REPEAT_INTERVAL_S
            text = "%s: still failing after %.0f s and %d attempts: %s"
            logger.log(self._level, text, self._name, now - self._since, self._attempts, problem)
        if now - self._since >= self._timeout:
            logger.log(self._level, "%s: still failing after %.1f s: %s", self._name, now - self._since, problem)
            return None
        longest = min(MAX_DELAY_S, MIN_DELAY_S * 2.0 ** min(self._attempts - 1, 10))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  # jitter, so that not all processes retry at once

    def record_success(self, now: float) -> None:
        if self._since is not None:
            logger.log(logging.INFO, "%s: recovered after %.1f s", self._name, now - self._since)
            self._since = None
            self._attempts = 0
