"""Server-sent events, out of bytes that come in any pieces.

Lines end with LF or CRLF. The standard also lets a CR alone end a line; no model's server has been seen to do it, and
telling it from half a CRLF would cost every piece a look, so here a CR alone is part of its line.
"""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.wire import lines
from rightseat.wire.lines import LineTooLong
from rightseat.wire.sse import NamedSseDecoder, SseDecoder

STREAM = (
    ": a comment before anything\n\n"
    'data: {"text":"Grüße 👋🏽"}\n\n'
    "event: ping\ndata:no space\nid: 7\n\n"
    "retry: 3000\r\n\r\n"
    "data: two\r\ndata: lines\r\n\r\n"
    "\n\n\n"
    "data:  a space is kept\n\n"
    "data: \n\n"
    "data: [DONE]\n\n"
).encode()

EVENTS = [
    '{"text":"Grüße 👋🏽"}'.encode(),
    b"no space",
    b"two\nlines",
    b" a space is kept",
    b"",
    b"[DONE]",
]


def decode(*pieces: bytes) -> list[bytes]:
    decoder = SseDecoder()
    return [data for piece in pieces for data in decoder.feed(piece)] + decoder.rest()


def test_each_event_gives_its_data() -> None:
    assert decode(STREAM) == EVENTS


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_of_any_size_give_the_same_events(size: int) -> None:
    assert decode(*(STREAM[at : at + size] for at in range(0, len(STREAM), size))) == EVENTS


def test_a_cut_at_any_byte_gives_the_same_events() -> None:
    for cut in range(len(STREAM) + 1):
        assert decode(STREAM[:cut], STREAM[cut:]) == EVENTS, cut


@given(st.lists(st.integers(0, len(STREAM))))
def test_any_cuts_give_the_same_events(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(STREAM)]

    assert decode(*(STREAM[start:end] for start, end in pairwise(ends))) == EVENTS


line = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))


@given(st.lists(st.lists(line, min_size=1), max_size=5), st.sampled_from(["\n", "\r\n"]), st.integers(1, 9))
def test_whatever_is_written_is_read(events: list[list[str]], end: str, size: int) -> None:
    written = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in events).encode()

    read = decode(*(written[at : at + size] for at in range(0, len(written), size)))

    assert read == ["\n".join(lines).encode() for lines in events]


def test_an_event_is_given_with_the_piece_that_ends_it() -> None:
    decoder = SseDecoder()

    assert decoder.feed(b"data: 1\n\ndata: 2\n") == [b"1"]
    assert decoder.feed(b"\n") == [b"2"]
    assert decoder.feed(b"data: 3\r\n\r") == []
    assert decoder.feed(b"\n") == [b"3"]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n"])
def test_the_last_event_needs_no_empty_line(end: bytes) -> None:
    assert decode(b"data: 1\n\ndata: 2" + end) == [b"1", b"2"]


def test_nothing_is_left_of_a_stream_that_ended_with_a_comment() -> None:
    assert decode(b"data: 1\n\n: bye") == [b"1"]


def test_names_ids_and_unknown_fields_are_dropped() -> None:
    assert decode(b"event: error\nid: 1\nretry: 5\nfoo: bar\ndatax: no\ndata: yes\n\n") == [b"yes"]


def test_a_comment_inside_an_event_is_no_part_of_it() -> None:
    assert decode(b"data: 1\n: a heartbeat\ndata: 2\n\n") == [b"1\n2"]


def test_a_carriage_return_alone_ends_no_line() -> None:
    assert decode(b"data: 1\rdata: 2\n\n") == [b"1\rdata: 2"]


@pytest.mark.parametrize("make", [SseDecoder, NamedSseDecoder, lines.LineDecoder])
def test_a_line_without_an_end_is_cut_at_its_bound(
    make: type[SseDecoder] | type[NamedSseDecoder] | type[lines.LineDecoder],
) -> None:
    decoder = make(1000)

    decoder.feed(b"data: " + b"a" * 900)
    with pytest.raises(LineTooLong, match="a line of the stream is longer than"):
        decoder.feed(b"a" * 200)


@pytest.mark.parametrize("make", [SseDecoder, NamedSseDecoder])
def test_an_event_of_many_lines_is_cut_at_its_bound(make: type[SseDecoder] | type[NamedSseDecoder]) -> None:
    decoder = make(1000)

    with pytest.raises(LineTooLong, match="an event of the stream is longer than"):
        decoder.feed(b"data: %b\n" % (b"a" * 300) * 4)


@pytest.mark.parametrize("make", [SseDecoder, NamedSseDecoder])
def test_many_events_may_be_longer_together_than_one(make: type[SseDecoder] | type[NamedSseDecoder]) -> None:
    decoder = make(1000)

    assert len(decoder.feed(b"data: %b\ndata: b\n\n" % (b"a" * 300) * 100)) == 100


def test_the_work_for_a_long_line_grows_with_its_length_and_not_with_its_square() -> None:
    """Counted in bytes that are copied: a line in 4,000 pieces would be copied 4,000 times."""
    pieces = [bytes(1000)] * 4000
    decoder = SseDecoder()

    tracemalloc.start()
    for piece in pieces:
        decoder.feed(piece)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 1_000_000  # the pieces are kept as they came: none was copied
