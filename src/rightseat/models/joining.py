"""Joins the deltas of a response that arrive together, so that one event carries them to the client."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from rightseat.core.model import CallChunk, Chunk, ReasoningChunk, TextChunk

Delta = TextChunk | ReasoningChunk | CallChunk


def join_deltas(events: Iterable[bytes], read: Callable[[bytes], Sequence[Chunk]]) -> Iterator[Chunk]:
    """The chunks of events that arrived in one read. Neighbouring deltas of one text or one call become one chunk.

    The joined text precedes an error that `events` or `read` raises.
    """
    deltas: list[Delta] = []
    try:
        for data in events:
            for chunk in read(data):
                if deltas and not is_continued(deltas[0], chunk):
                    yield join(deltas)
                    deltas = []
                if isinstance(chunk, Delta):
                    deltas.append(chunk)
                else:
                    yield chunk
    except Exception:
        if deltas:
            yield join(deltas)
        raise
    if deltas:
        yield join(deltas)


def is_continued(first: Delta, chunk: Chunk) -> bool:
    """Whether the chunk adds to the same text or call. Some servers repeat the id in every chunk of a call."""
    if type(first) is CallChunk and type(chunk) is CallChunk:
        is_same = chunk.id == first.id if chunk.id else not chunk.name
        return is_same and chunk.index == first.index
    return type(first) is type(chunk)


def join(deltas: Sequence[Delta]) -> Delta:
    first = deltas[0]
    if len(deltas) == 1:
        return first
    if isinstance(first, CallChunk):
        arguments = "".join(delta.arguments for delta in deltas if isinstance(delta, CallChunk))
        return CallChunk(first.index, arguments, first.id, first.name)
    return type(first)("".join(delta.text for delta in deltas if not isinstance(delta, CallChunk)))
