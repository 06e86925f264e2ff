"""Which readers can be served from what this process knows of a run."""

import pytest

from rightseat.core.events import TextDelta
from rightseat.core.log import Entry, Position
from rightseat.logs.shared.records import START, Cursor, RecordPage
from rightseat.logs.shared.run import SharedRun


async def nothing(cursor: Cursor) -> RecordPage:
    return RecordPage((), True)


def shown(*ids: tuple[int, int], behind: Position = START) -> SharedRun:
    run = SharedRun(Cursor("r", behind), nothing)
    for epoch, seq in ids:
        run.publish(Entry(epoch, seq, TextDelta("m", str(seq))))
    run.seq = run.visible_seq
    return run


def reader(epoch: int, seq: int) -> Cursor:
    return Cursor("r", Position(epoch, seq))


@pytest.mark.parametrize("place", [(0, 0), (1, 1), (1, 2), (2, 3)])
def test_a_reader_at_a_known_entry_is_served(place: tuple[int, int]) -> None:
    assert shown((1, 1), (1, 2), (2, 3)).can_serve(reader(*place))


@pytest.mark.parametrize("place", [(1, 1), (1, 3), (3, 3)])
def test_a_reader_with_another_entry_at_that_position_is_not_served(place: tuple[int, int]) -> None:
    """The log was lost, and begun anew with the same numbers."""
    assert not shown((2, 1), (2, 2), (2, 3)).can_serve(reader(*place))


def test_a_reader_that_is_ahead_of_a_copy_is_not_served_from_it() -> None:
    copy = shown((1, 1))

    assert not copy.can_serve(reader(2, 5))
    assert copy.is_behind(reader(2, 5))


def test_a_reader_that_has_unconfirmed_local_entries_is_served() -> None:
    run = shown((2, 1))
    run.fence(2)
    run.is_written_here = True
    run.next_entry(2, TextDelta("m", "on its way"))

    assert run.can_serve(reader(2, 2))
    assert not run.can_serve(reader(1, 2))


def test_entries_outside_the_memory_are_not_served() -> None:
    assert not shown((1, 5), behind=Position(1, 4)).can_serve(reader(1, 3))
