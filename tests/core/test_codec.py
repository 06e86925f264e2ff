"""The log's format. What the table says was written to somebody's log, and must be readable for as long."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from rightseat.core import codec
from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    Usage,
)
from rightseat.core.messages import Message, Text

WRITTEN: list[tuple[Event, str]] = [
    (RunStarted("r", "t", "a"), '{"type":"RunStarted","run_id":"r","thread_id":"t","agent":"a"}'),
    (
        RunStarted("r", "t", "a", "c", (Message("user", (Text("Hi"),), id="m"),)),
        '{"type":"RunStarted","run_id":"r","thread_id":"t","agent":"a","client_run_id":"c",'
        '"said":[{"role":"user","parts":[{"type":"text","text":"Hi"}],"id":"m","extra":null}]}',
    ),
    (TextStarted("m"), '{"type":"TextStarted","message_id":"m"}'),
    (TextDelta("m", "Hi"), '{"type":"TextDelta","message_id":"m","text":"Hi"}'),
    (TextEnded("m"), '{"type":"TextEnded","message_id":"m","whole":true}'),
    (ThoughtStarted("m"), '{"type":"ThoughtStarted","message_id":"m"}'),
    (ThoughtDelta("m", "Hm"), '{"type":"ThoughtDelta","message_id":"m","text":"Hm"}'),
    (ThoughtEnded("m"), '{"type":"ThoughtEnded","message_id":"m","whole":true}'),
    (CallStarted("c", "search"), '{"type":"CallStarted","call_id":"c","name":"search","message_id":null}'),
    (CallDelta("c", "{}"), '{"type":"CallDelta","call_id":"c","text":"{}"}'),
    (CallEnded("c", whole=False), '{"type":"CallEnded","call_id":"c","whole":false}'),
    (
        CallReturned("c", "n", "x"),
        '{"type":"CallReturned","call_id":"c","name":"n","content":"x","error":null,"message_id":null}',
    ),
    (AnswerEnded("stop"), '{"type":"AnswerEnded","reason":"stop","usage":null}'),
    (
        AnswerEnded("length", Usage(3, 5)),
        '{"type":"AnswerEnded","reason":"length","usage":{"input_tokens":3,"output_tokens":5}}',
    ),
    (StepStarted("plan"), '{"type":"StepStarted","name":"plan"}'),
    (StepEnded("plan"), '{"type":"StepEnded","name":"plan"}'),
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
    (RunFailed("bad_ask", "No."), '{"type":"RunFailed","code":"bad_ask","message":"No."}'),
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
    st.builds(ThoughtStarted, texts),
    st.builds(ThoughtDelta, texts, texts),
    st.builds(ThoughtEnded, texts, flags),
    st.builds(CallStarted, texts, texts, texts_or_none),
    st.builds(CallDelta, texts, texts),
    st.builds(CallEnded, texts, flags),
    st.builds(CallReturned, texts, texts, texts, texts_or_none, texts_or_none),
    st.builds(AnswerEnded, st.sampled_from(["stop", "calls", "length", "filtered"]), usages),
    st.builds(StepStarted, texts),
    st.builds(StepEnded, texts),
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


@given(events)
def test_what_is_written_is_what_is_read(event: Event) -> None:
    assert codec.decode(codec.encode(event)) == event


@pytest.mark.parametrize(
    ("written", "event"),
    [
        (b'{"type":"TextEnded","message_id":"m"}', TextEnded("m")),
        (b'{"type":"CallStarted","call_id":"c","name":"n"}', CallStarted("c", "n")),
        (b'{"type":"StepEnded","name":"plan","seconds":3}', StepEnded("plan")),
    ],
)
def test_fields_may_be_added(written: bytes, event: Event) -> None:
    """An older version left a field out, or a newer one put one in."""
    assert codec.decode(written) == event


@pytest.mark.parametrize(
    "written",
    [
        b'{"type":"Teleported"}',
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
