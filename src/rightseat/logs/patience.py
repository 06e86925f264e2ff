"""How long one waits for a server that is away, and how often one asks. It never waits itself, and knows no clock."""

import logging
import math
import random

logger = logging.getLogger(__name__)

FIRST, LONGEST = 0.05, 1.0  # seconds between two attempts


class Absence:
    """One stretch of time in which a server does not answer, from the first failure to the first success."""

    __slots__ = ("_attempts", "_level", "_name", "_patience", "_since")

    def __init__(self, name: str, patience: float, level: int = logging.WARNING) -> None:
        self._name = name
        self._level = level
        self._patience = patience
        self._since: float | None = None
        self._attempts = 0

    def failed(self, now: float, problem: object) -> float | None:
        """How many seconds to wait before the next attempt; None if one has waited long enough."""
        if self._since is None:
            self._since = now
            limit = "" if math.isinf(self._patience) else f", at most {self._patience:g} s"
            logger.log(self._level, "%s: %s; waiting for it%s", self._name, problem, limit)
        self._attempts += 1
        if now - self._since >= self._patience:
            logger.log(self._level, "%s: still away after %.1f s: %s", self._name, now - self._since, problem)
            return None
        longest = min(LONGEST, FIRST * 2.0 ** min(self._attempts - 1, 10))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  # only so that not all come back at once

    def succeeded(self, now: float) -> None:
        if self._since is not None:
            logger.log(self._level, "%s: back after %.1f s", self._name, now - self._since)
            self._since = None
            self._attempts = 0
