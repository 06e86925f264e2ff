"""Limits under schedules of faults: some each time, ten thousand in a night. A seed that fails can be played
again with `python -m tests.simulation SEED --limits`."""

from concurrent.futures import Executor

import pytest

from tests.profiles import CURRENT
from tests.simulation.limits.limit_world import play_many_limits

EACH = 1_000  # in one test
SHARE = 125  # of one process at a time


def test_under_any_schedule_of_faults_limits_hold_and_every_reservation_is_settled_once() -> None:
    failed = find_failures(range(CURRENT.schedules))

    assert not failed, "\n\n".join(failed[:3])


@pytest.mark.serial
@pytest.mark.whole
@pytest.mark.parametrize("first", range(0, CURRENT.many_schedules, EACH))
def test_many_schedules_of_limits_hold(players: Executor, first: int) -> None:
    shares = [range(seed, seed + SHARE) for seed in range(first, first + EACH, SHARE)]
    failed = [one for found in players.map(find_failures, shares) for one in found]

    assert not failed, "\n\n".join(failed[:3])


def test_a_schedule_of_limits_is_the_same_whenever_it_is_played() -> None:
    once, again = ([verdict.trace for verdict in play_many_limits(range(20))] for _ in range(2))

    assert once == again


def find_failures(seeds: range) -> list[str]:
    return [str(verdict) for verdict in play_many_limits(seeds) if verdict.problems]
