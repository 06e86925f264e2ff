"""Framing, rule by rule, and then calls in every interleaving that a server could send."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.errors import ModelError, ModelUnreachable, ResponseTooLong
from rightseat.core.events import (
    Custom,
    Event,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StopReason,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
)
from rightseat.core.model import CallChunk, Chunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.stream.framer import Framer, frame
from rightseat.testing import check_pairs


def framed(*chunks: Chunk) -> list[Event]:
    """What an answer of these chunks becomes, with short ids: `msg1`, `thought1`, and calls as they were given."""
    framer = Framer()
    events = [event for chunk in chunks for event in framer.feed(chunk)]
    events += framer.close()
    events.append(framer.end())
    check_pairs(events)
    return events


def names(events: Iterable[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def made(events: Iterable[Event]) -> list[tuple[str, str, str]]:
    """The calls as id, name and arguments, in the order in which they started."""
    calls: dict[str, tuple[str, list[str]]] = {}
    for event in events:
        match event:
            case ToolCallStarted(call_id=id, name=name):
                calls[id] = (name, [])
            case ToolCallDelta(call_id=id, text=text):
                calls[id][1].append(text)
            case _:
                pass
    return [(id, name, "".join(pieces)) for id, (name, pieces) in calls.items()]


def said(events: Iterable[Event]) -> list[str]:
    texts: dict[str, str] = {}
    for event in events:
        if isinstance(event, TextDelta):
            texts[event.message_id] = texts.get(event.message_id, "") + event.text
    return list(texts.values())


# 1. Text


def test_text_opens_with_its_first_piece_and_closes_with_the_answer() -> None:
    events = framed(TextChunk("Hel"), TextChunk("lo"), StopChunk("stop"))

    match events:
        case [TextStarted(message_id=id), *_]:
            assert events == [
                TextStarted(id),
                TextDelta(id, "Hel"),
                TextDelta(id, "lo"),
                TextEnded(id),
                ModelResponseEnded("stop"),
            ]
        case _:
            pytest.fail(f"no text was started: {events}")


def test_a_call_closes_the_text_before_it() -> None:
    events = framed(TextChunk("Let me see."), CallChunk(0, "{}", "c1", "search"), StopChunk("tool_calls"))

    assert names(events) == [
        "TextStarted",
        "TextDelta",
        "TextEnded",
        "ToolCallStarted",
        "ToolCallDelta",
        "ToolCallEnded",
        "ModelResponseEnded",
    ]


def test_text_after_a_call_is_a_new_message() -> None:
    events = framed(TextChunk("One."), CallChunk(0, "{}", "c1", "search"), TextChunk("Two."), TextChunk(" Three."))

    assert said(events) == ["One.", "Two. Three."]


def test_a_call_belongs_to_the_text_before_it() -> None:
    events = framed(
        CallChunk(0, "{}", "c0", "think"),
        TextChunk("One."),
        CallChunk(1, "{}", "c1", "search"),
        TextChunk("Two."),
        CallChunk(2, "{}", "c2", "search"),
    )

    texts = [event.message_id for event in events if isinstance(event, TextStarted)]
    assert [event.message_id for event in events if isinstance(event, ToolCallStarted)] == [None, *texts]


def test_empty_pieces_make_no_events() -> None:
    events = framed(
        TextChunk(""), ReasoningChunk(""), TextChunk("Hi"), TextChunk(""), ReasoningChunk(""), TextChunk("!")
    )

    assert names(events) == ["TextStarted", "TextDelta", "TextDelta", "TextEnded", "ModelResponseEnded"]
    assert said(events) == ["Hi!"]


def test_an_answer_without_anything_only_ends() -> None:
    assert framed() == [ModelResponseEnded("stop")]


@pytest.mark.parametrize("chunk", [TextChunk("Hi"), CallChunk(0, "{}", "c1", "search")])
def test_reasoning_ends_when_text_or_a_call_starts(chunk: Chunk) -> None:
    events = framed(ReasoningChunk("Hm"), ReasoningChunk("m."), chunk)

    match events:
        case [ReasoningStarted(message_id=id), *_]:
            assert events[1:4] == [ReasoningDelta(id, "Hm"), ReasoningDelta(id, "m."), ReasoningEnded(id)]
        case _:
            pytest.fail(f"no thought was started: {events}")


def test_reasoning_in_the_middle_of_a_text_does_not_split_it() -> None:
    events = framed(TextChunk("Hel"), ReasoningChunk("Hm."), TextChunk("lo"))

    assert said(events) == ["Hello"]


# 2. Calls


def test_a_call_opens_when_its_name_is_known_with_what_came_before() -> None:
    framer = Framer()

    before = [*framer.feed(CallChunk(0, "", "c1")), *framer.feed(CallChunk(0, '{"q"'))]
    after = [*framer.feed(CallChunk(0, ":", name="search")), *framer.feed(CallChunk(0, "1}"))]

    assert before == []
    assert after == [ToolCallStarted("c1", "search"), ToolCallDelta("c1", '{"q":'), ToolCallDelta("c1", "1}")]


def test_chunks_of_several_calls_are_distinguished_by_index() -> None:
    events = framed(
        CallChunk(0, "", "c1", "search"),
        CallChunk(1, "", "c2", "draw"),
        CallChunk(1, '{"x":'),
        CallChunk(0, '{"q":'),
        CallChunk(1, "2}"),
        CallChunk(0, "1}"),
    )

    assert made(events) == [("c1", "search", '{"q":1}'), ("c2", "draw", '{"x":2}')]


def test_all_calls_stay_open_until_the_answer_ends() -> None:
    events = framed(CallChunk(0, "{}", "c1", "a"), CallChunk(1, "{}", "c2", "b"), TextChunk("Done."))

    assert names(events)[-4:] == ["TextEnded", "ToolCallEnded", "ToolCallEnded", "ModelResponseEnded"]


def test_an_id_and_a_name_with_every_piece_are_still_one_call() -> None:
    events = framed(CallChunk(0, '{"q"', "c1", "search"), CallChunk(0, ":1}", "c1", "search"))

    assert made(events) == [("c1", "search", '{"q":1}')]


def test_calls_at_one_index_are_distinguished_by_id() -> None:
    """vLLM under lmdeploy and SGLang did this: https://github.com/InternLM/lmdeploy/issues/3412"""
    events = framed(
        CallChunk(0, "", "c1", "search"),
        CallChunk(0, '{"q":1}'),
        CallChunk(0, "", "c2", "search"),
        CallChunk(0, '{"q":2}', "c2"),
    )

    assert made(events) == [("c1", "search", '{"q":1}'), ("c2", "search", '{"q":2}')]


