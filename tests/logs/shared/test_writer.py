"""What becomes of what was on its way when its writer left."""

import asyncio

from rightseat.core.errors import LogDataLost, StaleWriter
from rightseat.core.events import TextDelta
from rightseat.core.log import Entry, Position
from rightseat.logs.shared.records import Cursor, RecordPage
from rightseat.logs.shared.run import WINDOW_ENTRIES, SharedRun
from rightseat.logs.shared.writer import SendQueue, SharedRunWriter


async def nothing(run_id: str, after: Position) -> RecordPage:
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
    await asyncio.sleep(0)
    assert not waiting.done()

    pen.fail(LogDataLost("r", run.visible_seq))

    async with asyncio.timeout(1):
        await waiting
    await stuck.aclose()
