"""Limits in every store: exact with many at once, settled once, and given back when a process dies."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import msgspec
import pytest

from rightseat.core.ask import Ask
from rightseat.core.caller import Downgrade
from rightseat.core.errors import SlotLost, StoreUnreachable
from rightseat.core.events import RunFinished
from rightseat.core.messages import user
from rightseat.core.threads import Threads
from rightseat.limits import kinds
from rightseat.limits.book import (
    Admitted,
    HeldAmount,
    Hold,
    LimitRefusal,
    Queued,
    Reserve,
    Settle,
    Settled,
    UsageKey,
)
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.ledger import Ledger
from rightseat.limits.rules import (
    Charge,
    CounterKey,
    DowngradePolicy,
    LimitRule,
    QueuePolicy,
    suggestions_of,
)
from rightseat.limits.store import LimitStore, UsageQuery
from rightseat.limits.tickets import TICKET_GRACE_S
from rightseat.limits.windows import CalendarWindow, SlidingWindow
from rightseat.operations.store import store_of
from rightseat.stores import known_limits, sql
from rightseat.stores.databases import connect
from rightseat.stores.limits import SqlLimits
from rightseat.stores.sql import SqlThreads
from tests.conditions import settle, until
from tests.databases import migrated_database
from tests.services import Proxy, proxy
from tests.stores.expiry import expire

USAGE = UsageKey("alice", "ci", "default", "big")
REQUESTS = Charge(CounterKey("a", "requests/3600s", "alice"), LimitRule(kinds.REQUESTS, 10, SlidingWindow(3600)), 1)
RUNS = Charge(CounterKey("a", "concurrent_runs", "alice"), LimitRule(kinds.RUNS, 10), 1)
TOKENS = Charge(CounterKey("b", "tokens/day", "everyone"), LimitRule(kinds.TOKENS, 1000, CalendarWindow("day")), 100)

WAITING_FOR_ME = """
SELECT count(*) FROM pg_stat_activity
WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)) AND query LIKE '%limit_holds%'
"""


def reserve(id: str, *charges: Charge, estimate: UsageCounts = UsageCounts()) -> Reserve:  # noqa: B008
    return Reserve(id, "run", charges, USAGE, estimate)


@pytest.fixture
async def limits(threads: Threads) -> LimitStore:
    limits = store_of(threads).limits
    assert limits is not None
    return limits


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


async def test_a_warning_of_a_counter_is_claimed_once_in_its_window(limits: LimitStore) -> None:
    other = TOKENS.key._replace(subject="bob")
    await limits.apply([reserve("h", TOKENS), reserve("i", Charge(other, TOKENS.rule, 1))])

    first = await asyncio.gather(*(limits.claim_warning(TOKENS.key, 100.0, 200.0) for _ in range(5)))
    later = [await limits.claim_warning(TOKENS.key, now, now + 100) for now in (199.0, 200.0, 201.0)]

    assert sorted(first) == [False] * 4 + [True]
    assert later == [False, True, False]
    assert await limits.claim_warning(other, 100.0, 200.0)


async def test_suggestions_at_once_are_exactly_two_for_each_counted_request(limits: LimitStore) -> None:
    few = Charge(REQUESTS.key, msgspec.structs.replace(REQUESTS.rule, most=3), 1)
    suggestion = msgspec.structs.replace(few, suggestions=suggestions_of(few.key))
    await limits.apply([reserve("request", few)])

    outcomes = await asyncio.gather(*(limits.apply([reserve(f"s{number}", suggestion)]) for number in range(20)))

    admitted = [one for (one,) in outcomes if isinstance(one, Admitted)]
    assert len(admitted) == 2 + 2  # two that come with the request, and two that count
    assert (await totals(limits))[few.rule.name] == (3, 0)

    refunds = [one for outcome in admitted for one in outcome.counted]
    await limits.apply([Settle(None, USAGE, refunds=refunds)])

    assert await totals(limits) == {few.rule.name: (1, 0), f"suggestions of {few.rule.name}": (0, 0)}


async def test_a_run_that_does_not_start_gives_its_request_back(limits: LimitStore) -> None:
    (admitted,) = await limits.apply([reserve("h", REQUESTS)])
    assert isinstance(admitted, Admitted)
    assert admitted.hold is None

    await limits.apply([Settle(None, USAGE, refunds=admitted.counted)])

    assert await totals(limits) == {"requests/3600s": (0, 0)}


async def test_a_caller_that_is_cancelled_gives_its_slot_and_its_first_call_back(limits: LimitStore) -> None:
    async with asyncio.timeout(60), Ledger(limits) as ledger:
        asked = msgspec.structs.replace(reserve("h", RUNS), call=reserve("call", TOKENS))
        waiting = asyncio.create_task(ledger.reserve(asked))
        await settle(1)  # it has asked, and has no result yet
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    # closing waits until all is written

    assert await totals(limits) == {"concurrent_runs": (0, 0), "tokens/day": (0, 0)}


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


@pytest.mark.parametrize("is_settled", [True, False])
async def test_a_run_whose_process_dies_before_it_is_finished_is_counted_once(
    is_settled: bool, where: Path | str
) -> None:
    """Calls and slot are settled before the run is finished: the process may die before both, or between them."""
    ask = Ask(messages=(user("Hi"),), durable=True)
    slot = Reserve(f"{ask.run_id}:slot", ask.run_id, [RUNS], USAGE)
    call = Reserve("call", ask.run_id, [TOKENS], USAGE, UsageCounts(requests=1, estimated_tokens=9))
    async with asyncio.timeout(60):
        async with SqlThreads(connect(where, 0.5)) as dead:
            await dead.claim(ask)
            admitted = [one for one in await dead.limits.apply([slot, call]) if isinstance(one, Admitted)]
            if is_settled:
                used = UsageCounts(requests=1, output_tokens=9)
                await dead.limits.apply([Settle(admitted[1].hold, USAGE, used), Settle(admitted[0].hold, USAGE)])
        async with SqlThreads(connect(where, 0.5)) as threads:
            threads.limits.is_used = True
            (orphan,) = await threads.orphans()
            forced = Reserve(slot.id, orphan.run_id, slot.charges, USAGE, is_forced=True)
            (taken,) = await threads.limits.apply([forced])
            assert await totals(threads.limits) == {"concurrent_runs": (0, 1), "tokens/day": (9, 0)}
            assert isinstance(taken, Admitted)
            for _ in range(2):
                await threads.limits.apply([Settle(taken.hold, USAGE)])

            assert await totals(threads.limits) == {"concurrent_runs": (0, 0), "tokens/day": (9, 0)}
            (row,) = await threads.limits.usage(UsageQuery())
            assert row.counts.requests == 1


async def test_a_process_does_not_give_back_the_slot_of_a_run_that_another_one_has_taken_over(
    where: Path | str,
) -> None:
    if isinstance(where, Path):
        pytest.skip("one process at a time owns a file")
    slot = Reserve("run:slot", "run", [RUNS], USAGE)
    async with asyncio.timeout(60), SqlThreads(connect(where)) as paused, SqlThreads(connect(where)) as threads:
        (admitted,) = await paused.limits.apply([slot])
        assert isinstance(admitted, Admitted)
        forced = Reserve(slot.id, slot.run_id, slot.charges, USAGE, is_forced=True)
        (taken,) = await threads.limits.apply([forced])
        assert isinstance(taken, Admitted)

        assert await paused.limits.apply([Settle(admitted.hold, USAGE)]) == [Settled(is_counted=False)]
        assert await totals(threads.limits) == {"concurrent_runs": (0, 1)}
        assert await threads.limits.apply([Settle(taken.hold, USAGE)]) == [Settled()]


async def test_a_slot_that_passed_to_another_process_is_given_back_if_the_first_one_ends_the_run(
    where: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(where, Path):
        pytest.skip("one process at a time owns a file")
    monkeypatch.setattr(sql, "RECONCILE_INTERVAL_S", 0.0)
    ask = Ask(messages=(user("Hi"),), durable=True)
    slot = Reserve(f"{ask.run_id}:slot", ask.run_id, [RUNS], USAGE)
    async with asyncio.timeout(60), SqlThreads(connect(where)) as first, SqlThreads(connect(where)) as second:
        second.limits.is_used = True
        await first.claim(ask)
        await first.limits.apply([slot])
        await second.limits.apply([Reserve(slot.id, slot.run_id, slot.charges, USAGE, is_forced=True)])
        await second.orphans()
        assert await totals(second.limits) == {"concurrent_runs": (0, 1)}
        await first.finish(ask, (), None, RunFinished("done"))

        await second.orphans()
        await second.orphans()

        assert await totals(second.limits) == {"concurrent_runs": (0, 0)}


async def test_a_run_whose_slot_was_given_back_after_its_admission_is_not_claimed() -> None:
    asked = Ask(messages=(user("Hi"),), run_id="run", durable=True)
    async with migrated_database() as url, SqlThreads(connect(url)) as threads:
        (admitted,) = await threads.limits.apply([reserve("run:slot", RUNS)])
        assert isinstance(admitted, Admitted)
        await threads.limits.apply([Settle(admitted.hold, USAGE)])

        with pytest.raises(SlotLost):
            await threads.claim(asked, needs_slot=True)
        assert await threads.load(asked.thread_id, asked.principal) is None

        await threads.limits.apply([reserve("run:slot", RUNS)])
        assert (await threads.claim(asked, needs_slot=True)).epoch == 1


async def test_a_claim_waits_for_the_process_that_gives_its_slot_back() -> None:
    """The other process has looked for runs already, so it would not find this one."""
    asked = Ask(messages=(user("Hi"),), run_id="run", durable=True)
    async with asyncio.timeout(60), migrated_database() as url, SqlThreads(connect(url)) as threads:
        await threads.limits.apply([reserve("run:slot", RUNS)])
        other = await asyncpg.connect(url)
        async with other.transaction():
            await other.execute("SELECT FROM processes FOR UPDATE")
            claiming = asyncio.create_task(threads.claim(asked, needs_slot=True))

            async def is_waiting() -> bool:
                assert not claiming.done()
                await other.execute("SELECT pg_stat_clear_snapshot()")
                return bool(await other.fetchval(WAITING_FOR_ME))

            await until(is_waiting)
            await other.execute("DELETE FROM limit_holds")
        await other.close()

        with pytest.raises(SlotLost):
            await claiming


async def test_a_store_that_counts_nothing_gets_no_statement_of_limits(tmp_path: Path) -> None:
    async with SqlThreads(connect(tmp_path / "rightseat.db")) as threads:
        seen: list[str] = []
        database: Any = threads._database  # the statements are seen nowhere else
        for driver in (database._writer.connection, database._reader.connection.driver_connection):
            driver.set_trace_callback(seen.append)
        ask = Ask(messages=(user("Hi"),))
        await threads.orphans()
        await threads.claim(ask)
        await expire(threads)

    assert seen
    assert not [text for text in seen if "limit_" in text or "usage" in text.replace("model_usage", "")]


@contextmanager
def recording_scripts(threads: SqlThreads) -> Iterator[list[str]]:
    """The first words of the statements that are sent, which are seen nowhere else."""
    sent: list[str] = []
    scripts: Any = threads._database._scripts  # type: ignore[attr-defined]
    with scripts._connection.query_logger(lambda record: sent.append(record.query.split()[0])):
        yield sent


async def test_a_process_that_knows_its_rows_needs_one_round_trip_on_postgresql() -> None:
    async with migrated_database() as where, SqlThreads(connect(where)) as threads:
        await threads.limits.apply([reserve("first", REQUESTS, RUNS, TOKENS)])  # adds the counters
        with recording_scripts(threads) as sent:
            (admitted,) = await threads.limits.apply([reserve("h", REQUESTS, RUNS, TOKENS)])
            assert isinstance(admitted, Admitted)
            await threads.limits.apply([Settle(admitted.hold, USAGE, UsageCounts(requests=1, input_tokens=5))])

        counted = await totals(threads.limits)

    assert sent == ["WITH", "WITH"]
    assert counted == {
        "requests/3600s": (2, 0),
        "concurrent_runs": (0, 1),
        "tokens/day": (5, 100),
    }


async def test_a_process_compares_again_with_the_rows_that_another_one_has_written() -> None:
    async with migrated_database() as where, SqlThreads(connect(where)) as one, SqlThreads(connect(where)) as other:
        for number in range(3):
            for threads in (one, other):
                await threads.limits.apply([reserve(f"{number}:{id(threads)}", RUNS)])
        with recording_scripts(one) as sent:
            (admitted,) = await one.limits.apply([reserve("last", RUNS)])

        counted = await totals(one.limits)

    assert isinstance(admitted, Admitted)
    assert sent == ["WITH", "WITH"]  # and no transaction that locks first
    assert counted == {"concurrent_runs": (0, 7)}


async def test_processes_that_change_the_same_rows_lock_them_first() -> None:
    async with migrated_database() as where, AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(SqlThreads(connect(where))) for _ in range(4)]
        outcomes = await asyncio.gather(
            *(one.limits.apply([reserve(f"{id(one)}:{number}", RUNS)]) for number in range(5) for one in opened)
        )
        admitted = [one for (one,) in outcomes if isinstance(one, Admitted)]

        assert len(admitted) == RUNS.rule.most
        assert await totals(opened[0].limits) == {"concurrent_runs": (0, RUNS.rule.most)}


@pytest.mark.parametrize("days", [-1, 1])
async def test_a_process_whose_clock_is_wrong_counts_on_the_day_of_the_database(days: int) -> None:
    async with migrated_database() as where, SqlThreads(connect(where)) as threads:
        (first,) = await threads.limits.apply([reserve("first", TOKENS)])
        known = threads.limits._known
        assert known._clock is not None
        assert known._clock[0] is not None
        known._clock = known._clock[0] + days * 86_400, known._clock[1]
        (second,) = await threads.limits.apply([reserve("second", TOKENS)])

        assert isinstance(first, Admitted)
        assert isinstance(second, Admitted)
        assert first.hold is not None
        assert second.hold is not None
        assert second.hold.amounts == first.hold.amounts


async def is_flushed(limits: SqlLimits) -> bool:
    """Or given to the ledger, which repeats it."""
    return not limits._unflushed


@asynccontextmanager
async def behind_proxy() -> AsyncIterator[tuple[str, Proxy, SqlLimits, Ledger]]:
    """A database, the proxy before it, the limits of a process that connects through it, and their ledger."""
    async with (
        asyncio.timeout(60),
        migrated_database() as where,
        proxy(5432) as way,
        SqlThreads(connect(where.replace(":5432", f":{way.port}"))) as threads,
        Ledger(threads.limits) as ledger,
    ):
        yield where, way, threads.limits, ledger


async def test_a_settlement_that_a_crash_of_the_database_loses_is_repeated() -> None:
    """A settlement does not wait for the disk. The rows of before are put back, as a crash would leave them."""
    async with behind_proxy() as (where, way, limits, ledger):
        await ledger.reserve(reserve("first", RUNS))  # adds the counter
        admitted = await ledger.reserve(reserve("h", RUNS))
        assert isinstance(admitted, Admitted)
        crashed = await asyncpg.connect(where)
        await crashed.execute("CREATE TEMP TABLE before AS SELECT * FROM limit_holds")
        await crashed.execute("CREATE TEMP TABLE counters_before AS SELECT * FROM limit_counters")
        await ledger.settle(Settle(admitted.hold, USAGE, UsageCounts(input_tokens=5)))
        assert await totals(limits) == {"concurrent_runs": (0, 1)}
        await crashed.execute("DELETE FROM limit_counters; INSERT INTO limit_counters SELECT * FROM counters_before")
        await crashed.execute("DELETE FROM limit_holds; INSERT INTO limit_holds SELECT * FROM before")
        await crashed.execute("DELETE FROM usage")
        await crashed.close()

        way.cut()
        way.mend()
        await until(lambda: is_flushed(limits))
        await ledger.settle(Settle(None, USAGE, UsageCounts(requests=1)))  # after the repeated one

        assert await totals(limits) == {"concurrent_runs": (0, 1)}
        (row,) = await limits.usage(UsageQuery())
        assert row.counts.input_tokens == 5


async def test_a_settlement_that_is_repeated_after_a_lost_connection_counts_once() -> None:
    async with behind_proxy() as (_, way, limits, ledger):
        await ledger.reserve(reserve("first", RUNS))
        admitted = await ledger.reserve(reserve("h", RUNS))
        assert isinstance(admitted, Admitted)
        await ledger.settle(Settle(admitted.hold, USAGE, UsageCounts(input_tokens=5)))
        assert limits._unflushed
        way.cut()
        way.mend()
        await until(lambda: is_flushed(limits))
        await ledger.reserve(reserve("later", RUNS))

        (row,) = await limits.usage(UsageQuery())
        assert row.counts.input_tokens == 5
        assert await totals(limits) == {"concurrent_runs": (0, 2)}


async def test_limits_are_refused_while_the_database_is_away_and_counted_afterwards() -> None:
    async with behind_proxy() as (_, way, limits, _):
        await limits.apply([reserve("before", RUNS)])
        way.cut()
        for _ in range(2):  # on the lost connection, and on a new one
            with pytest.raises(StoreUnreachable):
                await limits.apply([reserve("away", RUNS)])
        way.mend()
        await limits.apply([reserve("after", RUNS)])

        assert await totals(limits) == {"concurrent_runs": (0, 2)}


async def test_a_reservation_whose_connection_is_lost_is_refused_and_given_back() -> None:
    async with behind_proxy() as (where, way, limits, ledger):
        await ledger.reserve(reserve("before", RUNS))
        way.mute_after = (b"lost",)  # the id: the database writes it, and its response does not arrive
        lost = asyncio.create_task(ledger.reserve(reserve("lost", RUNS)))
        await way.swallowed.wait()
        direct = await asyncpg.connect(where)
        assert await direct.fetchval("SELECT count(*) FROM limit_holds") == 2
        await direct.close()
        way.cut()
        with pytest.raises(StoreUnreachable):
            await lost
        way.mend()
        await ledger.settle(Settle(None, USAGE, UsageCounts(requests=1)))  # after the settlement that removes it

        assert await totals(limits) == {"concurrent_runs": (0, 1)}


async def test_a_hold_that_is_refused_leaves_nothing(limits: LimitStore) -> None:
    large = Charge(TOKENS.key, TOKENS.rule, 950)
    outcomes = await limits.apply([reserve("one", TOKENS), reserve("two", RUNS, large)])

    assert isinstance(outcomes[0], Admitted)
    assert isinstance(outcomes[0].hold, Hold)
    assert isinstance(outcomes[1], LimitRefusal)
    assert await totals(limits) == {"concurrent_runs": (0, 0), "tokens/day": (0, 100)}


QUEUED_MOST = 3
QUEUED = Charge(
    CounterKey("q", "concurrent_runs", "everyone"), LimitRule(kinds.RUNS, 1), 1, policy=QueuePolicy(30, QUEUED_MOST)
)


def ask(run: str, user: str = "alice", *, has_ticket: bool = False) -> Reserve:
    return Reserve(f"{run}:slot", run, [QUEUED], USAGE._replace(user=user), has_ticket=has_ticket)


def end(run: str, user: str = "alice") -> Settle:
    usage = USAGE._replace(user=user)
    return Settle(Hold(f"{run}:slot", run, [HeldAmount(QUEUED.key, "runs", 0, 1)], usage), usage)


async def find_waiting(limits: LimitStore) -> int:
    _, rows = await limits.counters()
    return sum(row.waiting for row in rows)


async def test_asks_beyond_a_limit_with_a_queue_wait_in_turn(limits: LimitStore) -> None:
    first, *waiting = await limits.apply([ask("r1"), ask("r2"), ask("r3"), ask("r4", "bob"), ask("r5", "bob")])

    assert isinstance(first, Admitted)
    assert [type(one) for one in waiting] == [Queued, Queued, Queued, LimitRefusal]
    assert isinstance(waiting[-1], LimitRefusal)
    assert waiting[-1].cause == "queue_full"
    assert await find_waiting(limits) == 3
    assert (await limits.find_ready({QUEUED.key: QUEUED.rule})).ready == []

    await limits.apply([end("r1")])

    assert (await limits.find_ready({QUEUED.key: QUEUED.rule})).ready == ["r2:ticket"]
    new, third, second = await limits.apply([ask("r6"), ask("r3", has_ticket=True), ask("r2", has_ticket=True)])
    assert isinstance(new, LimitRefusal)
    assert isinstance(third, Queued)
    assert isinstance(second, Admitted)
    assert await find_waiting(limits) == 2

    await limits.apply([end("r2"), Settle(None, USAGE, UsageCounts(refused=1), ticket_id="r3:ticket")])
    (bob,) = await limits.apply([ask("r4", "bob", has_ticket=True)])

    assert isinstance(bob, Admitted)
    assert await find_waiting(limits) == 0
    assert await totals(limits) == {"concurrent_runs": (0, 1)}


async def test_the_user_without_a_running_run_is_admitted_first(limits: LimitStore) -> None:
    both = Charge(QUEUED.key, LimitRule(kinds.RUNS, 2), 1, policy=QueuePolicy())
    slots = [
        Reserve(f"{run}:slot", run, [both], USAGE._replace(user=user))
        for run, user in (("a1", "alice"), ("a2", "alice"), ("a3", "alice"), ("b1", "bob"))
    ]
    await limits.apply(slots)

    await limits.apply([end("a1")])

    assert (await limits.find_ready({both.key: both.rule})).ready == ["b1:ticket"]


async def test_a_user_who_fills_a_queue_loses_the_last_place_to_another_user(limits: LimitStore) -> None:
    await limits.apply([ask("r0"), *(ask(f"a{number}") for number in range(3))])

    (bob,) = await limits.apply([ask("b1", "bob")])
    state = await limits.find_ready({QUEUED.key: QUEUED.rule})
    again, second, carol = await limits.apply([ask("a2", has_ticket=True), ask("b2", "bob"), ask("c1", "carol")])

    assert isinstance(bob, Queued)
    assert sorted(state.waiting) == ["a0:ticket", "a1:ticket", "b1:ticket"]
    assert [one.cause for one in (again, second) if isinstance(one, LimitRefusal)] == ["queue_full", "queue_full"]
    assert isinstance(carol, Queued)
    state = await limits.find_ready({QUEUED.key: QUEUED.rule})
    assert sorted(state.waiting) == ["a0:ticket", "b1:ticket", "c1:ticket"]


async def test_a_hundred_asks_of_one_user_at_once_leave_a_place_for_each_other_user(limits: LimitStore) -> None:
    await limits.apply([ask("r0")])
    flood = [limits.apply([ask(f"a{number}")]) for number in range(100)]
    others = [limits.apply([ask(f"{user}1", user)]) for user in ("bob", "carol")]

    await asyncio.gather(*flood[:50], *others, *flood[50:])

    state = await limits.find_ready({QUEUED.key: QUEUED.rule})
    assert len(state.waiting) == QUEUED_MOST
    assert {"bob1:ticket", "carol1:ticket"} <= {*state.waiting}


async def test_two_asks_that_continue_the_same_run_go_first_once(limits: LimitStore) -> None:
    continuing = [msgspec.structs.replace(ask(run, "bob"), continues="waits") for run in ("r3", "r4")]
    await limits.apply([ask("r1"), ask("r2"), *continuing])

    await limits.apply([end("r1")])

    waiting = (await limits.find_ready({QUEUED.key: QUEUED.rule})).ready
    assert waiting == ["r3:ticket"]
    await limits.apply([msgspec.structs.replace(continuing[0], has_ticket=True)])
    await limits.apply([end("r3", "bob")])
    assert (await limits.find_ready({QUEUED.key: QUEUED.rule})).ready == ["r2:ticket"]


async def test_an_ask_that_continues_a_run_does_not_go_first_where_requests_are_counted(limits: LimitStore) -> None:
    rule = LimitRule(kinds.REQUESTS, 1, SlidingWindow(1))
    charge = Charge(CounterKey("q", rule.name, "everyone"), rule, 1, policy=QueuePolicy())
    asks = [Reserve(f"r{number}:slot", f"r{number}", [charge], USAGE) for number in range(2)]
    await limits.apply([*asks, msgspec.structs.replace(asks[0], id="r2:slot", run_id="r2", continues="waits")])

    async def is_ready() -> bool:
        return bool((await limits.find_ready({charge.key: rule})).ready)

    await until(is_ready)
    assert (await limits.find_ready({charge.key: rule})).ready == ["r1:ticket"]


async def test_tickets_of_a_process_that_died_are_removed(where: Path | str) -> None:
    async with asyncio.timeout(60):
        async with SqlThreads(connect(where, 0.5)) as dead:
            await dead.limits.apply([ask("r1"), ask("r2")])
            assert await find_waiting(dead.limits) == 1
        async with SqlThreads(connect(where, 0.5)) as threads:
            threads.limits.is_used = True
            await threads.orphans()

            assert await find_waiting(threads.limits) == 0
            assert await totals(threads.limits) == {"concurrent_runs": (0, 0)}


async def test_a_ticket_whose_time_is_over_does_not_block_others(limits: LimitStore) -> None:
    brief = Charge(QUEUED.key, QUEUED.rule, 1, policy=QueuePolicy(wait=-TICKET_GRACE_S))
    await limits.apply([ask("r1"), Reserve("r2:slot", "r2", [brief], USAGE)])

    (third,) = await limits.apply([ask("r3")])

    assert isinstance(third, Queued)
    assert third.ticket.number == 1
    assert await find_waiting(limits) == 1


async def test_a_limit_that_downgrades_counts_asks_and_no_calls(limits: LimitStore) -> None:
    policy = DowngradePolicy("small")
    requests = Charge(REQUESTS.key, LimitRule(kinds.REQUESTS, 1, SlidingWindow(3600)), 1, policy=policy)
    tokens = Charge(CounterKey("a", "tokens/day", "alice"), LimitRule(kinds.TOKENS, 50, CalendarWindow("day")), 60)
    first, second = await limits.apply([reserve("h1", requests), reserve("h2", requests, tokens, TOKENS)])

    assert isinstance(first, Admitted)
    assert first.downgrade is None
    assert isinstance(second, Admitted)
    assert second.downgrade == Downgrade("small", ("a",))
    assert second.hold is not None
    assert [one.key for one in second.hold.amounts] == [TOKENS.key]
    assert (await totals(limits))["requests/3600s"] == (2, 0)


async def test_a_transient_run_whose_slot_was_given_back_after_its_admission_does_not_start() -> None:
    asked = Ask(messages=(user("Hi"),), run_id="run", transient=True)
    async with migrated_database() as url, SqlThreads(connect(url)) as threads:
        (admitted,) = await threads.limits.apply([reserve("run:slot", RUNS)])
        assert isinstance(admitted, Admitted)
        assert (await threads.claim(asked, needs_slot=True)).epoch == 1
        await threads.limits.apply([Settle(admitted.hold, USAGE)])

        with pytest.raises(SlotLost):
            await threads.claim(asked, needs_slot=True)


async def test_a_process_forgets_its_oldest_holds_and_settles_them_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process may have settled them, so that this one never does."""
    monkeypatch.setattr(known_limits, "MAX_KNOWN_HOLDS", 2)
    async with migrated_database() as url, SqlThreads(connect(url)) as threads:
        (first,) = await threads.limits.apply([reserve("first", RUNS)])
        for number in range(4):
            await threads.limits.apply([reserve(f"later:{number}", RUNS)])
        assert isinstance(first, Admitted)
        assert [*threads.limits._known._hold_ids] == ["later:2", "later:3"]

        settled = await threads.limits.apply([Settle(first.hold, USAGE)])

        assert settled == [Settled()]
        assert await totals(threads.limits) == {"concurrent_runs": (0, 4)}
