"""Asks of this process that wait for a limit: woken when a run ends, and removed when they stop waiting."""

import asyncio

import pytest

from rightseat.core.errors import ShuttingDown
from rightseat.limits import queue as queue_module
from rightseat.limits.book import Admitted, LimitRefusal, Reserve, Settle, UsageKey
from rightseat.limits.kinds import REQUESTS, RUNS
from rightseat.limits.ledger import Ledger
from rightseat.limits.observer import NO_LIMIT_OBSERVER
from rightseat.limits.queue import AskQueue
from rightseat.limits.rules import Charge, CounterKey, LimitRule, QueuePolicy
from rightseat.limits.store import UsageQuery
from rightseat.limits.windows import SlidingWindow
from rightseat.stores.limits import MemoryLimits
from tests.conditions import until

KEY = CounterKey("one", "concurrent_runs", "alice")
USAGE = UsageKey("alice", "", "default", "")


class QueueOfOne:
    """A limit of one run at once, and asks that wait for it."""

    def __init__(self, wait: float = 20.0, most: int = 100) -> None:
        self.store = MemoryLimits()
        self.ledger = Ledger(self.store)
        self.queue = AskQueue(self.ledger, NO_LIMIT_OBSERVER)
        self._policy = QueuePolicy(wait, most)

    def ask(self, run: str, user: str = USAGE.user) -> "asyncio.Task[Admitted | LimitRefusal]":
        charge = Charge(KEY, LimitRule(RUNS, 1), 1, policy=self._policy)
        wanted = Reserve(f"{run}:slot", run, [charge], USAGE._replace(user=user))
        return asyncio.create_task(self.queue.admit(wanted))

    async def until_waiting(self, number: int) -> None:
        async def are_waiting() -> bool:
            return sum(row.waiting for row in (await self.store.counters())[1]) == number

        await until(are_waiting)

    async def end(self, admitted: Admitted | LimitRefusal) -> None:
        assert isinstance(admitted, Admitted)
        settled = self.ledger.settle(Settle(admitted.hold, USAGE))
        settled.add_done_callback(self.queue.notify)
        await settled


async def test_a_run_that_ends_here_wakes_the_next_ask_without_a_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "POLL_INTERVAL_S", 60.0)
    queue = QueueOfOne()
    async with asyncio.timeout(60):
        running = await queue.ask("r1")
        asks = [queue.ask("r2"), queue.ask("r3")]
        await queue.until_waiting(2)
        for ask in asks:
            await queue.end(running)
            running = await ask

    assert isinstance(running, Admitted)


async def test_a_run_that_ends_elsewhere_is_found_by_the_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "POLL_INTERVAL_S", 0.05)
    queue = QueueOfOne()
    async with asyncio.timeout(60):
        running = await queue.ask("r1")
        ask = queue.ask("r2")
        await queue.until_waiting(1)
        assert isinstance(running, Admitted)
        await queue.store.apply([Settle(running.hold, USAGE)])

        assert isinstance(await ask, Admitted)


async def test_an_ask_whose_place_another_user_takes_is_refused_at_once() -> None:
    queue = QueueOfOne(most=2)
    async with asyncio.timeout(60):
        running = await queue.ask("r1")
        first, last = queue.ask("r2"), queue.ask("r3")
        await queue.until_waiting(2)

        other = queue.ask("o1", "other")
        refused = await last
        await queue.end(running)
        await queue.end(await first)

    assert isinstance(refused, LimitRefusal)
    assert refused.cause == "queue_full"
    assert isinstance(await other, Admitted)


async def test_an_ask_whose_time_is_over_is_refused_and_counted_as_such() -> None:
    queue = QueueOfOne(wait=0.05)
    async with asyncio.timeout(60):
        await queue.ask("r1")
        refused = await queue.ask("r2")
        await queue.until_waiting(0)

    assert isinstance(refused, LimitRefusal)
    assert refused.cause == "queue_timeout"
    (row,) = await queue.store.usage(UsageQuery())
    assert row.counts.refused == 1


async def test_an_ask_that_is_cancelled_leaves_the_queue_and_is_not_refused() -> None:
    queue = QueueOfOne()
    async with asyncio.timeout(60):
        await queue.ask("r1")
        ask = queue.ask("r2")
        await queue.until_waiting(1)
        ask.cancel()
        await queue.until_waiting(0)

    assert await queue.store.usage(UsageQuery()) == []


async def test_a_server_that_shuts_down_refuses_the_asks_that_wait() -> None:
    queue = QueueOfOne()
    async with asyncio.timeout(60):
        await queue.ask("r1")
        ask = queue.ask("r2")
        await queue.until_waiting(1)
        queue.queue.close()

        with pytest.raises(ShuttingDown):
            await ask
        await queue.until_waiting(0)


async def test_an_ask_waits_until_a_window_opens() -> None:
    queue, rule = QueueOfOne().queue, LimitRule(REQUESTS, 1, SlidingWindow(1))
    charge = Charge(CounterKey("burst", rule.name, "alice"), rule, 1, policy=QueuePolicy(20))
    async with asyncio.timeout(60):
        first, second = [await queue.admit(Reserve(f"{n}:slot", str(n), [charge], USAGE)) for n in range(2)]

    assert isinstance(first, Admitted)
    assert isinstance(second, Admitted)
    assert second.now - first.now >= 1
