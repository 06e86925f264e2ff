"""The checks that others trust can fail."""

import pytest

from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.testing import check_order, check_pairs

START, END = RunStarted("r", "t", "a"), RunFinished("done")


def test_a_run_that_keeps_the_rules_passes() -> None:
    check_order(
        [
            START,
            StepStarted("plan"),
            StepStarted("plan"),
            ThoughtStarted("m"),
            TextStarted("m"),
            TextDelta("m", "Hi"),
            CallStarted("c", "n"),
            ThoughtDelta("m", "Hm"),
            CallDelta("c", "{}"),
            TextEnded("m"),
            CallEnded("c"),
            ThoughtEnded("m"),
            AnswerEnded("calls"),
            CallReturned("c", "n", "ok"),
            StepEnded("plan"),
            StepEnded("plan"),
            END,
        ]
    )


@pytest.mark.parametrize(
    "events",
    [
        [START],
        [END],
        [TextStarted("m"), TextEnded("m"), END],
        [START, TextStarted("m"), TextEnded("m")],
        [START, END, END],
        [START, START, END],
        [START, RunFailed("code", "No."), END],
        [START, TextStarted("m"), END],
    ],
)
def test_a_run_without_a_proper_start_and_end_does_not_pass(events: list[Event]) -> None:
    with pytest.raises(AssertionError):
        check_order(events)


@pytest.mark.parametrize(
    "events",
    [
        [TextStarted("m")],
        [ThoughtStarted("m")],
        [CallStarted("c", "n")],
        [StepStarted("plan")],
        [TextEnded("m")],
        [TextDelta("m", "Hi")],
        [ThoughtDelta("m", "Hm")],
        [CallDelta("c", "{}")],
        [StepEnded("plan")],
        [TextStarted("m"), TextEnded("m"), TextDelta("m", "Hi")],
        [TextStarted("m"), TextEnded("m"), TextEnded("m")],
        [TextStarted("m"), TextStarted("m"), TextEnded("m")],
        [TextStarted("m"), TextEnded("m"), TextStarted("m"), TextEnded("m")],
        [TextStarted("m"), ThoughtEnded("m")],
        [TextStarted("m"), ThoughtDelta("m", "Hm"), TextEnded("m")],
        [CallReturned("c", "n", "ok")],
        [CallStarted("c", "n"), CallReturned("c", "n", "ok"), CallEnded("c")],
        [CallStarted("c", "n"), CallEnded("c"), CallReturned("c", "n", "ok"), CallReturned("c", "n", "ok")],
    ],
)
def test_an_agent_that_breaks_a_rule_does_not_pass(events: list[Event]) -> None:
    with pytest.raises(AssertionError):
        check_pairs(events)
