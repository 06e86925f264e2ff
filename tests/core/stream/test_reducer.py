"""Events become what was said, and what is still open."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.events import (
    Event,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunStarted,
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
)
from rightseat.core.messages import Call, Message, Result, Text
from rightseat.core.stream.reducer import Reducer
from rightseat.testing import check_pairs


def folded(*events: Event) -> Reducer:
    reducer = Reducer()
    for event in events:
        reducer.add(event)
    return reducer


def test_pieces_of_text_become_a_message() -> None:
    reducer = folded(
        TextStarted("m"), TextDelta("m", "Hel"), TextDelta("m", "lo"), TextEnded("m"), ModelResponseEnded("stop")
    )

    assert reducer.messages() == (Message("assistant", (Text("Hello"),), id="m"),)


def test_texts_that_are_open_at_once_are_kept_apart() -> None:
    reducer = folded(
        TextStarted("a"), TextStarted("b"), TextDelta("b", "B"), TextDelta("a", "A"), TextEnded("a"), TextEnded("b")
    )

    assert [(message.id, message.text) for message in reducer.messages()] == [("a", "A"), ("b", "B")]


def test_calls_join_the_text_that_they_belong_to() -> None:
    reducer = folded(
        TextStarted("m"),
        TextDelta("m", "Let me see."),
        TextEnded("m"),
        ToolCallStarted("c1", "search", "m"),
        ToolCallStarted("c2", "draw", "m"),
        ToolCallDelta("c2", "[]"),
        ToolCallDelta("c1", '{"q"'),
        ToolCallDelta("c1", ":1}"),
        ToolCallEnded("c1"),
        ToolCallEnded("c2"),
    )

    parts = (Text("Let me see."), Call("c1", "search", '{"q":1}'), Call("c2", "draw", "[]"))
    assert reducer.messages() == (Message("assistant", parts, id="m"),)


def test_calls_without_a_text_are_one_message() -> None:
    reducer = folded(ToolCallStarted("c1", "a"), ToolCallStarted("c2", "b"), ToolCallEnded("c1"), ToolCallEnded("c2"))

    assert reducer.messages() == (Message("assistant", (Call("c1", "a", ""), Call("c2", "b", "")), id="c1"),)


def test_a_result_is_a_message_of_its_own_and_calls_after_it_begin_another() -> None:
    reducer = folded(
        ToolCallStarted("c1", "search"),
        ToolCallEnded("c1"),
        ToolCallReturned("c1", "search", "Found."),
        ToolCallStarted("c2", "search"),
        ToolCallEnded("c2"),
        ToolCallReturned("c2", "search", "Nothing there.", "tool_failed"),
        TextStarted("m"),
        TextDelta("m", "Done."),
        TextEnded("m"),
    )

    assert reducer.messages() == (
        Message("assistant", (Call("c1", "search", ""),), id="c1"),
        Message("tool", (Result("c1", "search", "Found."),), id="result-c1"),
        Message("assistant", (Call("c2", "search", ""),), id="c2"),
        Message("tool", (Result("c2", "search", "Nothing there.", "tool_failed"),), id="result-c2"),
        Message("assistant", (Text("Done."),), id="m"),
    )


def test_reasoning_is_not_part_of_the_messages() -> None:
    reducer = folded(ReasoningStarted("t"), ReasoningDelta("t", "Hm."), ReasoningEnded("t"))

    assert reducer.messages() == ()


def test_the_state_is_the_last_one_that_the_agent_shared() -> None:
    assert folded(StateReplaced({"a": 1}), StateReplaced({"b": 2})).state == {"b": 2}


def test_the_state_is_that_of_the_ask_until_the_agent_changes_it() -> None:
    reducer = Reducer({"a": 1})
    reducer.add(RunStarted("r", "t", "default"))
    assert reducer.state == {"a": 1}

    reducer.add(StateReplaced(None))
    assert reducer.state is None


def test_nothing_is_left_to_end_when_everything_has() -> None:
    reducer = folded(
        StepStarted("plan"),
        TextStarted("m"),
        ReasoningStarted("t"),
        ToolCallStarted("c", "n"),
        TextEnded("m"),
        ReasoningEnded("t"),
        ToolCallEnded("c"),
        StepEnded("plan"),
    )

    assert list(reducer.endings()) == []


def test_what_is_open_is_ended_from_the_inside_out_and_marked_as_broken() -> None:
    reducer = folded(StepStarted("plan"), TextStarted("m"), ReasoningStarted("t"), ToolCallStarted("c", "n"))

    assert list(reducer.endings()) == [
        ToolCallEnded("c", complete=False),
        ReasoningEnded("t", complete=False),
        TextEnded("m", complete=False),
        StepEnded("plan"),
    ]


def test_reasoning_and_text_with_the_same_id_are_separate() -> None:
    """Some agents give a message and the thought before it one id."""
    reducer = folded(ReasoningStarted("m"), TextStarted("m"), ReasoningEnded("m"))

    assert list(reducer.endings()) == [TextEnded("m", complete=False)]


def test_a_step_that_is_entered_again_inside_itself_is_left_as_often() -> None:
    reducer = folded(StepStarted("plan"), StepStarted("plan"), StepEnded("plan"))

    assert list(reducer.endings()) == [StepEnded("plan")]


opened: list[tuple[Event, ...]] = [
    (TextStarted("m"), TextDelta("m", "x"), TextEnded("m")),
    (ReasoningStarted("m"), ReasoningDelta("m", "x"), ReasoningEnded("m")),
    (ToolCallStarted("m", "n"), ToolCallDelta("m", "x"), ToolCallEnded("m")),
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
    reducer = folded(
        *(ToolCallStarted("c1", "f"), ToolCallStarted("c2", "g"), ToolCallEnded("c1"), ToolCallEnded("c2")),
        *(ToolCallReturned("c2", "g", "two"), TextStarted("m"), TextDelta("m", "Meanwhile"), TextEnded("m")),
        ToolCallReturned("c1", "f", "one", message_id="r1"),
    )

    assert [message.id for message in reducer.messages()] == ["c1", "result-c2", "r1", "m"]


def test_a_call_may_name_its_message_before_that_has_a_text() -> None:
    reducer = folded(
        ToolCallStarted("c", "f", "m"), ToolCallEnded("c"), TextStarted("m"), TextDelta("m", "So."), TextEnded("m")
    )

    assert reducer.messages() == (Message("assistant", (Text("So."), Call("c", "f", "")), id="m"),)
