"""Lets the asks of this process wait for limits.

The store decides which ask is admitted. One task reads it for all asks that wait here: at once when a run of this
process ends, and else every 0.25 seconds, because runs of other processes end and windows open too.
"""

import asyncio
from contextlib import suppress
from typing import NamedTuple

import msgspec

from rightseat.core.errors import ShuttingDown, StoreUnreachable
from rightseat.limits.book import Admitted, LimitRefusal, Queued, Reserve, Settle
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.ledger import Ledger
from rightseat.limits.observer import LimitObserver
from rightseat.limits.rules import CounterKey, LimitRule

POLL_INTERVAL_S = 0.25
"""A read of 100 tickets in PostgreSQL takes 6 ms of processor time: a process whose asks wait uses 2.5 % of a core."""


class _Waiting(NamedTuple):
    queue: CounterKey
    rule: LimitRule
    is_ready: asyncio.Event


class AskQueue:
    def __init__(self, ledger: Ledger, observer: LimitObserver) -> None:
        self._ledger = ledger
        self._observer = observer
        self._waiting: dict[str, _Waiting] = {}  # by the id of the ticket
        self._has_changed = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        self._is_closed = False

    async def admit(self, wanted: Reserve) -> Admitted | LimitRefusal:
        """Raises `StoreUnreachable` and `ShuttingDown`. A caller that is cancelled waits no more."""
        clock = asyncio.get_running_loop().time
        asked = clock()
        outcome = await self._ledger.reserve(wanted)
        self._observer.admit(clock() - asked)
        while isinstance(outcome, Queued):
            wanted = msgspec.structs.replace(wanted, has_ticket=True)
            outcome = await self._wait(outcome, wanted)
        return outcome

    def notify(self, _: object = None) -> None:
        """Something was given back: look at once whether an ask can go on."""
        if self._waiting:
            self._has_changed.set()

    def open(self) -> None:
        """Let asks wait again, after `close`. The event and the task belong to the event loop that has ended."""
        self._is_closed = False
        self._has_changed = asyncio.Event()
        self._watcher = None

    def close(self) -> None:
        """Refuse all asks that wait: the server is shutting down."""
        self._is_closed = True
        for one in self._waiting.values():
            one.is_ready.set()

    async def _wait(self, queued: Queued, wanted: Reserve) -> Admitted | LimitRefusal | Queued:
        """Wait in one queue. Returns `Queued` if the ask has to wait in another one."""
        ticket, clock = queued.ticket, asyncio.get_running_loop().time
        began, limit = clock(), ticket.queue.limit
        self._observer.enqueue(limit)
        try:
            while await self._until_ready(queued, began + queued.policy.wait):
                outcome = await self._ledger.reserve(wanted)
                if not isinstance(outcome, Queued) or outcome.ticket.queue != ticket.queue:
                    return outcome
        except BaseException:
            self._remove(queued, wanted)
            raise
        finally:
            self._observer.dequeue(limit, clock() - began)
        self._remove(queued, wanted, UsageCounts(refused=1))
        return LimitRefusal(queued.standing, 1, queued.now, "queue_timeout")

    def _remove(self, queued: Queued, wanted: Reserve, counts: UsageCounts = UsageCounts()) -> None:  # noqa: B008
        settled = self._ledger.settle(Settle(None, wanted.usage, counts, ticket_id=queued.ticket.id))
        settled.add_done_callback(self.notify)  # the next one may have waited only for this ticket

    async def _until_ready(self, queued: Queued, deadline: float) -> bool:
        """Whether the counter has room for the ticket before the deadline."""
        ticket = queued.ticket
        waiting = self._waiting[ticket.id] = _Waiting(ticket.queue, queued.standing.rule, asyncio.Event())
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch())
        try:
            async with asyncio.timeout_at(deadline):
                if not self._is_closed:
                    await waiting.is_ready.wait()
        except TimeoutError:
            return False
        finally:
            del self._waiting[ticket.id]
        if self._is_closed:
            raise ShuttingDown
        return True

    async def _watch(self) -> None:
        while self._waiting:
            self._has_changed.clear()
            await self._wake()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_changed.wait(), POLL_INTERVAL_S)

    async def _wake(self) -> None:
        """Wake those whose turn it is. One whose ticket is gone asks again: another user may have its place."""
        asked = dict(self._waiting)  # a ticket that is drawn meanwhile may not be found
        try:
            state = await self._ledger.store.find_ready({one.queue: one.rule for one in asked.values()})
        except StoreUnreachable:
            return  # the asks wait on, until their time is over
        for id, one in asked.items():
            if id in state.ready or id not in state.waiting:
                one.is_ready.set()
