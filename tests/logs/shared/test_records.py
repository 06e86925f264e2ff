"""One who reads a log notices what is missing, also where the numbers go on as if nothing were."""

from rightseat.core.events import TextDelta
from rightseat.core.log import Position
from rightseat.core.stream import codec
from rightseat.logs.shared.records import Cursor, Record, RecordPage


def said(epoch: int, first: int, last: int) -> Record:
    words = b",".join(codec.encode(TextDelta("m", str(number))) for number in range(first, last + 1))
    return Record(Position(epoch, last), "events", b"[%b]" % words)


def test_a_new_writer_continues_with_the_next_number() -> None:
    cursor = Cursor("r", Position(1, 4))

    entries = cursor.read([Record(Position(2, 0), "fence"), said(2, 5, 6)])

    assert [entry.id for entry in entries] == ["2-5", "2-6"]
    assert cursor.truncated is None


def test_half_of_a_piece_can_be_come_back_to() -> None:
    cursor = Cursor("r", Position(1, 4))

    assert [entry.id for entry in cursor.read([said(1, 3, 6)])] == ["1-5", "1-6"]


def test_a_restarted_log_is_not_read_as_the_rest_of_the_lost_one() -> None:
    cursor = Cursor("r", Position(1, 4))

    assert cursor.read([Record(Position(2, 0), "fence"), said(2, 1, 6)]) == []
    assert cursor.truncated is not None
    assert cursor.truncated.resume == "2-0"


def test_a_reader_of_all_entries_before_a_base_continues_after_it() -> None:
    cursor = Cursor("r", Position(1, 4))

    cursor.read([Record(Position(2, 4), "base")])

    assert cursor.truncated is None
    assert cursor.last_entry == Position(2, 4)


def test_what_was_seen_before_it_was_acknowledged_is_not_missed() -> None:
    """A writer's own readers are ahead of what its process has heard back from the server."""
    cursor = Cursor("r", Position(1, 2), Position(1, 6))

    entries = cursor.read([said(1, 3, 6), Record(Position(2, 0), "fence"), said(2, 7, 8)])

    assert [entry.id for entry in entries] == ["2-7", "2-8"]
    assert cursor.truncated is None


def test_a_page_has_fewer_records_if_they_are_long() -> None:
    cursor = Cursor("r")
    counts = []
    for length in (100, 10_000, 10_000_000):
        cursor.fit_page(RecordPage([Record(Position(1, 1), "events", b"x" * length)] * 3, is_last=False))
        counts.append(cursor.page_records)

    assert counts == [200, 13, 1]


def test_a_page_without_events_does_not_change_the_size_of_the_next() -> None:
    cursor = Cursor("r")
    before = cursor.page_records
    cursor.fit_page(RecordPage([], is_last=True))
    cursor.fit_page(RecordPage([Record(Position(1, 0), "fence")], is_last=True))

    assert cursor.page_records == before
