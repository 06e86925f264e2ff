"""Events become what was said, and what is still open."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    RunStarted,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.folding import Fold
from rightseat.core.messages import Call, Message, Result, Text
from rightseat.testing import check_pairs


def folded(*events: Event) -> Fold:
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold


def test_pieces_of_text_become_a_message() -> None:
    fold = folded(TextStarted("m"), TextDelta("m", "Hel"), TextDelta("m", "lo"), TextEnded("m"), AnswerEnded("stop"))

    assert fold.messages() == (Message("assistant", (Text("Hello"),), id="m"),)


def test_texts_that_are_open_at_once_are_told_apart() -> None:
    fold = folded(
        TextStarted("a"), TextStarted("b"), TextDelta("b", "B"), TextDelta("a", "A"), TextEnded("a"), TextEnded("b")
    )

    assert [(message.id, message.text) for message in fold.messages()] == [("a", "A"), ("b", "B")]


def test_calls_join_the_text_that_they_belong_to() -> None:
    fold = folded(
        TextStarted("m"),
        TextDelta("m", "Let me see."),
        TextEnded("m"),
        CallStarted("c1", "search", "m"),
        CallStarted("c2", "draw", "m"),
        CallDelta("c2", "[]"),
        CallDelta("c1", '{"q"'),
        CallDelta("c1", ":1}"),
        CallEnded("c1"),
        CallEnded("c2"),
    )

    parts = (Text("Let me see."), Call("c1", "search", '{"q":1}'), Call("c2", "draw", "[]"))
    assert fold.messages() == (Message("assistant", parts, id="m"),)


def test_calls_without_a_text_are_one_message() -> None:
    fold = folded(CallStarted("c1", "a"), CallStarted("c2", "b"), CallEnded("c1"), CallEnded("c2"))

    assert fold.messages() == (Message("assistant", (Call("c1", "a", ""), Call("c2", "b", "")), id="c1"),)


def test_a_result_is_a_message_of_its_own_and_calls_after_it_begin_another() -> None:
    fold = folded(
        CallStarted("c1", "search"),
        CallEnded("c1"),
        CallReturned("c1", "search", "Found."),
        CallStarted("c2", "search"),
        CallEnded("c2"),
        CallReturned("c2", "search", "Nothing there.", "tool_failed"),
        TextStarted("m"),
        TextDelta("m", "Done."),
        TextEnded("m"),
    )

    assert fold.messages() == (
        Message("assistant", (Call("c1", "search", ""),), id="c1"),
        Message("tool", (Result("c1", "search", "Found."),), id="result-c1"),
        Message("assistant", (Call("c2", "search", ""),), id="c2"),
        Message("tool", (Result("c2", "search", "Nothing there.", "tool_failed"),), id="result-c2"),
        Message("assistant", (Text("Done."),), id="m"),
    )


def test_thoughts_are_not_part_of_what_was_said() -> None:
    fold = folded(ThoughtStarted("t"), ThoughtDelta("t", "Hm."), ThoughtEnded("t"))

    assert fold.messages() == ()


def test_the_state_is_the_last_one_that_the_agent_shared() -> None:
    assert folded(StateReplaced({"a": 1}), StateReplaced({"b": 2})).state == {"b": 2}


def test_the_state_is_what_was_asked_with_as_long_as_the_agent_says_nothing_about_it() -> None:
    fold = Fold({"a": 1})
    fold.add(RunStarted("r", "t", "default"))
    assert fold.state == {"a": 1}

    fold.add(StateReplaced(None))
    assert fold.state is None


def test_nothing_is_left_to_end_when_everything_has() -> None:
    fold = folded(
        StepStarted("plan"),
        TextStarted("m"),
        ThoughtStarted("t"),
        CallStarted("c", "n"),
        TextEnded("m"),
        ThoughtEnded("t"),
        CallEnded("c"),
        StepEnded("plan"),
    )

    assert list(fold.endings()) == []


def test_what_is_open_is_ended_from_the_inside_out_and_marked_as_broken() -> None:
    fold = folded(StepStarted("plan"), TextStarted("m"), ThoughtStarted("t"), CallStarted("c", "n"))

    assert list(fold.endings()) == [
        CallEnded("c", whole=False),
        ThoughtEnded("t", whole=False),
        TextEnded("m", whole=False),
        StepEnded("plan"),
    ]


def test_a_thought_and_a_text_with_the_same_id_are_two_things() -> None:
    """Some agents give a message and the thought before it one id."""
    fold = folded(ThoughtStarted("m"), TextStarted("m"), ThoughtEnded("m"))

    assert list(fold.endings()) == [TextEnded("m", whole=False)]


def test_a_step_that_is_entered_again_inside_itself_is_left_as_often() -> None:
    fold = folded(StepStarted("plan"), StepStarted("plan"), StepEnded("plan"))

    assert list(fold.endings()) == [StepEnded("plan")]


opened: list[tuple[Event, ...]] = [
    (TextStarted("m"), TextDelta("m", "x"), TextEnded("m")),
    (ThoughtStarted("m"), ThoughtDelta("m", "x"), ThoughtEnded("m")),
    (CallStarted("m", "n"), CallDelta("m", "x"), CallEnded("m")),
    (TextStarted("other"), TextDelta("other", "x"), TextEnded("other")),
    (StepStarted("s"), StepStarted("t"), StepEnded("t"), StepEnded("s")),
]


@given(st.permutations([lane for lane, events in enumerate(opened) for _ in events]), st.integers(0))
def test_a_run_that_stops_anywhere_is_closed_by_its_endings(order: list[int], stop: int) -> None:
    left = [iter(events) for events in opened]
    events: list[Event] = [next(left[lane]) for lane in order][: stop % (len(order) + 1)]

    events += folded(*events).endings()

    check_pairs(events)


def test_a_result_is_put_behind_its_call_whenever_it_comes() -> None:
    fold = folded(
        *(CallStarted("c1", "f"), CallStarted("c2", "g"), CallEnded("c1"), CallEnded("c2")),
        *(CallReturned("c2", "g", "two"), TextStarted("m"), TextDelta("m", "Meanwhile"), TextEnded("m")),
        CallReturned("c1", "f", "one", message_id="r1"),
    )

    assert [message.id for message in fold.messages()] == ["c1", "result-c2", "r1", "m"]


def test_a_call_may_name_its_message_before_that_has_a_text() -> None:
    fold = folded(CallStarted("c", "f", "m"), CallEnded("c"), TextStarted("m"), TextDelta("m", "So."), TextEnded("m"))

    assert fold.messages() == (Message("assistant", (Text("So."), Call("c", "f", "")), id="m"),)