def test_calls_at_one_index_without_ids_are_distinguished_by_name() -> None:
    """Gemini behind OpenAI's wire: https://github.com/NousResearch/hermes-agent/issues/62940"""
    events = framed(CallChunk(0, '{"q":1}', name="search"), CallChunk(0, '{"x":2}', name="draw"))

    assert [(name, arguments) for _, name, arguments in made(events)] == [("search", '{"q":1}'), ("draw", '{"x":2}')]


def test_an_id_that_comes_after_the_name_still_distinguishes_the_next_call() -> None:
    events = framed(
        CallChunk(0, '{"q":', name="search"),
        CallChunk(0, "1}", "c1"),
        CallChunk(0, '{"q":2}', "c2", "search"),
    )

    assert [arguments for _, _, arguments in made(events)] == ['{"q":1}', '{"q":2}']


def test_an_id_that_changes_with_every_piece_is_still_one_call() -> None:
    """Poolside does this: https://github.com/poolsideai/pool/issues/9"""
    events = framed(CallChunk(0, "", "x1"), CallChunk(0, '{"q"', "x2", "search"), CallChunk(0, ":1}", "x3"))

    assert [(name, arguments) for _, name, arguments in made(events)] == [("search", '{"q":1}')]


def test_a_call_without_an_id_gets_one() -> None:
    [(id, _, _)] = made(framed(CallChunk(0, "{}", name="search")))

    assert id.startswith("call_")


def test_calls_with_one_and_the_same_id_get_different_ones() -> None:
    events = framed(CallChunk(0, "1", "same", "a"), CallChunk(1, "2", "same", "b"), CallChunk(0, "3"))

    [(first, *one), (second, *other)] = made(events)
    assert (one, other) == (["a", "13"], ["b", "2"])
    assert first == "same" != second


def test_an_id_that_an_earlier_answer_used_is_not_used_again() -> None:
    """SGLang counts the calls of every answer from 0."""
    taken: set[str] = set()

    ids = [
        event.call_id
        for _ in range(3)
        for event in Framer(taken).feed(CallChunk(0, "{}", "0", "search"))
        if isinstance(event, ToolCallStarted)
    ]

    assert ids[0] == "0"
    assert len(set(ids)) == 3


def test_a_call_without_a_name_is_an_error_after_everything_is_closed() -> None:
    framer = Framer()
    events = [*framer.feed(TextChunk("Hi")), *framer.feed(CallChunk(0, "{}", "c1")), *framer.close()]

    check_pairs(events)
    assert said(events) == ["Hi"]
    with pytest.raises(ModelUnreachable, match="without a name"):
        framer.end()


