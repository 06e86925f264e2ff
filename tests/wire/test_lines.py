"""JSON lines, and server-sent events that have names."""

import pytest

from rightseat.wire import lines, sse


def test_lines_come_out_whole_however_they_come_in() -> None:
    decoder = lines.LineDecoder()

    found = [line for piece in (b'{"a"', b': 1}\n\n{"b"', b": 2}") for line in decoder.feed(piece)]

    assert found == [b'{"a": 1}']
    assert decoder.rest() == [b'{"b": 2}']


@pytest.mark.parametrize("line", [b"[1]", b"nonsense", b'"text"', b'{"":"\x81"}'])
def test_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="a line is not "):
        lines.read(line)


def test_events_come_out_with_their_names() -> None:
    decoder = sse.NamedSseDecoder()

    found = [
        event
        for piece in (b"event: values\r\nda", b"ta: {}\r\n\r\n: comment\n\ndata: 1\ndata: 2\n\nevent: end\n", b"\n")
        for event in decoder.feed(piece)
    ]

    assert found == [("values", b"{}"), ("", b"1\n2")]
