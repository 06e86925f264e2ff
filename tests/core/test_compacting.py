"""A run in few events says the same as in many."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.compacting import compacted
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    RunFinished,
    StateChanged,
    StateReplaced,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.values import JsonValue
from tests.wire.agui.runs import folded, our_run

ONE: list[JsonValue] = [{"op": "add", "path": "/a", "value": 1}]


def test_each_message_thought_and_call_has_one_delta() -> None:
    run: list[Event] = [
        *(ThoughtStarted("x"), ThoughtDelta("x", "Hm"), ThoughtDelta("x", "m."), ThoughtEnded("x")),
        *(TextStarted("m"), TextDelta("m", "Hel"), CallStarted("x", "f", "m"), CallDelta("x", "{")),
        *(TextDelta("m", "lo"), CallDelta("x", "}"), TextEnded("m", whole=False), CallEnded("x")),
        *(CallReturned("x", "f", "ok"), RunFinished("done")),
    ]

    assert compacted(run) == [
        *(ThoughtStarted("x"), ThoughtDelta("x", "Hmm."), ThoughtEnded("x")),
        *(TextStarted("m"), TextDelta("m", "Hello"), CallStarted("x", "f", "m"), CallDelta("x", "{}")),
        *(TextEnded("m", whole=False), CallEnded("x"), CallReturned("x", "f", "ok"), RunFinished("done")),
    ]


def test_the_state_is_said_once_as_it_is_in_the_end() -> None:
    run: list[Event] = [StateReplaced({}), TextStarted("m"), StateChanged(ONE), TextEnded("m"), RunFinished("done")]

    assert compacted(run) == [TextStarted("m"), TextEnded("m"), StateReplaced({"a": 1}), RunFinished("done")]


def test_changes_of_a_state_that_is_not_known_stay_as_they_are() -> None:
    run: list[Event] = [StateChanged([]), StateChanged(ONE), RunFinished("done")]

    assert compacted(run) == run
    assert compacted(run, state={"b": 2}) == [StateReplaced({"b": 2, "a": 1}), RunFinished("done")]


def test_a_change_that_cannot_be_made_stays_as_it_is() -> None:
    impossible = StateChanged([{"op": "remove", "path": "/nowhere"}])
    run: list[Event] = [StateReplaced({}), impossible, RunFinished("done")]

    assert compacted(run) == [impossible, StateReplaced({}), RunFinished("done")]


def test_a_run_that_is_going_on_has_its_state_too() -> None:
    assert compacted([StateReplaced({"a": 1})]) == [StateReplaced({"a": 1})]


@given(st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_what_is_compacted_folds_to_the_same(random: Random) -> None:
    run = our_run(random)

    few = compacted(run)

    before, after = folded(run, state={}), folded(few, state={})
    assert (after.messages(), after.state, list(after.endings())) == (before.messages(), before.state, [])
    assert compacted(few) == few
