"""Old usage is merged by month in a database, in batches, also by two replicas at once."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert

from rightseat.limits.store import UsageQuery
from rightseat.stores import limit_queries, usage_months
from rightseat.stores.databases import StoreDatabase, connect
from rightseat.stores.sql import SqlThreads
from rightseat.stores.tables import usage
from tests.stores.expiry import expire

BEFORE = "2025-03-10"


def add_rows(connection: Connection, days: list[str], user: str = "alice", cost: int = 7) -> None:
    shared = {"user": user, "key": "ci", "agent": "default", "model": "big", "purpose": "answer"}
    counts = {name: number for number, name in enumerate(limit_queries.COUNT_NAMES[:-1], 1)}
    connection.execute(insert(usage), [{"day": day, **shared, **counts, "cost": cost} for day in days])


async def list_days(threads: SqlThreads) -> list[tuple[str, str, int, int]]:
    rows = await threads.limits.usage(UsageQuery(("day", "user")))
    return [(*row.group, row.counts.requests, row.counts.cost) for row in rows]  # type: ignore[misc]  # two columns


async def merge_all(database: StoreDatabase, batch: int = 2) -> int:
    merged = 0
    while count := await database.write(usage_months.merge_months, BEFORE, batch):
        merged += count
    return merged


async def test_rows_of_old_days_become_one_row_of_their_month(where: Path | str) -> None:
    database = connect(where)
    async with SqlThreads(database) as threads:
        await database.write(add_rows, ["2025-01-01", "2025-01-15", "2025-01-31", "2025-02-02", "2025-03-09"])
        await database.write(add_rows, ["2025-03-10", "2025-03-11"])
        await database.write(add_rows, ["2025-01-20"], "bob", 2**40)
        before = await threads.limits.usage(UsageQuery())

        assert (await merge_all(database), await merge_all(database)) == (5, 0)
        assert await list_days(threads) == [
            ("2025-01-01", "alice", 3, 21),
            ("2025-01-01", "bob", 1, 2**40),
            ("2025-02-01", "alice", 1, 7),
            ("2025-03-01", "alice", 1, 7),
            ("2025-03-10", "alice", 1, 7),
            ("2025-03-11", "alice", 1, 7),
        ]
        assert await threads.limits.usage(UsageQuery()) == before


async def test_two_replicas_merge_every_row_once(where: Path | str) -> None:
    database = connect(where)
    async with asyncio.timeout(60), SqlThreads(database) as threads:
        await database.write(add_rows, [f"2024-{month:02}-{day:02}" for month in range(1, 7) for day in range(2, 29)])
        merged = await asyncio.gather(*(merge_all(database, 10) for _ in range(2)))

        assert sum(merged) == 6 * 27
        assert await list_days(threads) == [(f"2024-{month:02}-01", "alice", 27, 27 * 7) for month in range(1, 7)]


async def test_the_clearing_of_the_store_merges_what_is_older_than_400_days(where: Path | str) -> None:
    database = connect(where)
    async with SqlThreads(database) as threads:
        threads.limits.is_used = True
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        await database.write(add_rows, ["2024-05-02", "2024-05-03", today])

        await expire(threads)

        assert [day for day, *_ in await list_days(threads)] == ["2024-05-01", today]


def test_the_last_400_days_are_those_of_the_time_zone() -> None:
    now = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)

    assert usage_months.first_daily_day(now, "UTC") == "2025-10-12"
    assert usage_months.first_daily_day(now, "Asia/Shanghai") == "2025-10-13"
