"""Schedules of faults: some each time, ten thousand in the whole suite. A seed that fails can be played again with
`python -m tests.simulation SEED`, with `--loss` where the log itself is lost."""

import pytest

from tests.simulation.world import play_many

FEW = 300
MANY = 10_000
LOSSES = 3_000
EACH = 250  # in one test: each has to be over within a minute


@pytest.mark.parametrize("first", range(0, FEW, FEW // 3))
def test_whatever_befalls_the_processes_every_run_ends_and_nobody_misses_anything(first: int) -> None:
    assert_none_fails(range(first, first + FEW // 3))


def test_whatever_befalls_them_when_the_log_is_lost_every_run_ends_and_who_misses_something_is_told() -> None:
    assert_none_fails(range(FEW // 3), losing_log=True)


@pytest.mark.whole
@pytest.mark.parametrize("first", range(0, MANY, EACH))
def test_ten_thousand_schedules_hold(first: int) -> None:
    assert_none_fails(range(first, first + EACH))


@pytest.mark.whole
@pytest.mark.parametrize("first", range(0, LOSSES, EACH))
def test_three_thousand_schedules_in_which_the_log_is_lost_hold(first: int) -> None:
    assert_none_fails(range(first, first + EACH), losing_log=True)


def test_a_schedule_is_the_same_whenever_it_is_played() -> None:
    once, again = ([verdict.trace for verdict in play_many(range(20))] for _ in range(2))

    assert once == again


def assert_none_fails(seeds: range, *, losing_log: bool = False) -> None:
    verdicts = play_many(seeds, losing_log=losing_log)
    failed = [verdict for verdict in verdicts if verdict.problems]

    assert not failed, "\n\n".join(str(verdict) for verdict in failed[:3])
