"""Finds runs that other servers have started, by one query for all streams of this process.

A query for each followed thread took the database away from everyone: 40 streams of 64 threads made 1,280 a second.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from contextvars import Context

from rightseat.concurrency import is_cancelled
from rightseat.core.errors import RightseatError
from rightseat.operations.records import Records, RunQuery

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 2.0
PAGE_RUNS = 200
MAX_PAGES = 10
"""2,000 runs in 2 seconds; if there were more, all followers are woken."""

Wake = Callable[[str | None], None]
"""Called with the id of a thread that has a new run; with None if any thread may have one."""


class NewRuns:
    """Compares the newest runs with those of the poll before: a run that was committed late is found too."""

    def __init__(self, records: Records | None, *, is_alone: bool) -> None:
        """`is_alone`: only this process starts runs."""
        self._records = records
        self._is_alone = is_alone
        self._followers: set[Wake] = set()
        self._known: frozenset[str] | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def following(self, wake: Wake) -> AsyncIterator[None]:
        """Call `wake` for each run that starts after this point. Does nothing where only this process starts runs."""
        if self._is_alone:
            yield
            return
        if self._task is None:
            await self._poll_safely()
        self._followers.add(wake)
        self._task = self._task or asyncio.create_task(self._poll_forever(), context=Context())
        try:
            yield
        finally:
            self._followers.discard(wake)
            if not self._followers and self._task is not None:
                self._task.cancel()
                self._task = self._known = None

    async def _poll_forever(self) -> None:
        while not is_cancelled():
            await asyncio.sleep(POLL_INTERVAL_S)
            await self._poll_safely()

    async def _poll_safely(self) -> None:
        try:
            await self._poll()
        except RightseatError as error:
            logger.warning("cannot look for new runs of other servers, retrying: %s", error.log_message)
        except Exception:
            logger.exception("cannot look for new runs of other servers, retrying")

    async def _poll(self) -> None:
        known = self._known
        newest = await self._read_newest(self._records, known) if self._records is not None else None
        self._known = None if newest is None else frozenset(newest)
        if newest is None or known is None:
            return self._wake(None)
        for thread in {thread for run, thread in newest.items() if run not in known}:
            self._wake(thread)

    async def _read_newest(self, records: Records, known: Collection[str] | None) -> dict[str, str] | None:
        """Run → thread, back to a run that is known; None if there are too many before it."""
        newest: dict[str, str] = {}
        after: str | None = None
        for _ in range(MAX_PAGES):
            page = await records.runs(RunQuery(limit=PAGE_RUNS, after=after))
            newest |= {run.id: run.thread for run in page.rows}
            after = page.next
            if not known or after is None or any(run.id in known for run in page.rows):
                return newest
        return None

    def _wake(self, thread: str | None) -> None:
        for wake in tuple(self._followers):
            wake(thread)
