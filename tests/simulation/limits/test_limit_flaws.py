"""The simulation of limits notices flaws that are planted on purpose."""

import pytest

from tests.simulation.limits import flaws
from tests.simulation.limits.flaws import OpenLimits
from tests.simulation.limits.limit_world import play_many_limits

ENOUGH = 1_000
"""Schedules within which a flaw has to show; those about slots need some hundred."""


@pytest.mark.parametrize(
    ("flaw", "noticed"),
    [
        pytest.param(flaws.look_first, "reserved", id="looks and counts in two steps"),
        pytest.param(flaws.compare_nothing, "reserved", id="writes a decision without comparing"),
        pytest.param(flaws.settle_twice, "is counted as", id="settles twice"),
        pytest.param(flaws.never_reap, "is still reserved", id="never settles for dead processes"),
        pytest.param(flaws.release_for_others, "has lost its slot", id="gives back slots of other processes"),
        pytest.param(flaws.start_without_slot, "has lost its slot", id="starts a run whose slot was given back"),
        pytest.param(flaws.start_without_slot, "starts without its slot", id="starts a transient run without its slot"),
        pytest.param(flaws.forget_calls, "is still reserved", id="forgets calls that are reserved with their asks"),
    ],
)
def test_a_flaw_in_limits_is_noticed(flaw: OpenLimits, noticed: str) -> None:
    verdicts = play_many_limits(range(ENOUGH), flaw)

    assert any(noticed in problem for verdict in verdicts for problem in verdict.problems)