@pytest.mark.parametrize(
    ("chunks", "ended"),
    [
        ([StopChunk("length")], ModelResponseEnded("length")),
        ([StopChunk("filtered")], ModelResponseEnded("filtered")),
        ([CallChunk(0, "{}", "c1", "search")], ModelResponseEnded("tool_calls")),
        ([StopChunk("stop"), UsageChunk(3, 5)], ModelResponseEnded("stop", Usage(3, 5))),
        ([UsageChunk(3, 1), UsageChunk(3, 5)], ModelResponseEnded("stop", Usage(3, 5))),
        (
            [UsageChunk(9, 4, 6, 2)],
            ModelResponseEnded("stop", Usage(9, 4, cache_read_tokens=6, cache_written_tokens=2)),
        ),
    ],
)
def test_the_answer_ends_with_its_reason_and_its_usage(chunks: list[Chunk], ended: ModelResponseEnded) -> None:
    assert framed(*chunks)[-1] == ended


def test_an_unknown_stop_reason_is_an_error_because_the_log_could_not_be_read_again() -> None:
    unknown: Any = "calls"
    with pytest.raises(ModelError, match="reason 'calls', which is not one of stop, tool_calls, length, filtered"):
        framed(StopChunk(unknown))


# 3. Answers that break off


async def test_a_truncated_response_closes_open_messages_before_the_error_is_raised() -> None:
    async def chunks() -> AsyncIterator[Chunk]:
        yield CallChunk(0, "{", "c1", "search")
        yield ReasoningChunk("Hm.")
        yield CallChunk(1, "{")
        raise ModelUnreachable("gone")

    events: list[Event] = []
    with pytest.raises(ModelUnreachable, match="gone"):
        await collect(frame(chunks()), events)

    check_pairs(events)
    match events[-2:]:
        case [ReasoningEnded(complete=False), ToolCallEnded(call_id="c1", complete=False)]:
            pass
        case _:
            pytest.fail(f"not closed as broken: {events}")


async def test_closing_the_stream_closes_the_model() -> None:
    closed: list[str] = []

    async def chunks() -> AsyncIterator[Chunk]:
        try:
            yield TextChunk("Hi")
            yield TextChunk("!")
        finally:
            closed.append("closed")

    events = frame(chunks())
    await anext(events)
    await events.aclose()  # type: ignore[attr-defined]  # it is a generator, whatever it is declared as

    assert closed == ["closed"]


async def test_a_model_need_not_be_a_generator() -> None:
    class Chunks:
        """An iterator as a class: it has no `aclose`."""

        def __init__(self) -> None:
            self.left: list[Chunk] = [StopChunk("stop"), TextChunk("Hi")]

        def __aiter__(self) -> AsyncIterator[Chunk]:
            return self

        async def __anext__(self) -> Chunk:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    events: list[Event] = []
    await collect(frame(Chunks()), events)

    assert names(events) == ["TextStarted", "TextDelta", "TextEnded", "ModelResponseEnded"]


async def collect(events: AsyncIterator[Event], into: list[Event]) -> None:
    async for event in events:
        into.append(event)  # noqa: PERF401  # what came before an error is wanted too


# Every interleaving


@dataclass(frozen=True)
class Made:
    """A call as the server means it."""

    name: str
    arguments: str
    pieces: tuple[CallChunk, ...]


@dataclass(frozen=True)
class Answer:
    """What the server sends, and the calls that it means, in the order in which their names come."""

    chunks: Sequence[Chunk]
    calls: Sequence[Made]


words = st.text(st.characters(codec="utf-8"), max_size=8)
tool_names = st.sampled_from(["search", "draw", "set_color", "a"])
ids = st.sampled_from(["", "c1", "c2", "c3", "0"])
asides = st.lists(st.builds(TextChunk, words) | st.builds(ReasoningChunk, words), max_size=4)


@st.composite
def indexed_calls(draw: st.DrawFn, index: int) -> Made:
    """A call with an index of its own. Its name comes with some piece, and its id too, and again as often as it likes;
    where the name comes only once, the id may even change."""
    name, id = draw(tool_names), draw(ids)
    texts = draw(st.lists(words, min_size=1, max_size=5))
    named = draw(st.integers(0, len(texts) - 1))
    repeats, wanders = draw(st.sampled_from([(True, False), (False, False), (False, True)]))
    pieces = []
    for number, text in enumerate(texts):
        has_name = number == named or (repeats and number > named and draw(st.booleans()))
        given = draw(ids) if wanders else id if draw(st.booleans()) else ""
        pieces.append(CallChunk(index, text, given, name if has_name else ""))
    return Made(name, "".join(texts), tuple(pieces))


@st.composite
def interleaved_answers(draw: st.DrawFn) -> Answer:
    """One to six calls, their pieces in any order that keeps the order within each."""
    indexes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True))
    calls = [draw(indexed_calls(index)) for index in indexes]
    lanes: list[Sequence[Chunk]] = [*(call.pieces for call in calls), draw(asides)]
    order = draw(st.permutations([lane for lane, pieces in enumerate(lanes) for _ in pieces]))
    left = [iter(pieces) for pieces in lanes]
    chunks = [next(left[lane]) for lane in order]
    named = list(dict.fromkeys(chunk.index for chunk in chunks if isinstance(chunk, CallChunk) and chunk.name))
    return Answer(chunks, sorted(calls, key=lambda call: named.index(call.pieces[0].index)))


