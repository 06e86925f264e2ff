"""Keeps what this server holds in memory of a store confirmed: it asks the store every few seconds.

Once the store has not responded for too long, what is held is not confirmed any more: another server may have changed
it. One line in the log says so, and one that the store responds again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 2.0
MAX_UNCONFIRMED_S = 30.0
STATEMENT_TIMEOUT_S = 10.0


class StorePoll:
    """`load` reads what has changed. `refused` names what is refused while it is unconfirmed. Times are in seconds."""

    def __init__(
        self, load: Callable[[], Awaitable[object]], refused: str, *, interval: float, max_unconfirmed: float
    ) -> None:
        self._load = load
        self._refused = refused
        self._interval = interval
        self._max_unconfirmed = max_unconfirmed
        self._confirmed_at = 0.0
        self._is_refusing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_confirmed(self) -> bool:
        return time.monotonic() - self._confirmed_at <= self._max_unconfirmed

    async def open(self, after: Callable[[], Awaitable[object]] | None = None) -> None:
        """Load, and go on in a task; `after` is called each time that the store has responded there.

        Raises what the store raises.
        """
        await self.refresh()
        self._task = asyncio.create_task(self._run(after))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def refresh(self) -> None:
        asked_at = time.monotonic()
        async with asyncio.timeout(STATEMENT_TIMEOUT_S):
            await self._load()
        self._confirmed_at = asked_at

    async def _run(self, after: Callable[[], Awaitable[object]] | None) -> None:
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.refresh()
                if self._is_refusing:
                    self._is_refusing = False
                    logger.warning("%s are accepted again", self._refused)
                if after is not None:
                    await after()
            except Exception as error:
                self._report_failure(error)

    def _report_failure(self, error: Exception) -> None:
        """One line when the refusals begin; the store reports each failure itself."""
        if not self._is_refusing and not self.is_confirmed:
            self._is_refusing = True
            text = "%s are refused: their store was not reached for %g s: %s. Is the database running?"
            logger.error(text, self._refused, self._max_unconfirmed, str(error) or type(error).__name__)
