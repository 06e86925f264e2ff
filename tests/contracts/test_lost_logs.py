"""What a shared log promises when entries, or all of it, are lost: nobody gets a gap that nobody speaks of."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from functools import partial
from pathlib import Path

import pytest

from rightseat.core.errors import LogDataLost, LogTruncated, RunNotFound, StaleWriter
from rightseat.core.events import (
    RunFailed,
    TextDelta,
)
from rightseat.logs.shared.log import SharedLog
from rightseat.logs.shared.run import SharedRun
from tests.conditions import settle, until
from tests.contracts.logs import (
    Fleet,
    deltas,
    events_of,
    following,
    read,
    sharing,
    write,
    write_on,
)


@pytest.fixture(params=["redis", "postgres"])
async def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Fleet]:
    """Processes that share a log: each call is one more."""
    async with sharing(request.param) as fleet:
        yield fleet


async def test_an_id_that_never_was_is_not_waited_for(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(30), here.open("r", 3) as writer:
        await writer.append(TextDelta("m", "one"))
        await here.read("r")
        for log in (here, there):
            with pytest.raises(LogTruncated) as gone:
                await read(log, "r", after="7-12")
            assert gone.value.resume == "3-1"


async def test_a_reader_at_a_lost_entry_gets_the_position_where_the_rest_begins(fleet: Fleet) -> None:
    """`1-3` was seen, and then lost with a server; the next owner counted on from `1-1`."""
    here, there = await fleet(), await fleet()
    await here.create("r")
    async with here.open("r", 1) as old:
        await old.append(TextDelta("m", "one"))
    async with asyncio.timeout(30), here.open("r", 2) as new:
        await new.append(TextDelta("m", "two"))
        await here.read("r")
        for log in (here, there):
            with pytest.raises(LogTruncated) as gone:
                await read(log, "r", after="1-3")
            reading = asyncio.create_task(anext(log.follow("r", gone.value.resume)))
            assert [entry.id for entry in await reading] == ["2-2"]


async def test_a_lost_log_is_restarted_after_its_base(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await write(here, "r", deltas(5))
    await here.delete(("r",))

    async with asyncio.timeout(30), here.open("r", 2, base=5) as writer:
        assert (await writer.append(TextDelta("m", "six"))).id == "2-6"
        await here.read("r", after="2-5")
        for log in (here, there):
            for after in (None, "1-3"):
                with pytest.raises(LogTruncated) as gone:
                    await log.read("r", after)
                assert gone.value.resume == "2-5"
            assert [entry.id for entry in await log.read("r", "1-5")] == ["2-6"]  # who had seen it all goes on
            assert [entry.id for entry in await log.read("r", "2-5")] == ["2-6"]


async def test_a_log_that_is_lost_before_it_is_opened_is_created_again_under_the_same_epoch(fleet: Fleet) -> None:
    """Otherwise its run would wait until it is taken for one whose process died."""
    here, there = await fleet(), await fleet()
    await here.create("r")
    await there.delete(("r",))

    async with asyncio.timeout(60):
        with pytest.raises(RunNotFound):
            async with here.open("r", 1):
                pass
        async with here.open("r", 1, base=0) as writer:
            await writer.append(TextDelta("m", "one"))

    with pytest.raises(LogTruncated) as gone:
        await there.read("r")
    assert [entry.id for entry in await there.read("r", gone.value.resume)] == ["1-1"]


async def test_an_existing_log_is_not_restarted_under_a_lower_epoch(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(30), here.open("r", 5) as writer:
        await writer.append(TextDelta("m", "mine"))
        for epoch in (4, 5):
            with pytest.raises(StaleWriter):
                async with there.open("r", epoch, base=0):
                    pass
        await writer.append(TextDelta("m", "still mine"))

    assert await events_of(there, "r") == [TextDelta("m", "mine"), TextDelta("m", "still mine")]


async def test_a_writer_gets_the_loss_of_its_log_and_continues_under_a_new_epoch(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(60):
        near = asyncio.create_task(events_of(here, "r"))
        async with here.open("r", 1) as writer:
            for event in deltas(3):
                await writer.append(event)
            await here.read("r")
            await there.delete(("r",))
            with pytest.raises(LogDataLost) as lost:
                await write_on(writer)
            async with here.open("r", 2, base=lost.value.seq) as again:
                await again.append(TextDelta("m", "four"))
        assert await near == [*deltas(3), TextDelta("m", "four")]
        with pytest.raises(LogTruncated):
            await there.read("r")

    assert lost.value.seq == 3


async def test_a_follower_in_another_process_gets_the_loss_and_continues_at_its_position(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(60), AsyncExitStack() as left:
        writer = await left.enter_async_context(here.open("r", 1))
        for event in deltas(3):
            await writer.append(event)
        await here.read("r")
        both = [there.follow("r"), there.follow("r")]
        for batches in both:
            assert [entry.seq for entry in await anext(batches)] == [1, 2, 3]
        told = [asyncio.ensure_future(anext(batches)) for batches in both]
        await settle()
        await here.delete(("r",))
        again = await left.enter_async_context(here.open("r", 2, base=10))
        await again.append(TextDelta("m", "eleven"))
        for one in told:
            with pytest.raises(LogTruncated) as gone:
                await one
        rest = await left.enter_async_context(aclosing(there.follow("r", gone.value.resume)))
        assert [entry.id for entry in await anext(rest)] == ["2-11"]
        await again.append(TextDelta("m", "twelve"))
        assert [entry.id for entry in await anext(rest)] == ["2-12"]


async def test_a_reader_of_a_lost_log_does_not_continue_in_the_middle_of_the_recreated_one(fleet: Fleet) -> None:
    """It has the same numbers again: whoever took the run over did not know how far the lost one had come."""
    here, there = await fleet(), await fleet()
    await write(here, "r", deltas(4))
    await here.delete(("r",))

    async with asyncio.timeout(30):
        await here.create("r")
        async with here.open("r", 2) as writer:
            for event in deltas(6):
                await writer.append(event)
            await here.read("r")
            for log in (here, there):
                with pytest.raises(LogTruncated) as gone:
                    await read(log, "r", after="1-4")
                batch = await anext(log.follow("r", gone.value.resume))
                assert [entry.id for entry in batch] == [f"2-{number}" for number in range(1, 7)]


async def test_a_reader_that_has_not_got_the_loss_yet_does_not_block_others(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    assert isinstance(there, SharedLog)
    await here.create("r")

    async with asyncio.timeout(60), AsyncExitStack() as left:
        writer = await left.enter_async_context(here.open("r", 1))
        await writer.append(TextDelta("m", "one"))
        stuck = await left.enter_async_context(following(there, "r"))
        await anext(stuck)
        asked = asyncio.ensure_future(anext(stuck))
        await settle()
        copy = there._runs["r"]
        await writer.append(TextDelta("m", "two"))
        await asked
        await here.delete(("r",))
        again = await left.enter_async_context(here.open("r", 2, base=10))
        await again.append(TextDelta("m", "eleven"))
        await until(partial(has_failed, copy))
        rest = await left.enter_async_context(aclosing(there.follow("r", "2-10")))
        assert [entry.id for entry in await anext(rest)] == ["2-11"]
        await again.append(TextDelta("m", "twelve"))
        assert [entry.id for entry in await anext(rest)] == ["2-12"]
        with pytest.raises(LogTruncated):
            await anext(stuck)


async def has_failed(run: SharedRun) -> bool:
    return run.failure is not None


async def test_what_could_not_be_kept_is_never_shown_elsewhere_and_the_run_can_still_end_here(fleet: Fleet) -> None:
    here, there = await fleet(), await fleet()
    await here.create("r")

    async with asyncio.timeout(60):
        near = asyncio.create_task(events_of(here, "r"))
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "kept"))
            await here.read("r")
            await there.delete(("r",))
            with pytest.raises(LogDataLost):
                await write_on(writer)
            await writer.append(RunFailed("log_data_lost", "It was lost."))
        assert await near == [TextDelta("m", "kept"), RunFailed("log_data_lost", "It was lost.")]
        with pytest.raises(RunNotFound):
            await there.read("r")
