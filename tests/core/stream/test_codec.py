"""The log's format. What the table says was written to somebody's log, and must be readable for as long."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import (
    AnsweredInterrupt,
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    SpanEnded,
    SpanStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
    Usage,
)
from rightseat.core.messages import Message, Text
from rightseat.core.stream import codec

ANSWERED = AnsweredInterrupt("i", "resolved", "olga")
WRITTEN: list[tuple[Event, str]] = [
    (RunStarted("r", "t", "a"), '{"type":"RunStarted","run_id":"r","thread_id":"t","agent":"a"}'),
    (
        RunStarted("r", "t", "a", "c", (Message("user", (Text("Hi"),), id="m"),)),
        '{"type":"RunStarted","run_id":"r","thread_id":"t","agent":"a","client_run_id":"c",'
        '"new_messages":[{"role":"user","parts":[{"type":"text","text":"Hi"}],"id":"m","extra":null}]}',
    ),
    (TextStarted("m"), '{"type":"TextStarted","message_id":"m"}'),
    (TextDelta("m", "Hi"), '{"type":"TextDelta","message_id":"m","text":"Hi"}'),
    (TextEnded("m"), '{"type":"TextEnded","message_id":"m","complete":true}'),
    (ReasoningStarted("m"), '{"type":"ReasoningStarted","message_id":"m"}'),
    (ReasoningDelta("m", "Hm"), '{"type":"ReasoningDelta","message_id":"m","text":"Hm"}'),
    (ReasoningEnded("m"), '{"type":"ReasoningEnded","message_id":"m","complete":true}'),
    (ToolCallStarted("c", "search"), '{"type":"ToolCallStarted","call_id":"c","name":"search","message_id":null}'),
    (ToolCallDelta("c", "{}"), '{"type":"ToolCallDelta","call_id":"c","text":"{}"}'),
    (ToolCallEnded("c", complete=False), '{"type":"ToolCallEnded","call_id":"c","complete":false}'),
    (
        ToolCallReturned("c", "n", "x"),
        '{"type":"ToolCallReturned","call_id":"c","name":"n","content":"x","error":null,"message_id":null}',
    ),
    (ModelResponseEnded("stop"), '{"type":"ModelResponseEnded","reason":"stop","usage":null}'),
    (
        ModelResponseEnded("length", Usage(3, 5)),
        '{"type":"ModelResponseEnded","reason":"length","usage":{"input_tokens":3,"output_tokens":5}}',
    ),
    (StepStarted("plan"), '{"type":"StepStarted","name":"plan"}'),
    (StepEnded("plan"), '{"type":"StepEnded","name":"plan"}'),
    (
        RunStarted("r", "t", "a", None, (), "2026-11-16T09:00:00.000Z", "operator", (ANSWERED,)),
        '{"type":"RunStarted","run_id":"r","thread_id":"t","agent":"a","began_at":"2026-11-16T09:00:00.000Z",'
        '"through":"operator","answered":[{"interrupt_id":"i","status":"resolved","by":"olga"}]}',
    ),
    (SpanStarted("s0", "run", "a", 0), '{"type":"SpanStarted","span":"s0","kind":"run","name":"a","at":0}'),
    (
        SpanStarted("s2", "tool", "search", 12, "s0", {"call": "c"}),
        '{"type":"SpanStarted","span":"s2","kind":"tool","name":"search","at":12,"parent":"s0","about":{"call":"c"}}',
    ),
    (SpanEnded("s2", 40), '{"type":"SpanEnded","span":"s2","at":40}'),
    (
        SpanEnded("s1", 30, 9, Usage(11, 7), "stop", "cut_off"),
        '{"type":"SpanEnded","span":"s1","at":30,"first":9,"usage":{"input_tokens":11,"output_tokens":7},'
        '"reason":"stop","error":"cut_off"}',
    ),
    (StateReplaced({"a": [1, 2.5, None]}), '{"type":"StateReplaced","state":{"a":[1,2.5,null]}}'),
    (
        StateChanged([{"op": "remove", "path": "/a"}]),
        '{"type":"StateChanged","patch":[{"op":"remove","path":"/a"}]}',
    ),
    (Custom("agui.X", True), '{"type":"Custom","name":"agui.X","value":true}'),
    (
        MessagesReplaced((Message("user", (Text("Hi"),), id="u"),), ()),
        '{"type":"MessagesReplaced","earlier":[{"role":"user","parts":[{"type":"text","text":"Hi"}],"id":"u",'
        '"extra":null}],"messages":[]}',
    ),
    (RunFinished("waiting"), '{"type":"RunFinished","outcome":"waiting"}'),
    (
        RunFinished("waiting", (Interrupt("i", "approval", "May I?", "c"),), 42),
        '{"type":"RunFinished","outcome":"waiting","interrupts":[{"id":"i","reason":"approval","message":"May I?",'
        '"call_id":"c"}],"result":42}',
    ),
    (RunFailed("bad_request", "No."), '{"type":"RunFailed","code":"bad_request","message":"No."}'),
]

texts = st.text(st.characters(codec="utf-8"))
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)
flags, texts_or_none = st.booleans(), st.none() | texts
said = st.tuples() | st.tuples(st.builds(Message, st.just("user"), st.tuples(st.builds(Text, texts)), texts))
interrupts = st.tuples() | st.tuples(
    st.builds(Interrupt, texts, texts, texts, texts_or_none, json_values, texts_or_none)
)
usages = st.none() | st.builds(Usage, st.integers(0), st.integers(0))
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, texts, texts, texts, texts_or_none, said),
    st.builds(TextStarted, texts),
    st.builds(TextDelta, texts, texts),
    st.builds(TextEnded, texts, flags),
    st.builds(ReasoningStarted, texts),
    st.builds(ReasoningDelta, texts, texts),
    st.builds(ReasoningEnded, texts, flags),
    st.builds(ToolCallStarted, texts, texts, texts_or_none),
    st.builds(ToolCallDelta, texts, texts),
    st.builds(ToolCallEnded, texts, flags),
    st.builds(ToolCallReturned, texts, texts, texts, texts_or_none, texts_or_none),
    st.builds(ModelResponseEnded, st.sampled_from(["stop", "tool_calls", "length", "filtered"]), usages),
    st.builds(StepStarted, texts),
    st.builds(StepEnded, texts),
    st.builds(
        SpanStarted,
        texts,
        st.sampled_from(["run", "model", "tool", "step"]),
        texts,
        st.integers(0, 2**53),
        texts_or_none,
        st.none() | st.dictionaries(texts, texts | st.integers(0, 2**53)),
    ),
    st.builds(SpanEnded, texts, st.integers(0, 2**53), st.none() | st.integers(0, 2**53), usages),
    st.builds(StateReplaced, json_values),
    st.builds(StateChanged, st.lists(json_values)),
    st.builds(Custom, texts, json_values),
    st.builds(MessagesReplaced, said, said),
    st.builds(RunFinished, st.sampled_from(["done", "waiting", "cancelled"]), interrupts, json_values),
    st.builds(RunFailed, texts, texts),
)


@pytest.mark.parametrize(("event", "written"), WRITTEN)
def test_an_event_is_written_as_it_always_was(event: Event, written: str) -> None:
    assert codec.encode(event).decode() == written
    assert codec.decode(written.encode()) == event


def test_the_table_has_every_event() -> None:
    assert {type(event) for event, _ in WRITTEN} == set(get_args(Event))


def test_an_event_of_a_later_version_is_skipped_and_keeps_its_place() -> None:
    later = '{"type":"PlanMade","steps":[{"type":"x"}]}'
    texts = [codec.encode(TextStarted("m")).decode(), later, codec.encode(TextEnded("m")).decode()]

    assert codec.decode(later.encode()) == Custom(codec.UNKNOWN, "PlanMade")
    assert codec.decode_all(f"[{','.join(texts)}]") == [
        TextStarted("m"),
        Custom(codec.UNKNOWN, "PlanMade"),
        TextEnded("m"),
    ]


@pytest.mark.parametrize(
    "text", ['[{"type":"TextDelta"}]', "[{}]", "[1]", '[{"type":"TextDelta"', '{"type":"X"}', "[\xff]"]
)
def test_a_spoilt_list_of_events_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableEvent):
        codec.decode_all(text.encode("latin-1"))


@given(events)
def test_what_is_written_is_what_is_read(event: Event) -> None:
    assert codec.decode(codec.encode(event)) == event


@pytest.mark.parametrize(
    ("written", "event"),
    [
        (b'{"type":"TextEnded","message_id":"m"}', TextEnded("m")),
        (b'{"type":"ToolCallStarted","call_id":"c","name":"n"}', ToolCallStarted("c", "n")),
        (b'{"type":"StepEnded","name":"plan","seconds":3}', StepEnded("plan")),
    ],
)
def test_fields_may_be_added(written: bytes, event: Event) -> None:
    """An older version left a field out, or a newer one put one in."""
    assert codec.decode(written) == event


@pytest.mark.parametrize(
    "written",
    [
        b'{"message_id":"m"}',
        b'{"type":"TextDelta","message_id":"m"}',
        b'{"type":"TextDelta","message_id":"m","text":1}',
        b'{"type":"TextDelta","message_id":"m","text":"\xff"}',
        b'{"type":"TextDel',
        b"[]",
        b"",
    ],
)
def test_an_event_that_is_not_known_cannot_be_read(written: bytes) -> None:
    with pytest.raises(UnreadableEvent, match="cannot read"):
        codec.decode(written)
