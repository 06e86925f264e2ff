"""Runs that other servers start are found by one query for all streams of a process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.operations import new_runs
from rightseat.operations.new_runs import NewRuns
from rightseat.operations.records import Page, RunQuery, RunRecord
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.sql import SqlThreads
from tests.conditions import settle, until
from tests.databases import migrated_database

ANNA = Principal("anna")


class CountingRecords:
    """The records of a store, which count the pages that are read."""

    def __init__(self, threads: SqlThreads) -> None:
        self.pages = 0
        self._read, threads.records.runs = threads.records.runs, self._count  # type: ignore[method-assign]

    async def _count(self, query: RunQuery) -> Page[RunRecord]:
        self.pages += 1
        return await self._read(query)


@asynccontextmanager
async def fleet(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[NewRuns, CountingRecords, SqlThreads]]:
    """What finds the new runs in one server, and the store of another."""
    monkeypatch.setattr(new_runs, "POLL_INTERVAL_S", 0.02)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(migrated_database())
        own, other = [await stack.enter_async_context(SqlThreads(connect(url))) for _ in range(2)]
        counted = CountingRecords(own)
        yield NewRuns(own.records, is_alone=own.reap_every is None), counted, other


async def claim(threads: SqlThreads, thread: str) -> None:
    await threads.claim(Ask(messages=(user("Hi"),), principal=ANNA, thread_id=thread))


async def test_all_followers_learn_of_a_run_of_another_server_once_and_of_none_from_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fleet(monkeypatch) as (found, _, other):
        await claim(other, "before")
        first, second = list[str | None](), list[str | None]()
        async with found.following(first.append), found.following(second.append):
            await claim(other, "one")
            await until(lambda: second)
            await claim(other, "two")
            await until(lambda: len(second) == 2)

    assert first == second == ["one", "two"]


async def test_many_streams_cost_as_many_queries_as_one_and_none_once_all_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fleet(monkeypatch) as (found, counted, other), AsyncExitStack() as streams:
        woken = [list[str | None]() for _ in range(50)]
        for threads in woken:
            await streams.enter_async_context(found.following(threads.append))
        await claim(other, "one")
        await until(lambda: all(woken))
        polls = counted.pages
        await streams.aclose()
        await settle()
        last = counted.pages
        await claim(other, "two")
        await settle()

        assert polls < 50
        assert counted.pages == last


async def test_more_runs_than_are_looked_at_wake_every_follower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_runs, "PAGE_RUNS", 1)
    monkeypatch.setattr(new_runs, "MAX_PAGES", 2)
    async with fleet(monkeypatch) as (found, _, other):
        await claim(other, "before")
        woken: list[str | None] = []
        async with found.following(woken.append):
            for number in range(30):
                await claim(other, f"{number}")
            await until(lambda: None in woken)


async def test_where_only_this_process_starts_runs_nothing_is_asked() -> None:
    threads = MemoryThreads()
    woken: list[str | None] = []
    async with NewRuns(threads.records, is_alone=threads.reap_every is None).following(woken.append):
        await threads.claim(Ask(messages=(user("Hi"),), principal=ANNA))
        await settle()

    assert woken == []
