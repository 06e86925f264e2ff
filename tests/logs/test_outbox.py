"""What becomes of what was on its way when its writer left."""

from rightseat.core.errors import StaleWriter
from rightseat.core.events import TextDelta
from rightseat.core.log import Position
from rightseat.logs.outbox import Outbox, Pen
from rightseat.logs.pieces import Cursor, Page
from rightseat.logs.shared import SharedRun


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
