"""A run in few events says the same as in many."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.events import (
    Event,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFinished,
    StateChanged,
    StateReplaced,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.stream.compaction import compact
from rightseat.core.types import JsonValue
from tests.profiles import examples
from tests.wire.agui.runs import folded, our_run

ONE: list[JsonValue] = [{"op": "add", "path": "/a", "value": 1}]


def test_each_message_reasoning_and_call_has_one_delta() -> None:
    run: list[Event] = [
        *(ReasoningStarted("x"), ReasoningDelta("x", "Hm"), ReasoningDelta("x", "m."), ReasoningEnded("x")),
        *(TextStarted("m"), TextDelta("m", "Hel"), ToolCallStarted("x", "f", "m"), ToolCallDelta("x", "{")),
        *(TextDelta("m", "lo"), ToolCallDelta("x", "}"), TextEnded("m", complete=False), ToolCallEnded("x")),
        *(ToolCallReturned("x", "f", "ok"), RunFinished("done")),
    ]

    assert compact(run) == [
        *(ReasoningStarted("x"), ReasoningDelta("x", "Hmm."), ReasoningEnded("x")),
        *(TextStarted("m"), TextDelta("m", "Hello"), ToolCallStarted("x", "f", "m"), ToolCallDelta("x", "{}")),
        *(TextEnded("m", complete=False), ToolCallEnded("x"), ToolCallReturned("x", "f", "ok"), RunFinished("done")),
    ]


def test_the_final_state_is_written_once() -> None:
    run: list[Event] = [StateReplaced({}), TextStarted("m"), StateChanged(ONE), TextEnded("m"), RunFinished("done")]

    assert compact(run) == [TextStarted("m"), TextEnded("m"), StateReplaced({"a": 1}), RunFinished("done")]


def test_changes_of_a_state_that_is_not_known_stay_as_they_are() -> None:
    run: list[Event] = [StateChanged([]), StateChanged(ONE), RunFinished("done")]

    assert compact(run) == run
    assert compact(run, state={"b": 2}) == [StateReplaced({"b": 2, "a": 1}), RunFinished("done")]


def test_a_change_that_cannot_be_made_stays_as_it_is() -> None:
    impossible = StateChanged([{"op": "remove", "path": "/nowhere"}])
    run: list[Event] = [StateReplaced({}), impossible, RunFinished("done")]

    assert compact(run) == [impossible, StateReplaced({}), RunFinished("done")]


def test_a_run_that_is_going_on_has_its_state_too() -> None:
    assert compact([StateReplaced({"a": 1})]) == [StateReplaced({"a": 1})]


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(2 / 3))
def test_what_is_compacted_folds_to_the_same(random: Random) -> None:
    run = our_run(random)

    few = compact(run)

    before, after = folded(run, state={}), folded(few, state={})
    assert (after.messages(), after.state, list(after.endings())) == (before.messages(), before.state, [])
    assert compact(few) == few
