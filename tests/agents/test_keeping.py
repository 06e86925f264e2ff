"""What an agent that is not ours says, held to the rules of the log."""

import pytest

from rightseat.agents.keeping import Confused, Keeper
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtStarted,
)
from rightseat.testing import check_pairs


def kept(*events: Event) -> list[Event]:
    keeper = Keeper()
    found = [one for event in events for one in keeper.keep(event)]
    found += keeper.endings()
    check_pairs(found)
    return found


def test_what_is_in_order_stays_as_it_is() -> None:
    events: list[Event] = [
        StepStarted("s"),
        *(TextStarted("m"), TextDelta("m", "a"), TextEnded("m")),
        *(CallStarted("c", "f"), CallDelta("c", "{}"), CallEnded("c"), CallReturned("c", "f", "done")),
        StepEnded("s"),
    ]

    assert kept(*events) == events


def test_one_id_may_name_a_text_and_a_call() -> None:
    events: list[Event] = [TextStarted("x"), TextEnded("x"), CallStarted("x", "f"), CallEnded("x")]

    assert kept(*events) == events


def test_a_beginning_of_what_is_open_and_an_end_of_what_is_not_are_left_out() -> None:
    assert kept(TextStarted("m"), TextStarted("m"), TextEnded("m"), TextEnded("m"), StepEnded("s")) == [
        TextStarted("m"),
        TextEnded("m"),
    ]


def test_what_begins_a_third_time_gets_a_third_name() -> None:
    again = (CallStarted("c", "f"), CallDelta("c", "{}"), CallEnded("c"))

    started = [event.call_id for event in kept(*again, *again, *again) if isinstance(event, CallStarted)]

    assert started == ["c", "c-2", "c-3"]


def test_a_result_ends_its_call_and_comes_once() -> None:
    result = CallReturned("c", "f", "done")

    assert kept(CallStarted("c", "f"), result, result) == [CallStarted("c", "f"), CallEnded("c"), result]


def test_a_call_that_begins_after_a_result_with_its_id_is_another() -> None:
    keeper, earlier = Keeper(), CallReturned("c", "f", "done")

    found = [one for event in (earlier, CallStarted("c", "f"), CallEnded("c")) for one in keeper.keep(event)]

    assert found == [earlier, CallStarted("c-2", "f"), CallEnded("c-2")]


def test_what_is_open_at_the_end_is_ended_as_broken_off() -> None:
    assert kept(StepStarted("s"), TextStarted("m"))[2:] == [TextEnded("m", whole=False), StepEnded("s")]


@pytest.mark.parametrize("event", [TextDelta("m", "a"), CallDelta("c", "{"), ThoughtDelta("t", "a")])
def test_more_of_what_never_began_is_refused(event: Event) -> None:
    with pytest.raises(Confused, match="had not begun"):
        kept(ThoughtStarted("other"), event)
