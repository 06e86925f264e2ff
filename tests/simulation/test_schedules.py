"""Schedules of faults: some each time, ten thousand in a night. A seed that fails can be played again with
`python -m tests.simulation SEED`, with `--loss` where the log itself is lost."""

from concurrent.futures import Executor
from functools import partial

import pytest

from tests.profiles import CURRENT
from tests.simulation.world import play_many

EACH = 500  # in one test: each has to be over within five minutes
SHARE = 125  # of one process at a time


@pytest.mark.parametrize("part", range(3))
def test_under_any_schedule_of_faults_every_run_ends_and_followers_receive_every_event(part: int) -> None:
    first = part * CURRENT.schedules
    assert_none_fails(range(first, first + CURRENT.schedules))


def test_under_any_schedule_with_a_lost_log_every_run_ends_and_gaps_are_reported() -> None:
    assert_none_fails(range(CURRENT.schedules), losing_log=True)


@pytest.mark.serial
@pytest.mark.whole
@pytest.mark.parametrize("first", range(0, CURRENT.many_schedules, EACH))
def test_many_schedules_hold(players: Executor, first: int) -> None:
    assert_none_fails_of(players, first)


@pytest.mark.serial
@pytest.mark.whole
@pytest.mark.parametrize("first", range(0, CURRENT.many_lossy_schedules, EACH))
def test_many_schedules_in_which_the_log_is_lost_hold(players: Executor, first: int) -> None:
    assert_none_fails_of(players, first, losing_log=True)


def test_a_schedule_is_the_same_whenever_it_is_played() -> None:
    once, again = ([verdict.trace for verdict in play_many(range(20))] for _ in range(2))

    assert once == again


def assert_none_fails(seeds: range, *, losing_log: bool = False) -> None:
    failed = failures(seeds, losing_log=losing_log)

    assert not failed, "\n\n".join(failed[:3])


def assert_none_fails_of(players: Executor, first: int, *, losing_log: bool = False) -> None:
    shares = [range(seed, seed + SHARE) for seed in range(first, first + EACH, SHARE)]
    failed = [one for found in players.map(partial(failures, losing_log=losing_log), shares) for one in found]

    assert not failed, "\n\n".join(failed[:3])


def failures(seeds: range, *, losing_log: bool) -> list[str]:
    return [str(verdict) for verdict in play_many(seeds, losing_log=losing_log) if verdict.problems]
