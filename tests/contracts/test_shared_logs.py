"""What a log promises that several processes share: each `fleet()` is one more process.

Each of `servers()` shares a log that is on a server of its own. It knows a run from `create` on, and no reader delays
its writer. A SQLite file gets a run with its first entries, and its writer waits for readers of the same process:
`tests/logs/sqlite/test_shared_file.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from rightseat.core.errors import RunExists, RunNotFound, StaleWriter
from rightseat.core.events import (
    RunFinished,
    TextDelta,
)
from rightseat.core.log import Entry, Log, Position
from rightseat.logs.postgres import subscription as postgres_subscription
from rightseat.logs.redis import subscription as redis_subscription
from rightseat.logs.shared import records, run
from rightseat.logs.shared.log import SharedLog
from rightseat.logs.shared.records import Record
from tests.conditions import Paced, until, until_stable
from tests.contracts.logs import (
    PLENTY,
    Fleet,
    SharedRunWriter,
    deltas,
    events_of,
    following,
    is_known,
    read,
    sharing,
    write,
    write_on,
)


@pytest.fixture(params=["sqlite", "redis", "postgres"])
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fleet]:
    """Processes that share a log: each call is one more."""
    async with sharing(request.param) as fleet:
        yield fleet


@pytest.fixture(params=["redis", "postgres"])
async def servers(request: pytest.FixtureRequest) -> AsyncIterator[Fleet]:
    async with sharing(request.param) as fleet:
        yield fleet


class SilentSubscription:
    """One that is late with everything."""

    async def receive(self, positions: Mapping[str, Position]) -> Mapping[str, Sequence[Record]]:
        await asyncio.Event().wait()
        return {}

    def wake(self) -> None: ...

    async def close(self) -> None: ...


async def test_followers_of_a_run_that_is_deleted_receive_its_end(
    servers: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = await servers(), await servers()
    assert isinstance(there, SharedLog)
    monkeypatch.setattr(there._backend, "subscribe", SilentSubscription)
    await here.create("r")

    async with asyncio.timeout(30):
        received = asyncio.create_task(events_of(there, "r"))
        await until(partial(is_known, there))
        async with here.open("r", 1) as writer:
            for event in (*deltas(300), RunFinished("cancelled")):
                await writer.append(event)
        await there.delete(("r",))

        assert await received == [*deltas(300), RunFinished("cancelled")]


async def test_what_one_process_writes_another_reads(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()

    ids = await write(here, "r", [*deltas(50), RunFinished("done")])

    assert [entry.id for entry in await there.read("r")] == ids
    assert await events_of(there, "r", after=ids[40]) == [*deltas(50)[41:], RunFinished("done")]


async def test_a_run_is_created_once_in_the_whole_fleet(servers: Fleet) -> None:
    here, there = await servers(), await servers()
    await here.create("r")

    with pytest.raises(RunExists):
        await there.create("r")


async def test_what_one_process_writes_another_follows_entry_by_entry(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(30), here.open("r", 1) as writer, following(there, "r") as batches:
        for event in deltas(20):
            await writer.append(event)
            assert [entry.event for entry in await anext(batches)] == [event]


async def test_a_follower_in_another_process_ends_when_the_log_ends(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(30):
        reading = asyncio.create_task(events_of(there, "r"))
        async with here.open("r", 1) as writer:
            async for event in Paced(deltas(500)):
                await writer.append(event)
        assert await reading == deltas(500)


async def test_a_run_is_taken_over_by_another_process_and_followers_get_each_entry_once(fleet: Fleet) -> None:
    """The old owner was only slow. It finds out when it writes, and whoever follows it there goes on reading."""
    old, new, third = await fleet(), await fleet(), await fleet()
    await old.create("r")

    async with asyncio.timeout(30):
        reading = [asyncio.create_task(read(log, "r")) for log in (old, new, third)]
        async with old.open("r", 1) as sleeper:
            await sleeper.append(TextDelta("m", "one"))
            await old.read("r")
            async with new.open("r", 2) as owner:
                await owner.append(TextDelta("m", "two"))
                await new.read("r")
                with pytest.raises(StaleWriter):
                    await write_on(sleeper)
                await owner.append(TextDelta("m", "three"))
        heard = await asyncio.gather(*reading)

    assert [[entry.id for entry in one] for one in heard] == [["1-1", "2-2", "2-3"]] * 3
    assert [entry.event for entry in heard[0]] == [TextDelta("m", text) for text in ("one", "two", "three")]


async def test_a_stale_writer_in_another_process_does_not_end_the_log(fleet: Fleet) -> None:
    """The store gives a run away first, and the new owner opens the log a moment later."""
    old, new = await fleet(), await fleet()
    await old.create("r")

    async with asyncio.timeout(30):
        reading = [asyncio.create_task(events_of(log, "r")) for log in (old, new)]
        with pytest.raises(StaleWriter):
            await write_one_and_be_refused(old)
        async with new.open("r", 2) as owner:
            await owner.append(TextDelta("m", "two"))
        heard = await asyncio.gather(*reading)

    assert heard == [[TextDelta("m", "one"), TextDelta("m", "two")]] * 2


async def write_one_and_be_refused(log: Log) -> None:
    async with log.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))
        await log.read("r")
        raise StaleWriter("r", 1, 2)


async def test_a_run_changes_hands_again_and_again_while_it_is_followed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "FIRST_PAGE_RECORDS", 2)
    monkeypatch.setattr(records, "MAX_PAGE_RECORDS", 2)
    one, two, three = await fleet(), await fleet(), await fleet()
    await one.create("r")

    async with asyncio.timeout(30), AsyncExitStack() as left:
        reading = [asyncio.create_task(read(log, "r")) for log in (one, two)]
        for epoch in range(1, 9):
            log = (two, one)[epoch % 2]
            writer = await left.enter_async_context(log.open("r", epoch))
            for event in deltas(5):
                await writer.append(event)
            await log.read("r")
        for log in (one, two, three, three):  # late, and from the beginning
            reading.append(asyncio.create_task(read(log, "r")))
            await until(partial(is_known, log))
        await left.aclose()
        heard = await asyncio.gather(*reading)

    ids = [f"{epoch}-{number}" for epoch in range(1, 9) for number in range(epoch * 5 - 4, epoch * 5 + 1)]
    assert [[entry.id for entry in one] for one in heard] == [ids] * 6


async def test_a_writer_that_was_shut_out_writes_nothing_and_its_neighbours_all(fleet: Fleet) -> None:
    old, new = await fleet(), await fleet()
    await old.create("mine")
    await old.create("lost")

    async with asyncio.timeout(30), old.open("mine", 1) as mine, old.open("lost", 1) as lost:
        await lost.flush()
        async with new.open("lost", 2):
            pass
        for event in deltas(20):
            await mine.append(event)
            await lost.append(event)
        await mine.flush()
        with pytest.raises(StaleWriter):
            await lost.append(TextDelta("m", "still not"))

    assert await events_of(old, "mine") == deltas(20)
    assert await events_of(old, "lost") == await events_of(new, "lost") == []


async def test_a_reader_that_stops_reading_blocks_no_writer_and_misses_nothing(servers: Fleet) -> None:
    here, there = await servers(), await servers()
    await here.create("r")

    async with asyncio.timeout(60), following(here, "r") as near, following(there, "r") as far:
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            stuck = [await anext(near), await anext(far)]
            quick = [asyncio.create_task(events_of(log, "r")) for log in (here, there)]
            await SharedRunWriter(writer).task
        heard = await asyncio.gather(*quick)
        late = [[*first, *[entry for batch in [one async for one in rest] for entry in batch]]
                for first, rest in zip(stuck, (near, far), strict=True)]  # fmt: skip

    assert heard == [[TextDelta("m", "first"), *deltas(PLENTY)]] * 2
    assert [[entry.event for entry in one] for one in late] == heard


async def test_a_writer_waits_if_all_followers_have_stopped_reading(fleet: Fleet) -> None:
    here = await fleet()
    await here.create("r")

    async with asyncio.timeout(60), following(here, "r") as stuck, here.open("r", 1) as writer:
        await writer.append(TextDelta("m", "first"))
        await anext(stuck)
        pen = SharedRunWriter(writer)
        await still(pen)
        assert pen.written < PLENTY
        reading = asyncio.create_task(read_on(stuck))
        await pen.task
        reading.cancel()
        await asyncio.wait((reading,))


async def test_a_writer_continues_when_the_last_follower_it_waits_for_leaves(fleet: Fleet) -> None:
    here = await fleet()
    await here.create("r")

    async with asyncio.timeout(60), here.open("r", 1) as writer:
        async with following(here, "r") as stuck:
            await writer.append(TextDelta("m", "first"))
            await anext(stuck)
            pen = SharedRunWriter(writer)
            await still(pen)
            assert pen.written < PLENTY
        await pen.task


async def test_a_reader_that_takes_nothing_for_long_is_not_waited_for(
    servers: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SLOW_READER_TIMEOUT_S", 0.2)
    here = await servers()
    await here.create("r")

    async with asyncio.timeout(60), following(here, "r") as stuck:
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            seen = list(await anext(stuck))
            await SharedRunWriter(writer).task
        seen += [entry for batch in [one async for one in stuck] for entry in batch]

    assert [entry.event for entry in seen] == [TextDelta("m", "first"), *deltas(PLENTY)]


async def read_on(batches: AsyncIterator[Sequence[Entry]]) -> None:
    async for _ in batches:
        pass


async def still(pen: SharedRunWriter) -> None:
    """Until it waits, or has written all: for several exchanges with the server."""
    await until_stable(lambda: pen.written)


@pytest.mark.parametrize(  # a transaction for each of 3,000 entries; Redis has the same bound on one call to the server
    "fleet", ["sqlite", "redis", pytest.param("postgres", marks=pytest.mark.night)], indirect=True
)
async def test_many_runs_are_followed_at_once(fleet: Fleet) -> None:
    """More than one call to the server can ask for."""
    here, there = await fleet(), await fleet()
    runs = [f"r{number}" for number in range(600)]

    async with asyncio.timeout(50), AsyncExitStack() as stack:
        await asyncio.gather(*map(here.create, runs))
        writers = await asyncio.gather(*(stack.enter_async_context(here.open(run_id, 1)) for run_id in runs))
        reading = [asyncio.create_task(events_of(there, run_id)) for run_id in runs]
        for event in deltas(5):
            await asyncio.gather(*(writer.append(event) for writer in writers))
            await here.read("r0")
        await stack.aclose()
        heard = await asyncio.gather(*reading)

    assert heard == [deltas(5)] * 600


async def test_a_run_that_is_followed_later_is_delivered_at_once_while_others_are_silent(
    servers: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_subscription, "BLOCK_S", 60.0)
    monkeypatch.setattr(postgres_subscription, "POLL_INTERVAL_S", 60.0)
    here, there = await servers(), await servers()

    async with asyncio.timeout(30), AsyncExitStack() as left:
        for run_id in ("silent", "later"):
            await here.create(run_id)
        writer = await left.enter_async_context(here.open("later", 1))
        silent = asyncio.create_task(events_of(there, "silent"))
        await until(partial(is_known, there, "silent"))
        later = await left.enter_async_context(following(there, "later"))
        first = asyncio.ensure_future(anext(later))
        await until(partial(is_known, there, "later"))
        await writer.append(TextDelta("m", "one"))
        assert [entry.seq for entry in await first] == [1]
        silent.cancel()


async def test_no_process_takes_what_others_write_for_cut_off(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with here.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))

        assert list(await there.unfinished_runs()) == []


async def test_transient_runs_stay_in_their_process(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r", transient=True)

    async with here.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))
        with pytest.raises(RunNotFound):
            await there.read("r")
