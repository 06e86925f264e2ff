"""One SQLite file that several workers write, beside the promises of `tests/contracts/test_shared_logs.py`."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial

import pytest

from rightseat.core.errors import RunNotFound, StaleWriter
from rightseat.core.events import RunFinished, TextDelta
from rightseat.core.log import Log
from rightseat.logs.sqlite import tail
from rightseat.logs.sqlite.log import SqliteLog
from tests.conditions import Paced, until
from tests.contracts.logs import (
    PLENTY,
    Fleet,
    SharedRunWriter,
    deltas,
    events_of,
    following,
    is_known,
    sharing_file,
    write,
)


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    async with sharing_file() as fleet:
        yield fleet


async def test_a_run_that_two_processes_create_has_one_writer(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")
    await there.create("r")

    async with asyncio.timeout(60), here.open("r", 1) as first:
        await first.append(TextDelta("m", "mine"))
        await first.flush()
        with pytest.raises(StaleWriter):
            await write_one(there)

    assert await events_of(here, "r") == await events_of(there, "r") == [TextDelta("m", "mine")]


async def write_one(log: Log) -> None:
    async with log.open("r", 1) as writer:
        await writer.append(TextDelta("m", "not mine"))
        await writer.flush()


async def test_a_run_can_be_followed_before_its_first_entry_is_in_the_file(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(60):
        reading = asyncio.create_task(events_of(there, "r"))
        await asyncio.sleep(5 * tail.POLL_INTERVAL_S)  # for it to look, and find nothing
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
        found = await reading

    assert found == [TextDelta("m", "one")]


async def test_a_run_that_no_process_writes_is_not_found(fleet: Fleet) -> None:
    here = await fleet()

    with pytest.raises(RunNotFound):
        await events_of(here, "r")


async def test_followers_of_a_run_that_is_deleted_receive_its_end(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(30):
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            await writer.flush()
            reading = asyncio.create_task(events_of(there, "r"))
            await until(partial(is_known, there))
            monkeypatch.setattr(tail, "POLL_INTERVAL_S", 60.0)
            await asyncio.sleep(0.1)  # for the last poll at the old interval, which leaves no trace
            for event in (*deltas(300), RunFinished("cancelled")):
                await writer.append(event)
        await there.delete(("r",))

        assert await reading == [TextDelta("m", "first"), *deltas(300), RunFinished("cancelled")]


async def test_a_reader_elsewhere_that_stops_reading_blocks_no_writer_and_misses_nothing(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(60), following(there, "r") as far:
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            stuck = await anext(far)
            quick = asyncio.create_task(events_of(there, "r"))
            await SharedRunWriter(writer).task
        received = await quick
        copy = log_tail(there).find("r")
        kept = len(copy.run.entries) if copy else 0
        late = [*stuck, *[entry for batch in [one async for one in far] for entry in batch]]

    assert received == [TextDelta("m", "first"), *deltas(PLENTY)]
    assert [entry.event for entry in late] == received
    assert kept <= 2 * 1024


async def test_readers_elsewhere_of_several_runs_receive_their_own_entries(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()

    async with asyncio.timeout(30), AsyncExitStack() as left:
        for number in range(20):
            await here.create(f"r{number}")
        writers = [await left.enter_async_context(here.open(f"r{number}", 1)) for number in range(20)]
        reading = [asyncio.create_task(events_of(there, f"r{number}")) for number in range(20)]
        async for index in Paced(range(50), 0.001):
            for number, writer in enumerate(writers):
                await writer.append(TextDelta("m", f"{number}-{index} "))
        await left.aclose()
        found = await asyncio.gather(*reading)

    for number, events in enumerate(found):
        texts = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert texts == "".join(f"{number}-{index} " for index in range(50))


async def test_more_rows_than_one_statement_reads_are_all_published(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_ROWS", 3)
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(30):
        async with here.open("r", 1) as writer:
            await writer.flush()
            reading = asyncio.create_task(events_of(there, "r"))
            for event in deltas(40):
                await writer.append(event)
                await writer.flush()  # a row of its own
        found = await reading

    assert found == deltas(40)


async def test_a_process_that_stalled_until_a_run_was_compacted_reads_the_rest(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "POLL_INTERVAL_S", 0.5)
    here, there = await fleet(), await fleet()
    assert isinstance(here, SqliteLog)
    here._compact_after_seconds = -1.0
    await here.create("r")

    async with asyncio.timeout(60), following(there, "r") as batches:
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one "))
            found = list(await anext(batches))
            await asyncio.sleep(0.05)  # the next poll of the other process is far away then
            for event in (TextDelta("m", "two "), TextDelta("m", "three"), RunFinished("done")):
                await writer.append(event)
        assert await here.compact() == 1
        found += [entry for batch in [one async for one in batches] for entry in batch]

    events = [entry.event for entry in found]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "one two three"
    assert events[-1] == RunFinished("done")


async def test_a_deleted_run_ends_its_followers_elsewhere(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(60), here.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))
        await writer.flush()
        reading = asyncio.create_task(events_of(there, "r"))
        await until(partial(is_known, there))
        await there.delete(["r"])
        found = await reading

    assert found == [TextDelta("m", "one")]


async def test_the_file_is_polled_only_while_a_run_of_another_process_is_followed(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await write(here, "ended", deltas(3))
    await here.create("r")

    async with asyncio.timeout(60), here.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))
        await writer.flush()
        await events_of(there, "ended")
        before = log_tail(there)._task
        async with following(there, "r") as batches:
            await anext(batches)
            during = log_tail(there)._task
        await until(partial(has_stopped, there))

    assert before is None
    assert during is not None


async def has_stopped(log: Log) -> bool:
    task = log_tail(log)._task
    return task is not None and task.done()


async def test_an_entry_reaches_a_follower_elsewhere_within_a_tenth_of_a_second(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")
    delays: list[float] = []

    async with asyncio.timeout(30), here.open("r", 1) as writer, following(there, "r") as batches:
        for event in deltas(30):
            sent = time.monotonic()
            await writer.append(event)
            await anext(batches)
            delays.append(time.monotonic() - sent)

    assert sorted(delays)[15] < 0.1


def log_tail(log: Log) -> tail.FileTail:
    assert isinstance(log, SqliteLog)
    assert log._tail is not None
    return log._tail
