"""Whether a model may be asked: one that fails and fails is left alone, so that nobody waits for it in vain.

closed ── `failures` in a row ──▶ open ── `rest` seconds ──▶ half open: one ask tries it ──▶ closed, or open again
"""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Circuit:
    """It never waits. Each `ask` that was let in ends with one of `succeeded`, `failed` and `left`."""

    def __init__(self, name: str, failures: int, rest: float, clock: Callable[[], float] | None = None) -> None:
        self.name = name
        self._most = failures
        self._rest = rest
        self._clock = clock or time.monotonic
        self._failures = 0
        self._open_until: float | None = None
        self._is_tried = False

    def ask(self) -> float | None:
        """None if the model may be asked; else for how many seconds it is still left alone."""
        if self._open_until is None:
            return None
        left = self._open_until - self._clock()
        if left > 0 or self._is_tried:
            return max(left, 0.0)
        self._is_tried = True
        return None

    def succeeded(self) -> None:
        if self._open_until is not None:
            logger.warning("the model %s answers again", self.name)
        self._failures, self._open_until, self._is_tried = 0, None, False

    def failed(self) -> None:
        self._failures += 1
        self._is_tried = False
        if self._failures >= self._most:
            self._open_until = self._clock() + self._rest
            logger.warning(
                "the model %s failed %d times in a row and is left alone for %g s",
                self.name,
                self._failures,
                self._rest,
            )

    def left(self) -> None:
        """Nobody waited for what would become of it."""
        self._is_tried = False
