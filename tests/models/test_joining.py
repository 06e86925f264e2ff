"""Deltas that arrive together are joined: what the chunks say stays the same, however the bytes were cut."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.model import CallChunk, Chunk, NoteChunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.models.joining import join_deltas
from rightseat.wire.sse import StreamError

FIRST = CallChunk(0, '{"a":', "call_a", "add")

TEXTS = st.text(alphabet="ab\n", max_size=3)
CALLS = st.builds(CallChunk, st.integers(0, 1), TEXTS, st.sampled_from(["", "x", "y"]), st.sampled_from(["", "add"]))
OTHERS = st.sampled_from([StopChunk("stop"), UsageChunk(1, 2), NoteChunk("warning", "careful")])
CHUNKS = st.one_of(st.builds(TextChunk, TEXTS), st.builds(ReasoningChunk, TEXTS), CALLS, OTHERS)


def join_all(*events: Sequence[Chunk]) -> list[Chunk]:
    """Each event has the chunks that its decoder reads from it."""
    numbers = [str(number).encode() for number in range(len(events))]
    return list(join_deltas(numbers, lambda data: events[int(data)]))


@pytest.mark.parametrize(
    ("events", "joined"),
    [
        ([[TextChunk("a")], [TextChunk("b")]], [TextChunk("ab")]),
        ([[TextChunk("a"), TextChunk("b")], [], [TextChunk("c")]], [TextChunk("abc")]),
        ([[ReasoningChunk("a")], [ReasoningChunk("b")], [TextChunk("c")]], [ReasoningChunk("ab"), TextChunk("c")]),
        ([[TextChunk("a")], [UsageChunk(1, 1)], [TextChunk("b")]], [TextChunk("a"), UsageChunk(1, 1), TextChunk("b")]),
        ([[FIRST], [CallChunk(0, "1}")]], [CallChunk(0, '{"a":1}', "call_a", "add")]),
        ([[FIRST], [CallChunk(0, "1}", "call_a", "add")]], [CallChunk(0, '{"a":1}', "call_a", "add")]),
        ([[FIRST], [CallChunk(1, "1}")]], [FIRST, CallChunk(1, "1}")]),
        ([[FIRST], [CallChunk(0, "{}", "call_b", "add")]], [FIRST, CallChunk(0, "{}", "call_b", "add")]),
        ([[CallChunk(0, "{}", "", "a")], [CallChunk(0, "{}", "", "a")]], [CallChunk(0, "{}", "", "a")] * 2),
        ([], []),
    ],
)
def test_only_neighbouring_deltas_of_the_same_text_or_call_are_joined(
    events: list[list[Chunk]], joined: list[Chunk]
) -> None:
    assert join_all(*events) == joined


def split(chunk: Chunk) -> Iterator[tuple[object, ...]]:
    """One value for each character, so that chunks that say the same are equal."""
    if isinstance(chunk, TextChunk | ReasoningChunk):
        yield from ((type(chunk), character) for character in chunk.text)
    elif isinstance(chunk, CallChunk):
        if chunk.id or chunk.name:
            yield (chunk.index, chunk.id, chunk.name)
        yield from ((chunk.index, character) for character in chunk.arguments)
    else:
        yield (chunk,)


@given(st.lists(st.lists(CHUNKS, max_size=3), max_size=6))
def test_joined_chunks_say_the_same_in_the_same_order(events: list[list[Chunk]]) -> None:
    joined = join_all(*events)

    said = [part for event in events for chunk in event for part in split(chunk)]
    repeated = {part for part in said if len(part) == 3}  # a repeated id or name begins no other call
    kept = [part for chunk in joined for part in split(chunk)]
    assert [part for part in kept if part not in repeated] == [part for part in said if part not in repeated]
    assert {part for part in kept if part in repeated} <= repeated


def test_text_before_an_error_arrives_before_the_error() -> None:
    def read(data: bytes) -> Sequence[Chunk]:
        if data == b"error":
            raise StreamError("overloaded")
        return [TextChunk(data.decode())]

    chunks = join_deltas([b"a", b"b", b"error"], read)

    assert next(chunks) == TextChunk("ab")
    with pytest.raises(StreamError, match="overloaded"):
        next(chunks)