@st.composite
def answers_at_one_index(draw: st.DrawFn) -> Answer:
    """One to six calls, one after another, all at index 0: told apart by their ids, or else by their names."""
    by_id = draw(st.booleans())
    called = draw(st.lists(tool_names, min_size=1, max_size=6 if by_id else 4, unique=not by_id))
    calls = []
    for number, name in enumerate(called):
        id = f"c{number}" if by_id else ""
        texts = draw(st.lists(words, min_size=1, max_size=5))
        pieces = [CallChunk(0, texts[0], id, name)]
        pieces += [
            CallChunk(0, t, draw(st.sampled_from(["", id])), draw(st.sampled_from(["", name]))) for t in texts[1:]
        ]
        calls.append(Made(name, "".join(texts), tuple(pieces)))
    chunks: list[Chunk] = [piece for call in calls for piece in call.pieces]
    for aside in draw(asides):
        chunks.insert(draw(st.integers(0, len(chunks))), aside)
    return Answer(chunks, calls)


def check(answer: Answer) -> None:
    """Every call as it was meant, and every word that was said beside them."""
    events = framed(*answer.chunks)
    calls = made(events)
    assert [(name, arguments) for _, name, arguments in calls] == [(call.name, call.arguments) for call in answer.calls]
    assert len({id for id, _, _ in calls} - {""}) == len(answer.calls)
    assert "".join(said(events)) == "".join(c.text for c in answer.chunks if isinstance(c, TextChunk))
    thoughts = [event.text for event in events if isinstance(event, ReasoningDelta)]
    assert "".join(thoughts) == "".join(c.text for c in answer.chunks if isinstance(c, ReasoningChunk))
    assert events[-1] == ModelResponseEnded("tool_calls")


@given(interleaved_answers())
def test_no_interleaving_mixes_calls_up(answer: Answer) -> None:
    check(answer)


@given(answers_at_one_index())
def test_no_calls_at_one_index_are_mixed_up(answer: Answer) -> None:
    check(answer)


@given(interleaved_answers())
def test_an_id_that_a_call_came_with_is_kept_unless_another_has_it(answer: Answer) -> None:
    framer, known, taken = Framer(), dict[int, str](), set[str]()
    for chunk in answer.chunks:
        if isinstance(chunk, CallChunk):
            known[chunk.index] = known.get(chunk.index) or chunk.id
        for event in framer.feed(chunk):
            if isinstance(event, ToolCallStarted) and isinstance(chunk, CallChunk):
                given = known[chunk.index]
                assert (event.call_id == given) is (bool(given) and given not in taken)
                taken.add(event.call_id)


@pytest.mark.parametrize("chunk", [TextChunk("1234"), ReasoningChunk("1234"), CallChunk(0, "1234", "c", "search")])
async def test_an_answer_without_an_end_is_ended_at_its_limit_and_what_is_open_is_closed(chunk: Chunk) -> None:
    async def endless() -> AsyncIterator[Chunk]:
        while True:
            yield chunk

    events: list[Event] = []

    async def listen() -> None:
        async for event in frame(endless(), limit=10):
            events.append(event)  # noqa: PERF401  # those before the error count

    with pytest.raises(ResponseTooLong, match="cut off after 10 characters"):
        await listen()

    check_pairs(events)
    assert sum(isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta) for event in events) == 2


@pytest.mark.parametrize(("reason", "words"), [("length", "the token limit"), ("filtered", "the provider's filter")])
def test_a_call_that_was_cut_off_is_incomplete_and_a_warning_names_it(reason: StopReason, words: str) -> None:
    whole, half = CallChunk(0, '{"a": 1}', "c1", "whole"), CallChunk(1, '{"a": "b', "c2", "half")

    events = framed(whole, half, StopChunk(reason))

    assert [event for event in events if isinstance(event, ToolCallEnded)] == [
        ToolCallEnded("c1"),
        ToolCallEnded("c2", complete=False),
    ]
    (warning,) = [str(event.value) for event in events if isinstance(event, Custom)]
    assert warning.startswith(f"The call of 'half' was cut off by {words}")


def test_arguments_before_a_name_are_those_of_the_call() -> None:
    events = framed(CallChunk(0, '{"a"'), CallChunk(0, name="late"), CallChunk(0, ": 1}"), StopChunk("length"))

    assert made(events)[0][2] == '{"a": 1}'
    assert [event.complete for event in events if isinstance(event, ToolCallEnded)] == [True]
