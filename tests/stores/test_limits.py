"""Limits in every store: exact with many at once, settled once, and given back when a process dies."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from rightseat.core.ask import Ask
from rightseat.core.limits.book import Admitted, Hold, LimitRefusal, Reserve, Settle, Settled, UsageCounts, UsageKey
from rightseat.core.limits.ledger import Ledger
from rightseat.core.limits.rules import Charge, CounterKey, LimitRule
from rightseat.core.limits.store import LimitStore, StoresLimits, UsageQuery
from rightseat.core.limits.windows import CalendarWindow, SlidingWindow
from rightseat.core.messages import user
from rightseat.core.threads import Threads
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads

USAGE = UsageKey("alice", "ci", "default", "big")
REQUESTS = Charge(CounterKey("a", "requests/3600s", "alice"), LimitRule("requests", 10, SlidingWindow(3600)), 1)
RUNS = Charge(CounterKey("a", "concurrent_runs", "alice"), LimitRule("runs", 10), 1)
TOKENS = Charge(CounterKey("b", "tokens/day", "everyone"), LimitRule("tokens", 1000, CalendarWindow("day")), 100)


def reserve(id: str, *charges: Charge, estimate: UsageCounts = UsageCounts()) -> Reserve:  # noqa: B008
    return Reserve(id, "run", charges, USAGE, estimate)


@pytest.fixture
async def limits(threads: Threads) -> LimitStore:
    assert isinstance(threads, StoresLimits)
    return threads.limits


async def totals(limits: LimitStore) -> dict[str, tuple[int, int]]:
    _, rows = await limits.counters()
    return {
        row.key.rule: (sum(one[0] for one in row.buckets.values()), sum(one[1] for one in row.buckets.values()))
        for row in rows
    }


async def test_as_many_as_the_limit_allows_are_admitted_at_once(limits: LimitStore) -> None:
    async with asyncio.timeout(60), Ledger(limits) as ledger:
        outcomes = await asyncio.gather(*(ledger.reserve(reserve(f"h{n}", REQUESTS, RUNS)) for n in range(50)))

    assert sum(isinstance(one, Admitted) for one in outcomes) == 10
    assert await totals(limits) == {"concurrent_runs": (0, 10), "requests/3600s": (10, 0)}


async def test_a_settlement_counts_once_and_writes_the_usage(limits: LimitStore) -> None:
    (admitted,) = await limits.apply([reserve("h", TOKENS)])
    assert isinstance(admitted, Admitted)
    settle = Settle(admitted.hold, USAGE, UsageCounts(requests=1, input_tokens=30, output_tokens=5, cost=7))

    assert [*await limits.apply([settle]), *await limits.apply([settle])] == [Settled(), Settled(is_counted=False)]
    assert await totals(limits) == {"tokens/day": (35, 0)}
    (row,) = await limits.usage(UsageQuery(("user", "model")))
    assert (row.group, row.counts) == (("alice", "big"), settle.counts)
    assert await limits.usage(UsageQuery(user="bob")) == []


async def test_the_usage_of_a_forgotten_user_stays_without_a_name(limits: LimitStore) -> None:
    for key in ("ci", "laptop"):
        await limits.apply([Settle(None, USAGE._replace(key=key), UsageCounts(requests=1, cost=7))])
    await limits.apply([Settle(None, USAGE._replace(user="bob"), UsageCounts(requests=4))])

    assert (await limits.forget_user("alice"), await limits.forget_user("alice")) == (2, 0)
    assert await limits.forget_user("deleted") == 0
    rows = await limits.usage(UsageQuery(("user", "key")))
    assert [(row.group, row.counts.requests, row.counts.cost) for row in rows] == [
        (("bob", "ci"), 4, 0),
        (("deleted", ""), 2, 14),
    ]


async def test_a_run_that_does_not_start_gives_its_request_back(limits: LimitStore) -> None:
    (admitted,) = await limits.apply([reserve("h", REQUESTS)])
    assert isinstance(admitted, Admitted)
    assert admitted.hold is None

    await limits.apply([Settle(None, USAGE, refunds=admitted.counted)])

    assert await totals(limits) == {"requests/3600s": (0, 0)}


async def test_a_caller_that_is_cancelled_gives_its_slot_back(limits: LimitStore) -> None:
    async with asyncio.timeout(60), Ledger(limits) as ledger:
        waiting = asyncio.create_task(ledger.reserve(reserve("h", RUNS)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    # closing waits until all is written

    assert await totals(limits) == {"concurrent_runs": (0, 0)}


async def test_replicas_count_together(where: Path | str) -> None:
    if isinstance(where, Path):
        pytest.skip("one process at a time owns a file")
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(SqlThreads(connect(where))) for _ in range(3)]
        ledgers = [await stack.enter_async_context(Ledger(one.limits)) for one in replicas]
        asks = [ledgers[n % 3].reserve(reserve(f"h{n}", REQUESTS, TOKENS)) for n in range(60)]
        outcomes = await asyncio.gather(*asks)

    assert sum(isinstance(one, Admitted) for one in outcomes) == 10


async def test_holds_of_a_process_that_died_are_settled_by_estimate(where: Path | str) -> None:
    async with asyncio.timeout(60):
        dead = SqlThreads(connect(where, 0.5))
        async with dead:
            guess = UsageCounts(requests=1, estimated_tokens=9)
            (admitted,) = await dead.limits.apply([reserve("h", RUNS, TOKENS, estimate=guess)])
        async with SqlThreads(connect(where, 0.5)) as threads:  # a closed store has no lease, as after a kill
            threads.limits.is_used = True
            await threads.orphans()

            assert await totals(threads.limits) == {"concurrent_runs": (0, 0), "tokens/day": (9, 0)}
            (row,) = await threads.limits.usage(UsageQuery())
            assert row.counts == guess
            assert isinstance(admitted, Admitted)
            late = Settle(admitted.hold, USAGE, UsageCounts(output_tokens=50))
            assert await threads.limits.apply([late]) == [Settled(is_counted=False)]


async def test_the_slot_of_a_durable_run_passes_to_the_process_that_takes_it_over(where: Path | str) -> None:
    ask = Ask(messages=(user("Hi"),), durable=True)
    slot = Reserve(f"{ask.run_id}:slot", ask.run_id, [RUNS], USAGE)
    async with asyncio.timeout(60):
        async with SqlThreads(connect(where, 0.5)) as dead:
            await dead.claim(ask)
            await dead.limits.apply([slot])
        async with SqlThreads(connect(where, 0.5)) as threads:
            threads.limits.is_used = True
            (orphan,) = await threads.orphans()
            assert orphan.run_id == ask.run_id
            assert await totals(threads.limits) == {"concurrent_runs": (0, 1)}

            forced = Reserve(slot.id, slot.run_id, slot.charges, USAGE, is_forced=True)
            (taken,) = await threads.limits.apply([forced])
            assert await totals(threads.limits) == {"concurrent_runs": (0, 1)}
            assert isinstance(taken, Admitted)
            await threads.limits.apply([Settle(taken.hold, USAGE)])
            assert await totals(threads.limits) == {"concurrent_runs": (0, 0)}


async def test_a_store_that_counts_nothing_gets_no_statement_of_limits(tmp_path: Path) -> None:
    async with SqlThreads(connect(tmp_path / "rightseat.db")) as threads:
        seen: list[str] = []
        engine: Any = threads._database._engine  # type: ignore[attr-defined]  # the statements are seen nowhere else
        event.listen(engine, "before_cursor_execute", lambda *args: seen.append(args[2]))
        ask = Ask(messages=(user("Hi"),))
        await threads.orphans()
        await threads.claim(ask)
        await threads.expire()

    assert seen
    assert not [text for text in seen if "limit_" in text or "usage" in text.replace("model_usage", "")]


async def test_a_hold_that_is_refused_leaves_nothing(limits: LimitStore) -> None:
    large = Charge(TOKENS.key, TOKENS.rule, 950)
    outcomes = await limits.apply([reserve("one", TOKENS), reserve("two", RUNS, large)])

    assert isinstance(outcomes[0], Admitted)
    assert isinstance(outcomes[0].hold, Hold)
    assert isinstance(outcomes[1], LimitRefusal)
    assert await totals(limits) == {"concurrent_runs": (0, 0), "tokens/day": (0, 100)}
