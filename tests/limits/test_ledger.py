"""Reservations whose caller is cancelled while the store writes them."""

import asyncio
from collections.abc import Sequence

import pytest

from rightseat.limits.book import Admitted, Operation, Outcome, Reserve, UsageKey
from rightseat.limits.kinds import RUNS
from rightseat.limits.ledger import Ledger
from rightseat.limits.rules import Charge, CounterKey, LimitRule
from rightseat.stores.limits import MemoryLimits
from tests.conditions import settle

KEY = CounterKey("one", "concurrent_runs", "alice")
USAGE = UsageKey("alice", "", "default", "")


class SlowLimits(MemoryLimits):
    def __init__(self) -> None:
        super().__init__()
        self.may_write = asyncio.Event()

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        await self.may_write.wait()
        return await super().apply(operations)


@pytest.mark.parametrize("is_forced", [False, True])
async def test_only_a_slot_that_was_asked_for_anew_is_given_back(is_forced: bool) -> None:
    """A run that is taken over goes on, here or elsewhere, with the slot of the same id."""
    store = SlowLimits()
    ledger = Ledger(store)
    wanted = Reserve("r1:slot", "r1", [Charge(KEY, LimitRule(RUNS, 1), 1)], USAGE, is_forced=is_forced)

    async with asyncio.timeout(60), ledger:
        first = asyncio.create_task(ledger.reserve(wanted))
        await settle()
        first.cancel()
        await asyncio.wait((first,))
        second = asyncio.create_task(ledger.reserve(wanted)) if is_forced else None
        await settle()
        store.may_write.set()

    _, counters = await store.counters()
    running = sum(used + reserved for row in counters for used, reserved in row.buckets.values())
    assert running == (1 if is_forced else 0)
    assert second is None or isinstance(second.result(), Admitted)
