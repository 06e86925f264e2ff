"""What every log promises (`core.log`). A new log is added to the fixture, and held to all of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from rightseat.core.errors import BadRequest, RunExists, RunNotFound, StaleWriter
from rightseat.core.events import (
    Event,
    ReasoningEnded,
    RunFailed,
    RunFinished,
    StepEnded,
    TextDelta,
    TextEnded,
    ToolCallEnded,
)
from rightseat.core.log import Entry, Log
from tests.conditions import settle
from tests.contracts.logs import (
    PLENTY,
    SharedRunWriter,
    deltas,
    events_of,
    following,
    one_log,
    read,
    write,
)


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    async with one_log(request.param, tmp_path) as log:
        yield log


@pytest.fixture(params=["memory", "sqlite"])
async def holding_log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    """Logs of one process: nothing else keeps for a slow reader what it has not read, so its writer waits."""
    async with one_log(request.param, tmp_path) as log:
        yield log


# Writing and reading


async def test_ids_are_the_epoch_and_a_number_that_counts_from_one_without_a_gap(log: Log) -> None:
    ids = await write(log, "r", deltas(50), epoch=7)

    assert ids == [f"7-{number}" for number in range(1, 51)]
    assert [entry.id for entry in await read(log, "r")] == ids


async def test_what_was_written_is_read_in_its_order(log: Log) -> None:
    await write(log, "r", [*deltas(50), RunFinished("done")])

    assert await events_of(log, "r") == [*deltas(50), RunFinished("done")]


async def test_following_resumes_after_the_last_entry_seen(log: Log) -> None:
    ids = await write(log, "r", deltas(10))

    assert await events_of(log, "r", after=ids[3]) == deltas(10)[4:]


async def test_nothing_comes_after_the_last_entry_of_a_run_that_has_ended(log: Log) -> None:
    ids = await write(log, "r", deltas(3))

    assert await events_of(log, "r", after=ids[-1]) == []


async def test_following_resumes_after_an_entry_of_an_earlier_epoch(log: Log) -> None:
    await log.create("r")
    async with log.open("r", 1) as first:
        seen = (await first.append(TextDelta("m", "one"))).id
        async with log.open("r", 2) as second:
            await second.append(TextDelta("m", "two"))

    assert await events_of(log, "r", after=seen) == [TextDelta("m", "two")]


@pytest.mark.parametrize("after", ["three", "1", "1-", "1-x", "-", "-1-2", "1-2-3", "1-²", f"1-{10**30}"])
async def test_an_invalid_entry_id_cannot_be_resumed_after(log: Log, after: str) -> None:
    await write(log, "r", deltas(3))

    with pytest.raises(BadRequest, match="not the id of an entry"):
        await read(log, "r", after)


async def test_a_run_can_be_followed_before_anything_is_written(log: Log) -> None:
    await log.create("r")
    reading = asyncio.create_task(events_of(log, "r"))
    await settle()

    async with asyncio.timeout(30):
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "Hi"))
        assert await reading == [TextDelta("m", "Hi")]


async def test_an_entry_can_be_read_as_soon_as_it_is_written(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30), log.open("r", 1) as writer, following(log, "r") as batches:
        for event in deltas(5):
            await writer.append(event)
            assert [entry.event for entry in await anext(batches)] == [event]


async def test_several_follow_a_run_each_at_its_own_pace(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30):
        early = [asyncio.create_task(events_of(log, "r")) for _ in range(3)]
        async with log.open("r", 1) as writer:
            for event in deltas(100):
                await writer.append(event)
            late = asyncio.create_task(events_of(log, "r", after="1-90"))
            await writer.append(RunFinished("done"))
        heard = await asyncio.gather(*early, late)

    assert heard == [[*deltas(100), RunFinished("done")]] * 3 + [[*deltas(100)[90:], RunFinished("done")]]


async def test_a_late_reader_gets_a_run_that_has_ended(log: Log) -> None:
    await write(log, "r", deltas(100))

    assert await events_of(log, "r") == deltas(100)
    assert await events_of(log, "r") == deltas(100)


async def test_a_follower_ends_when_the_log_ends(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30), following(log, "r") as batches:
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "Hi"))
            await anext(batches)
            waiting = asyncio.ensure_future(anext(batches, None))
            await settle()
        assert await waiting is None


async def test_a_log_ends_also_when_its_writer_fails(log: Log) -> None:
    await log.create("r")

    async def fail() -> None:
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "Hi"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    async with asyncio.timeout(30):
        assert await events_of(log, "r") == [TextDelta("m", "Hi")]


async def test_a_reader_that_is_behind_catches_up_in_one_batch(log: Log) -> None:
    await write(log, "r", deltas(100))

    assert [len(batch) async for batch in log.follow("r")] == [100]


async def test_a_batch_does_not_grow_in_the_hands_of_its_reader(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30), log.open("r", 1) as writer, following(log, "r") as batches:
        await writer.append(TextDelta("m", "one"))
        batch = await anext(batches)
        await writer.append(TextDelta("m", "two"))

        assert [entry.event for entry in batch] == [TextDelta("m", "one")]


async def test_a_follower_reads_a_transient_run_like_any_other(log: Log) -> None:
    await log.create("r", transient=True)

    async with asyncio.timeout(30):
        reading = asyncio.create_task(events_of(log, "r"))
        async with log.open("r", 1) as writer:
            for event in deltas(1000):
                await writer.append(event)
        assert await reading == deltas(1000)


async def test_runs_do_not_see_each_other(log: Log) -> None:
    await log.create("a")
    await log.create("b")
    async with log.open("a", 1) as a, log.open("b", 1) as b:
        await a.append(TextDelta("m", "for a"))
        assert (await b.append(TextDelta("m", "for b"))).id == "1-1"

    assert await events_of(log, "a") == [TextDelta("m", "for a")]
    assert await events_of(log, "b") == [TextDelta("m", "for b")]


async def test_a_run_that_never_was_is_not_found(log: Log) -> None:
    with pytest.raises(RunNotFound):
        await read(log, "nobody")
    with pytest.raises(RunNotFound):
        async with log.open("nobody", 1):
            pass


async def test_a_run_is_created_once(log: Log) -> None:
    await log.create("r")

    with pytest.raises(RunExists):
        await log.create("r")


# Taps


class Ear:
    """Hears entries by its tap and in batches, and writes down which came when. The tap takes what `takes` says."""

    def __init__(self, takes: Callable[[int], bool]) -> None:
        self.heard: list[int] = []
        self.tapped: list[int] = []
        self._takes = takes

    def tap(self, entry: Entry) -> bool:
        if not self._takes(entry.seq):
            return False
        self.heard.append(entry.seq)
        self.tapped.append(entry.seq)
        return True

    async def listen(self, log: Log, run_id: str, after: str | None = None) -> None:
        async for batch in log.follow(run_id, after, self.tap):
            self.heard += [entry.seq for entry in batch]


@pytest.mark.parametrize("transient", [False, True])
@pytest.mark.parametrize("pauses", [(), (1,), (0, 1, 3)])
async def test_every_entry_arrives_once_and_in_order_by_the_tap_or_in_a_batch(
    log: Log, transient: bool, pauses: tuple[int, ...]
) -> None:
    ears = [Ear(lambda seq: True), Ear(lambda seq: False), Ear(lambda seq: seq % 3 > 0), Ear(lambda seq: seq > 150)]
    await log.create("r", transient=transient)

    async with asyncio.timeout(30):
        listening = [asyncio.create_task(ear.listen(log, "r")) for ear in ears]
        await settle()
        async with log.open("r", 1) as writer:
            for number, event in enumerate(deltas(200)):
                await writer.append(event)
                if number % 4 in pauses:
                    await settle()
        await asyncio.gather(*listening)

    assert [ear.heard for ear in ears] == [list(range(1, 201))] * 4
    assert all(not ear.tapped for ear in ears[1:2])


async def test_a_tap_is_not_offered_what_its_reader_has_not_asked_for(log: Log) -> None:
    ear = Ear(lambda seq: True)
    await log.create("r")

    async with asyncio.timeout(30):
        async with log.open("r", 1) as writer:
            for event in deltas(5):
                await writer.append(event)
            await log.read("r")
            listening = asyncio.create_task(ear.listen(log, "r", after="1-5"))
            await settle()
            for event in deltas(5):
                await writer.append(event)
                await settle()
        await listening

    assert ear.heard == [6, 7, 8, 9, 10]


# Waiting for those who follow


async def test_a_run_without_followers_continues(log: Log) -> None:
    async with asyncio.timeout(30):
        await write(log, "r", deltas(PLENTY))


async def test_a_writer_waits_for_a_reader_that_stopped_until_it_reads_again(holding_log: Log) -> None:
    await holding_log.create("r")

    async with asyncio.timeout(30), following(holding_log, "r") as batches, holding_log.open("r", 1) as writer:
        await writer.append(TextDelta("m", "first"))
        await anext(batches)
        pen = SharedRunWriter(writer)
        await settle()
        assert pen.written < PLENTY
        while not pen.task.done():
            await anext(batches)
            await settle()
        await pen.task


async def test_a_writer_waits_for_the_slowest_follower(holding_log: Log) -> None:
    await holding_log.create("r")

    async with asyncio.timeout(30), following(holding_log, "r") as stuck:
        async with holding_log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            await anext(stuck)
            quick = asyncio.create_task(events_of(holding_log, "r"))
            pen = SharedRunWriter(writer)
            await settle()
            assert pen.written < PLENTY
            await pen.stop()
        heard = await quick

    assert pen.written <= len(heard) - 1 <= pen.written + 1


async def test_a_writer_continues_when_the_follower_it_waits_for_leaves(holding_log: Log) -> None:
    await holding_log.create("r")

    async with asyncio.timeout(30), holding_log.open("r", 1) as writer:
        async with following(holding_log, "r") as batches:
            await writer.append(TextDelta("m", "first"))
            await anext(batches)
            pen = SharedRunWriter(writer)
            await settle()
            assert pen.written < PLENTY
        await pen.task


async def test_a_writer_continues_when_the_follower_it_waits_for_is_cancelled(holding_log: Log) -> None:
    await holding_log.create("r")
    got_one = asyncio.Event()

    async def read_one_and_stop() -> None:
        async for _ in holding_log.follow("r"):
            got_one.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(30), holding_log.open("r", 1) as writer:
        reading = asyncio.create_task(read_one_and_stop())
        await writer.append(TextDelta("m", "first"))
        await got_one.wait()
        pen = SharedRunWriter(writer)
        await settle()
        assert pen.written < PLENTY
        reading.cancel()
        await asyncio.wait((reading,))
        await pen.task


async def test_a_follower_that_is_cancelled_while_waiting_leaves_nothing_behind(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30), log.open("r", 1) as writer:
        reading = asyncio.create_task(read(log, "r"))
        await settle()
        reading.cancel()
        await asyncio.wait((reading,))
        await SharedRunWriter(writer).task

    assert reading.cancelled()


async def test_ends_do_not_wait_for_readers(log: Log) -> None:
    endings: list[Event] = [
        TextEnded("m", complete=False),
        ReasoningEnded("m", complete=False),
        ToolCallEnded("c", complete=False),
        StepEnded("plan"),
        RunFailed("code", "It failed."),
        RunFinished("cancelled"),
    ]
    await log.create("r")

    async with asyncio.timeout(30), following(log, "r") as batches:
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            await anext(batches)
            pen = SharedRunWriter(writer)
            await settle()
            await pen.stop()
            for ending in endings:
                await writer.append(ending)
        rest = [entry.event async for batch in batches for entry in batch]

    assert rest[-len(endings) :] == endings


async def test_a_writer_that_is_cancelled_while_it_waits_has_written(holding_log: Log) -> None:
    """So a run that is cancelled there closes exactly what its log has open."""
    await holding_log.create("r")

    async with asyncio.timeout(30), following(holding_log, "r") as batches:
        async with holding_log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            await anext(batches)
            pen = SharedRunWriter(writer)
            await settle()
            await pen.stop()
        rest = [entry.event async for batch in batches for entry in batch]

    assert rest == deltas(pen.written + 1)


# One writer


async def test_a_writer_is_refused_once_another_has_opened_under_a_higher_epoch(log: Log) -> None:
    await log.create("r")

    async with log.open("r", 1) as old, log.open("r", 2) as new:
        await new.append(TextDelta("m", "mine"))
        with pytest.raises(StaleWriter):
            await old.append(TextDelta("m", "not mine any more"))

    assert await events_of(log, "r") == [TextDelta("m", "mine")]


@pytest.mark.parametrize("epoch", [4, 5])
async def test_only_a_higher_epoch_opens_a_run_again(log: Log, epoch: int) -> None:
    await log.create("r")

    async with log.open("r", 5) as writer:
        with pytest.raises(StaleWriter):
            async with log.open("r", epoch):
                pass
        await writer.append(TextDelta("m", "undisturbed"))


async def test_a_writer_that_takes_over_continues_the_sequence(log: Log) -> None:
    """The epoch changes and the number does not start again: it is the number of the event in its run."""
    await log.create("r")

    async with log.open("r", 1) as old:
        ids = [(await old.append(event)).id for event in deltas(2)]
        async with log.open("r", 4) as new:
            ids += [(await new.append(event)).id for event in deltas(2)]

    assert ids == ["1-1", "1-2", "4-3", "4-4"]
    assert [entry.id for entry in await read(log, "r")] == ids


async def test_a_follower_does_not_notice_that_another_writer_took_over(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30):
        reading = asyncio.create_task(events_of(log, "r"))
        async with log.open("r", 1) as old:
            await old.append(TextDelta("m", "one"))
            await settle()
            async with log.open("r", 2) as new:
                await new.append(TextDelta("m", "two"))
        assert await reading == [TextDelta("m", "one"), TextDelta("m", "two")]


async def test_a_writer_that_was_shut_out_does_not_end_the_log(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30):
        old = log.open("r", 1)
        await old.__aenter__()
        async with log.open("r", 2) as new:
            await old.__aexit__(None, None, None)
            reading = asyncio.create_task(events_of(log, "r"))
            await settle()
            assert not reading.done()
            await new.append(TextDelta("m", "still here"))
        assert await reading == [TextDelta("m", "still here")]


async def test_a_writer_that_takes_over_from_a_waiting_one_is_resumed(holding_log: Log) -> None:
    await holding_log.create("r")

    async def take_over() -> None:
        async with holding_log.open("r", 2) as new:
            for event in deltas(PLENTY):
                await new.append(event)

    async with asyncio.timeout(30), following(holding_log, "r") as batches, holding_log.open("r", 1) as old:
        await old.append(TextDelta("m", "first"))
        await anext(batches)
        waiting = SharedRunWriter(old)
        await settle()
        taking_over = asyncio.create_task(take_over())
        await settle()
        assert not taking_over.done()
        while await anext(batches, None):
            await settle()
        await taking_over
        with pytest.raises(StaleWriter):
            await waiting.task


# Reading without waiting, and forgetting


async def test_what_is_written_by_now_can_be_read_without_waiting_for_more(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30), log.open("r", 1) as writer:
        before = await log.read("r")
        ids = [(await writer.append(event)).id for event in deltas(50)]
        during = await log.read("r")
        rest = await log.read("r", after=ids[39])

    assert list(before) == []
    assert [entry.id for entry in during] == ids
    assert [entry.event for entry in rest] == deltas(50)[40:]


async def test_a_run_that_has_ended_can_be_read_as_often_as_one_likes(log: Log) -> None:
    await write(log, "r", deltas(50))

    assert [entry.event for entry in await log.read("r")] == deltas(50)
    assert [entry.event for entry in await log.read("r", after="1-50")] == []


async def test_what_was_read_does_not_grow_in_the_hands_of_its_reader(log: Log) -> None:
    await log.create("r")

    async with log.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))
        found = await log.read("r")
        await writer.append(TextDelta("m", "two"))

        assert [entry.event for entry in found] == [TextDelta("m", "one")]


async def test_a_run_that_is_not_there_cannot_be_read(log: Log) -> None:
    with pytest.raises(RunNotFound):
        await log.read("nobody")


async def test_a_forgotten_run_is_not_found(log: Log) -> None:
    for run_id in ("a", "b", "c"):
        await write(log, run_id, deltas(3))

    await log.delete(("a", "c", "never was"))

    for run_id in ("a", "c"):
        with pytest.raises(RunNotFound):
            await read(log, run_id)
        with pytest.raises(RunNotFound):
            await log.read(run_id)
    assert await events_of(log, "b") == deltas(3)


async def test_a_follower_reads_a_run_to_its_end_even_if_it_is_evicted(log: Log) -> None:
    await log.create("r")

    async with asyncio.timeout(30), following(log, "r") as batches:
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            first = await anext(batches)
            await writer.append(TextDelta("m", "two"))
        await log.delete(("r",))
        rest = [entry.event async for batch in batches for entry in batch]

    assert [entry.event for entry in first] == [TextDelta("m", "one")]
    assert rest == [TextDelta("m", "two")]


async def test_a_forgotten_id_can_be_used_again(log: Log) -> None:
    await write(log, "r", deltas(3))
    await log.delete(("r",))

    assert await write(log, "r", deltas(1)) == ["1-1"]
    assert await events_of(log, "r") == deltas(1)


async def test_a_run_that_is_being_written_is_not_cut_off(log: Log) -> None:
    await log.create("waiting")
    await write(log, "ended", deltas(3))
    await log.create("r")

    async with log.open("r", 1) as writer:
        await writer.append(TextDelta("m", "one"))

        assert list(await log.unfinished_runs()) == []
