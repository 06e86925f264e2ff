"""Which readers can be served from what this process knows of a run."""

import pytest

from rightseat.core.events import TextDelta
from rightseat.core.log import Entry, Position
from rightseat.logs.pieces import START, Cursor, Page
from rightseat.logs.shared import SharedRun


async def nothing(run_id: str, after: Position) -> Page:
    return Page((), True)


def shown(*ids: tuple[int, int], behind: Position = START) -> SharedRun:
    run = SharedRun(Cursor("r", behind), nothing)
    for epoch, seq in ids:
        run.show(Entry(epoch, seq, TextDelta("m", str(seq))))
    run.seq = run.shown
    return run


def reader(epoch: int, seq: int) -> Cursor:
    return Cursor("r", Position(epoch, seq))


@pytest.mark.parametrize("place", [(0, 0), (1, 1), (1, 2), (2, 3)])
def test_one_who_is_at_an_entry_that_is_known_is_served(place: tuple[int, int]) -> None:
    assert shown((1, 1), (1, 2), (2, 3)).can_serve(reader(*place))


@pytest.mark.parametrize("place", [(1, 1), (1, 3), (3, 3)])
def test_one_who_was_told_something_else_under_that_number_is_not(place: tuple[int, int]) -> None:
    """The log was lost, and begun anew with the same numbers."""
    assert not shown((2, 1), (2, 2), (2, 3)).can_serve(reader(*place))


def test_one_who_has_seen_more_than_a_copy_has_is_not_served_from_it() -> None:
    copy = shown((1, 1))

    assert not copy.can_serve(reader(2, 5))
    assert copy.is_behind(reader(2, 5))


def test_one_who_has_read_what_was_written_here_before_we_heard_that_it_is_kept_is_served() -> None:
    run = shown((2, 1))
    run.fence(2)
    run.is_ours = True
    run.next(2, TextDelta("m", "on its way"))

    assert run.can_serve(reader(2, 2))
    assert not run.can_serve(reader(1, 2))


def test_what_is_not_in_memory_is_not_served() -> None:
    assert not shown((1, 5), behind=Position(1, 4)).can_serve(reader(1, 3))
