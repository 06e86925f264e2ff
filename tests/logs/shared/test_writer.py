"""What becomes of what was on its way when its writer left."""

import asyncio

import pytest

from rightseat.core.errors import LogDataLost, StaleWriter
from rightseat.core.events import SpanEnded, TextDelta
from rightseat.core.log import Entry, Position
from rightseat.logs.shared.records import Cursor, RecordPage
from rightseat.logs.shared.run import LONG_ENTRY_BYTES, WINDOW_ENTRIES, SharedRun
from rightseat.logs.shared.writer import SendQueue, SharedRunWriter
from tests.conditions import settle


async def nothing(cursor: Cursor) -> RecordPage:
    return RecordPage((), True)


async def flush() -> None: ...


async def test_what_was_on_its_way_when_its_writer_left_is_shown_by_the_next_one_alone() -> None:
    """The server took it; but here its number is free again, and the next writer reads it from the server."""
    run, outbox = SharedRun(Cursor("r"), nothing), SendQueue()
    run.fence(1)
    pen = SharedRunWriter(run, 1, Position(1, 0), outbox, 0, flush)
    await pen.append(TextDelta("m", "on its way"))
    [parcel] = outbox.take()

    pen.fail(StaleWriter("r", 1, 2))
    parcel.resolve(Position(1, 1))

    assert (run.seq, run.visible_seq) == (0, 0)
    assert run.cursor.position == Position(0, 0)


async def test_spans_that_end_after_a_log_was_lost_get_no_number_of_a_lost_entry() -> None:
    """A follower elsewhere may have received the entry that was in flight, under this number."""
    run, outbox = SharedRun(Cursor("r"), nothing), SendQueue()
    run.fence(1)
    pen = SharedRunWriter(run, 1, Position(1, 0), outbox, 0, flush)
    await pen.append(TextDelta("m", "in flight"))
    [parcel] = outbox.take()

    parcel.resolve(None)

    with pytest.raises(LogDataLost):
        pen.append_nowait(SpanEnded("s1", 7))
    assert run.entries == []


async def test_a_writer_that_waits_for_readers_gets_the_loss_of_its_log_at_once() -> None:
    run, outbox = SharedRun(Cursor("r"), nothing), SendQueue()
    run.fence(1)
    run.publish(Entry(1, 1, TextDelta("m", "read")))
    stuck = run.follow(0, None)
    await anext(stuck)
    for number in range(2, WINDOW_ENTRIES + 4):
        run.publish(Entry(1, number, TextDelta("m", "unread")))
    run.seq = run.visible_seq
    pen = SharedRunWriter(run, 1, Position(1, run.seq), outbox, 0, flush)
    waiting = asyncio.ensure_future(pen.append(TextDelta("m", "more")))
    await settle()
    assert not waiting.done()

    pen.fail(LogDataLost("r", run.visible_seq))

    async with asyncio.timeout(1):
        await waiting
    await stuck.aclose()


async def test_a_writer_of_long_entries_waits_before_they_take_much_memory() -> None:
    run, outbox = SharedRun(Cursor("r"), nothing), SendQueue()
    run.fence(1)
    writer = SharedRunWriter(run, 1, Position(1, 0), outbox, 0, flush)
    long = TextDelta("m", "x" * 4 * LONG_ENTRY_BYTES)

    async def append_for_ever() -> None:
        while True:
            await writer.append(long)

    appending = asyncio.create_task(append_for_ever())
    await settle()  # it appends until it has to wait
    uncommitted = run.seq
    appending.cancel()
    await asyncio.wait((appending,))
    [pending] = outbox.take()
    pending.resolve(pending.record.position)

    assert WINDOW_ENTRIES // 2 < uncommitted <= WINDOW_ENTRIES + 1
    assert len(run.entries) <= 2 * run.window <= WINDOW_ENTRIES // 2
