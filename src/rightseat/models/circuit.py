"""A circuit breaker: a model that fails repeatedly is skipped for a while instead of delaying every request.

closed ── `failure_threshold` in a row ──▶ open ── `cooldown` seconds ──▶ half open: one probe ──▶ closed, or open again
"""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class CircuitBreaker:
    """Each admitted request ends with one of `record_success`, `record_failure` and `record_abandoned`."""

    def __init__(
        self, name: str, failure_threshold: int, cooldown: float, clock: Callable[[], float] | None = None
    ) -> None:
        self.name = name
        self._failure_threshold = failure_threshold
        self._cooldown = cooldown
        self._clock = clock or time.monotonic
        self._failures = 0
        self._open_until: float | None = None
        self._is_probing = False

    def admit(self) -> float | None:
        """Return None if a request may be sent, else the seconds until the next probe."""
        if self._open_until is None:
            return None
        remaining = self._open_until - self._clock()
        if remaining > 0 or self._is_probing:
            return max(remaining, 0.0)
        self._is_probing = True
        return None

    def record_success(self) -> None:
        if self._open_until is not None:
            logger.warning("the model %s works again", self.name)
        self._failures, self._open_until, self._is_probing = 0, None, False

    def record_failure(self) -> None:
        self._failures += 1
        self._is_probing = False
        if self._failures >= self._failure_threshold:
            self._open_until = self._clock() + self._cooldown
            logger.warning(
                "the model %s failed %d times in a row and is skipped for %g s",
                self.name,
                self._failures,
                self._cooldown,
            )

    def record_abandoned(self) -> None:
        """The client left before the outcome was known."""
        self._is_probing = False
