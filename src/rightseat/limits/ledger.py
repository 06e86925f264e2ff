"""Sends operations to the store, one transaction at a time: those that come in during one are the next one.

So the rate of a counter is that of transactions times the operations in each, however many asks wait for it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, cast

import msgspec

from rightseat.core.errors import StoreUnreachable
from rightseat.limits.book import (
    Admitted,
    HeldAmount,
    Hold,
    LimitRefusal,
    Operation,
    Outcome,
    Queued,
    Reserve,
    Settle,
    Settled,
)
from rightseat.limits.store import LimitStore
from rightseat.limits.tickets import ticket_id

logger = logging.getLogger(__name__)

MAX_BATCH = 200
FIRST_RETRY_DELAY_S, MAX_RETRY_DELAY_S = 0.1, 2.0
CLOSE_TIMEOUT_S = 5.0


class _Waiting(NamedTuple):
    operation: Operation
    done: "asyncio.Future[Outcome]"


class Ledger:
    """`delay` is how many seconds operations are collected for: usage that no limit depends on is written late."""

    def __init__(self, store: LimitStore, delay: float = 0.0) -> None:
        self.store = store
        store.is_used = True
        store.repeat = self._repeat
        self.is_delayed = delay > 0
        self._delay = delay
        self._queue: deque[_Waiting] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_closing = asyncio.Event()

    async def __aenter__(self) -> "Ledger":
        self._is_closing = asyncio.Event()  # the one before belongs to the event loop that opened it
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what is left, if the store can be reached."""
        self._is_closing.set()
        until = asyncio.get_running_loop().time() + CLOSE_TIMEOUT_S
        while self._worker is not None and (left := until - asyncio.get_running_loop().time()) > 0:
            worker, self._worker = self._worker, None
            await asyncio.wait((worker,), timeout=left)
            worker.cancel()
            await asyncio.sleep(0)  # callbacks of its last reservations may settle them

    async def reserve(self, wanted: Reserve) -> Admitted | LimitRefusal | Queued:
        """Raises `StoreUnreachable`. If the caller is cancelled meanwhile, the reservation is given back.

        A forced one is not: it is for a run that goes on, perhaps in this process, and has the same slot then.
        """
        done = self._add(wanted)
        try:
            return cast(Admitted | LimitRefusal | Queued, await asyncio.shield(done))
        except asyncio.CancelledError:
            if not wanted.is_forced:
                done.add_done_callback(lambda _: self._give_back(wanted, done))
            raise

    def settle(self, settled: Settle) -> "asyncio.Future[Outcome]":
        """The result is set once it is written, or once the store could not be reached: it is then written later."""
        return self._add(settled)

    def _repeat(self, settlements: Sequence[Settle]) -> None:
        for one in settlements:
            _ = self._add(one)

    def _give_back(self, wanted: Reserve, done: "asyncio.Future[Outcome]") -> None:
        if done.cancelled() or done.exception() is not None:
            return
        outcome = done.result()
        if isinstance(outcome, Admitted):
            _ = self.settle(Settle(outcome.hold, wanted.usage, refunds=outcome.counted))
            if outcome.call is not None:
                _ = self.settle(Settle(outcome.call.hold, wanted.usage))
        elif isinstance(outcome, Queued):
            _ = self.settle(Settle(None, wanted.usage, ticket_id=outcome.ticket.id))

    def _add(self, operation: Operation) -> "asyncio.Future[Outcome]":
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(operation, done))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return done

    async def _work(self) -> None:
        pause = FIRST_RETRY_DELAY_S
        while self._queue:
            await self._collect()
            batch = [self._queue.popleft() for _ in range(min(MAX_BATCH, len(self._queue)))]
            left = await self._apply(batch)
            if not left:
                pause = FIRST_RETRY_DELAY_S
                continue
            self._queue.extendleft(reversed(left))
            if self._is_closing.is_set():
                logger.error("%d operations of limits and usage could not be written to the store", len(self._queue))
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_DELAY_S)

    async def _collect(self) -> None:
        if self._delay:
            try:
                await asyncio.wait_for(self._is_closing.wait(), self._delay)
            except TimeoutError:
                return

    async def _apply(self, batch: Sequence[_Waiting]) -> list[_Waiting]:
        """Returns the operations that have to be repeated."""
        sent_at = asyncio.get_running_loop().time()
        try:
            outcomes = await self.store.apply([one.operation for one in batch])
        except StoreUnreachable as error:
            return [again for one in batch for again in refuse_or_repeat(one, error)]
        except Exception as error:
            if len(batch) > 1:
                return [again for one in batch for again in await self._apply((one,))]
            logger.exception("an operation of limits or usage failed: %s", type(batch[0].operation).__name__)
            resolve(batch[0], error=error)
            return []
        for one, outcome in zip(batch, outcomes, strict=True):
            admitted = isinstance(outcome, Admitted)
            resolve(one, msgspec.structs.replace(outcome, sent_at=sent_at) if admitted else outcome)
        return []


def refuse_or_repeat(waiting: _Waiting, error: StoreUnreachable) -> list[_Waiting]:
    """A reservation is refused; what was used is written later.

    Whether the refused reservation took effect is unknown, so a settlement follows that removes it.
    """
    operation = waiting.operation
    if isinstance(operation, Settle):
        resolve(waiting, Settled(is_counted=False))
        return [waiting]
    resolve(waiting, error=error)
    reservations = [one for one in (operation, operation.call) if one is not None and needs_hold(one)]
    return [_Waiting(undo(one), asyncio.get_running_loop().create_future()) for one in reservations]


def needs_hold(wanted: Reserve) -> bool:
    return bool(wanted.queues) or any(one.amount and one.rule.kind != "requests" for one in wanted.charges)


def undo(wanted: Reserve) -> Settle:
    """The store reads the buckets from its hold, because they are unknown here."""
    held = [HeldAmount(one.key, one.rule.kind, 0, one.amount) for one in wanted.charges if one.rule.kind != "requests"]
    ticket = ticket_id(wanted.run_id) if wanted.queues else ""
    return Settle(Hold(wanted.id, wanted.run_id, held, wanted.usage), wanted.usage, ticket_id=ticket)


def resolve(waiting: _Waiting, outcome: Outcome | None = None, error: Exception | None = None) -> None:
    done = waiting.done
    if done.done():
        return
    if error is None:
        done.set_result(outcome if outcome is not None else Settled())
    elif isinstance(waiting.operation, Settle):
        done.set_result(Settled(is_counted=False))  # no caller awaits it, so an exception would be lost
    else:
        done.set_exception(error)
