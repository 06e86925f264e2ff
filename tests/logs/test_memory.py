"""What only the log in memory promises: how much it keeps."""

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import aclosing, contextmanager

import pytest

from rightseat.core.errors import RunNotFound
from rightseat.core.events import Event, RunFinished, TextDelta
from rightseat.core.log import Entry
from rightseat.logs.memory import MemoryLog, Options, build
from rightseat.logs.run_buffer import MAX_READER_LAG
from tests.conditions import Paced, settle

MEGABYTE = 2**20


@contextmanager
def growing_less_than(limit: int) -> Iterator[None]:
    """The block's own memory stays under the limit at every moment."""
    gc.collect()
    tracemalloc.start()
    try:
        yield
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < limit


def big(number: int) -> TextDelta:
    return TextDelta("m", f"{number:01024}")


async def write(log: MemoryLog, run_id: str, count: int, *, transient: bool = False) -> None:
    await log.create(run_id, transient=transient)
    async with log.open(run_id, 1) as writer:
        for number in range(count):
            await writer.append(big(number))


async def read(log: MemoryLog, run_id: str) -> list[Event]:
    return [entry.event async for batch in log.follow(run_id) for entry in batch]


async def test_the_oldest_of_the_runs_that_ended_is_forgotten_first() -> None:
    log = build(Options(max_finished_runs=2))
    for run_id in ("a", "b", "c"):
        await log.create(run_id)
        async with log.open(run_id, 1) as writer:
            await writer.append(RunFinished("done"))

    with pytest.raises(RunNotFound):
        _ = [batch async for batch in log.follow("a")]
    for run_id in ("b", "c"):
        assert [[entry.event for entry in batch] async for batch in log.follow(run_id)] == [[RunFinished("done")]]


async def test_a_run_in_progress_is_kept_however_many_others_end() -> None:
    log = MemoryLog(max_finished_runs=1)
    await log.create("long")
    async with log.open("long", 1) as writer:
        await writer.append(TextDelta("m", "Hi"))
        for number in range(10):
            await write(log, f"short{number}", 1)
        await writer.append(RunFinished("done"))

    assert await read(log, "long") == [TextDelta("m", "Hi"), RunFinished("done")]


async def test_a_follower_reads_a_run_to_its_end_even_if_it_is_evicted_meanwhile() -> None:
    log = MemoryLog(max_finished_runs=1)
    await log.create("r")
    batches = log.follow("r")
    async with log.open("r", 1) as writer:
        await writer.append(TextDelta("m", "Hi"))
    for number in range(10):
        await write(log, f"other{number}", 1)

    assert [entry.event async for batch in batches for entry in batch] == [TextDelta("m", "Hi")]


async def test_a_run_that_is_not_there_is_not_found_before_the_first_entry_is_asked_for() -> None:
    """So a face can answer 404 instead of breaking a response off."""
    with pytest.raises(RunNotFound):
        MemoryLog().follow("nobody")


async def test_a_tap_takes_an_entry_while_it_is_written() -> None:
    log, tapped = MemoryLog(), list[Event]()
    await log.create("r")

    def tap(entry: Entry) -> bool:
        tapped.append(entry.event)
        return True

    async with asyncio.timeout(30), log.open("r", 1) as writer, aclosing(log.follow("r", tap=tap)) as batches:
        waiting = asyncio.ensure_future(anext(batches, None))
        await settle()  # now it waits
        for number in range(5):
            await writer.append(big(number))
            assert tapped[-1] == big(number)
        waiting.cancel()
        await asyncio.wait((waiting,))


async def test_memory_stays_bounded_over_many_runs() -> None:
    log = MemoryLog(max_finished_runs=3)

    with growing_less_than(MEGABYTE):
        for number in range(1000):
            await write(log, f"run{number}", 20)


async def test_memory_stays_bounded_over_many_transient_runs() -> None:
    log = MemoryLog(max_finished_runs=3)

    with growing_less_than(MEGABYTE):
        for number in range(1000):
            await log.create(f"run{number}", transient=True)
            reading = asyncio.create_task(read(log, f"run{number}"))
            async with log.open(f"run{number}", 1) as writer:
                async for piece in Paced(range(20)):
                    await writer.append(big(piece))
            await reading


async def test_a_reader_that_stops_costs_a_few_entries_and_disturbs_no_other_run() -> None:
    log = MemoryLog(max_finished_runs=1)
    await log.create("stuck")
    batches = log.follow("stuck")

    async def write_on() -> None:
        for number in range(5000):
            await writer.append(big(number))

    async with asyncio.timeout(30), log.open("stuck", 1) as writer:
        await writer.append(big(0))
        await anext(batches)
        with growing_less_than(MEGABYTE):
            writing = asyncio.create_task(write_on())
            async for number in Paced(range(100)):
                await write(log, f"other{number}", 10)
        writing.cancel()
        await asyncio.wait((writing,))

        assert len(await anext(batches)) == MAX_READER_LAG + 1


async def test_a_transient_run_forgets_what_was_read() -> None:
    log = MemoryLog()
    await log.create("r", transient=True)

    with growing_less_than(MEGABYTE):
        async with asyncio.timeout(30), log.open("r", 1) as writer:
            batches = log.follow("r")
            for number in range(5000):
                await writer.append(big(number))
                await anext(batches)

    with pytest.raises(RunNotFound):
        await read(log, "r")


async def test_a_late_follower_of_a_transient_run_gets_an_error_and_does_not_wait() -> None:
    log = MemoryLog()
    await log.create("r", transient=True)

    async with asyncio.timeout(30), log.open("r", 1) as writer:
        first = log.follow("r")
        await writer.append(big(0))
        await anext(first)
        with pytest.raises(RunNotFound):
            await anext(log.follow("r"))
        await writer.append(big(1))
        assert [entry.id for entry in await anext(log.follow("r", after="1-1"))] == ["1-2"]


async def test_two_followers_of_a_transient_run_both_read_all_of_it() -> None:
    log = MemoryLog()
    await log.create("r", transient=True)

    async with asyncio.timeout(30):
        both = [asyncio.create_task(read(log, "r")) for _ in range(2)]
        await settle()  # now both follow
        async with log.open("r", 1) as writer:
            for number in range(200):
                await writer.append(big(number))
        heard = await asyncio.gather(*both)

    assert heard == [[big(number) for number in range(200)]] * 2


async def test_a_transient_run_without_followers_can_still_be_read() -> None:
    log = MemoryLog()
    await write(log, "r", 100, transient=True)

    assert len(await read(log, "r")) == 100


async def test_a_large_entry_waits_for_a_reader_that_is_stuck() -> None:
    log = MemoryLog()
    await log.create("r", transient=True)
    batches = log.follow("r")
    large = [TextDelta("m", "a" * 10_000 + str(number)) for number in range(20)]

    async with asyncio.timeout(30), log.open("r", 1) as writer:

        async def write_on() -> None:
            for event in large:
                await writer.append(event)

        writing = asyncio.create_task(write_on())
        seen = [entry.event for entry in await anext(batches)]
        await settle()
        assert log.find("r").seq <= len(seen) + 1

        while len(seen) < len(large):
            seen += [entry.event for entry in await anext(batches)]
        await writing

    assert seen == large
