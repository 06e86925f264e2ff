"""The checks that others trust can fail."""

import pytest

from rightseat.core.events import (
    Event,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
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
from rightseat.testing import check_order, check_pairs

START, END = RunStarted("r", "t", "a"), RunFinished("done")


def test_a_run_that_keeps_the_rules_passes() -> None:
    check_order(
        [
            START,
            StepStarted("plan"),
            StepStarted("plan"),
            ReasoningStarted("m"),
            TextStarted("m"),
            TextDelta("m", "Hi"),
            ToolCallStarted("c", "n"),
            ReasoningDelta("m", "Hm"),
            ToolCallDelta("c", "{}"),
            TextEnded("m"),
            ToolCallEnded("c"),
            ReasoningEnded("m"),
            ModelResponseEnded("tool_calls"),
            ToolCallReturned("c", "n", "ok"),
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
        [ReasoningStarted("m")],
        [ToolCallStarted("c", "n")],
        [StepStarted("plan")],
        [TextEnded("m")],
        [TextDelta("m", "Hi")],
        [ReasoningDelta("m", "Hm")],
        [ToolCallDelta("c", "{}")],
        [StepEnded("plan")],
        [TextStarted("m"), TextEnded("m"), TextDelta("m", "Hi")],
        [TextStarted("m"), TextEnded("m"), TextEnded("m")],
        [TextStarted("m"), TextStarted("m"), TextEnded("m")],
        [TextStarted("m"), TextEnded("m"), TextStarted("m"), TextEnded("m")],
        [TextStarted("m"), ReasoningEnded("m")],
        [TextStarted("m"), ReasoningDelta("m", "Hm"), TextEnded("m")],
        [ToolCallReturned("c", "n", "ok")],
        [ToolCallStarted("c", "n"), ToolCallReturned("c", "n", "ok"), ToolCallEnded("c")],
        [
            ToolCallStarted("c", "n"),
            ToolCallEnded("c"),
            ToolCallReturned("c", "n", "ok"),
            ToolCallReturned("c", "n", "ok"),
        ],
    ],
)
def test_an_agent_that_breaks_a_rule_does_not_pass(events: list[Event]) -> None:
    with pytest.raises(AssertionError):
        check_pairs(events)
