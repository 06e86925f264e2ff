"""What becomes of what was on its way when its writer left."""

import asyncio

from rightseat.core.errors import LogLost, StaleWriter
from rightseat.core.events import TextDelta
from rightseat.core.log import Entry, Position
from rightseat.logs.outbox import Outbox, Pen
from rightseat.logs.pieces import Cursor, Page
from rightseat.logs.shared import WINDOW, SharedRun


async def nothing(run_id: str, after: Position) -> Page:
    return Page((), True)


async def flush() -> None: ...


async def test_what_was_on_its_way_when_its_writer_left_is_shown_by_the_next_one_alone() -> None:
    """The server took it; but here its number is free again, and the next writer reads it from the server."""
    run, outbox = SharedRun(Cursor("r"), nothing), Outbox()
    run.fence(1)
    pen = Pen(run, 1, Position(1, 0), outbox, 0, flush)
    await pen.append(TextDelta("m", "on its way"))
    [parcel] = outbox.take()

    pen.fail(StaleWriter("r", 1, 2))
    parcel.settle(Position(1, 1))

    assert (run.seq, run.shown) == (0, 0)
    assert run.cursor.at == Position(0, 0)


async def test_a_writer_that_waits_for_readers_hears_at_once_that_its_log_is_lost() -> None:
    run, outbox = SharedRun(Cursor("r"), nothing), Outbox()
    run.fence(1)
    run.show(Entry(1, 1, TextDelta("m", "read")))
    stuck = run.follow(0, None)
    await anext(stuck)
    for number in range(2, WINDOW + 4):
        run.show(Entry(1, number, TextDelta("m", "unread")))
    run.seq = run.shown
    pen = Pen(run, 1, Position(1, run.seq), outbox, 0, flush)
    waiting = asyncio.ensure_future(pen.append(TextDelta("m", "more")))
    await asyncio.sleep(0)
    assert not waiting.done()

    pen.fail(LogLost("r", run.shown))

    async with asyncio.timeout(1):
        await waiting
    await stuck.aclose()
