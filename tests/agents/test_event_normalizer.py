"""What an agent that is not ours says, held to the rules of the log."""

import pytest

from rightseat.agents.event_normalizer import EventNormalizer, InvalidAgentEvent
from rightseat.core.events import (
    Event,
    ReasoningDelta,
    ReasoningStarted,
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
from rightseat.testing import check_pairs


def kept(*events: Event) -> list[Event]:
    normalizer = EventNormalizer()
    found = [one for event in events for one in normalizer.normalize(event)]
    found += normalizer.close()
    check_pairs(found)
    return found


def test_what_is_in_order_stays_as_it_is() -> None:
    events: list[Event] = [
        StepStarted("s"),
        *(TextStarted("m"), TextDelta("m", "a"), TextEnded("m")),
        *(ToolCallStarted("c", "f"), ToolCallDelta("c", "{}"), ToolCallEnded("c"), ToolCallReturned("c", "f", "done")),
        StepEnded("s"),
    ]

    assert kept(*events) == events


def test_one_id_may_name_a_text_and_a_call() -> None:
    events: list[Event] = [TextStarted("x"), TextEnded("x"), ToolCallStarted("x", "f"), ToolCallEnded("x")]

    assert kept(*events) == events


def test_repeated_starts_and_ends_without_a_start_are_dropped() -> None:
    assert kept(TextStarted("m"), TextStarted("m"), TextEnded("m"), TextEnded("m"), StepEnded("s")) == [
        TextStarted("m"),
        TextEnded("m"),
    ]


def test_what_begins_a_third_time_gets_a_third_name() -> None:
    again = (ToolCallStarted("c", "f"), ToolCallDelta("c", "{}"), ToolCallEnded("c"))

    started = [event.call_id for event in kept(*again, *again, *again) if isinstance(event, ToolCallStarted)]

    assert started == ["c", "c-2", "c-3"]


def test_a_result_ends_its_call_and_comes_once() -> None:
    result = ToolCallReturned("c", "f", "done")

    assert kept(ToolCallStarted("c", "f"), result, result) == [ToolCallStarted("c", "f"), ToolCallEnded("c"), result]


def test_a_call_that_begins_after_a_result_with_its_id_is_another() -> None:
    normalizer, earlier = EventNormalizer(), ToolCallReturned("c", "f", "done")

    events = (earlier, ToolCallStarted("c", "f"), ToolCallEnded("c"))
    found = [one for event in events for one in normalizer.normalize(event)]

    assert found == [earlier, ToolCallStarted("c-2", "f"), ToolCallEnded("c-2")]


def test_what_is_open_at_the_end_is_ended_as_broken_off() -> None:
    assert kept(StepStarted("s"), TextStarted("m"))[2:] == [TextEnded("m", complete=False), StepEnded("s")]


@pytest.mark.parametrize("event", [TextDelta("m", "a"), ToolCallDelta("c", "{"), ReasoningDelta("t", "a")])
def test_more_of_what_never_began_is_refused(event: Event) -> None:
    with pytest.raises(InvalidAgentEvent, match="before its start event"):
        kept(ReasoningStarted("other"), event)
