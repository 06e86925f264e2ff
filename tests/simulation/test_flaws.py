"""What is broken on purpose is noticed: a simulation that finds nothing would be worth nothing."""

import pytest

from rightseat.logs.redis.connection import Command
from tests.simulation.flawed_judges import JudgeByExpiry, JudgeWithoutOwnLease
from tests.simulation.replica import Flaws
from tests.simulation.world import play_many

ENOUGH = 1_000
"""Schedules within which a flaw has to show; most do in the first few dozen."""

RARE = 660
"""The first schedule that is played for a flaw which none of those before shows: they take half a minute."""


def with_ids_of_its_own(command: Command) -> Command:
    """`XADD key *`: Redis makes the ids."""
    match command:
        case (b"XADD", key, b"NOMKSTREAM", _, b"events", content):
            return (b"XADD", key, b"*", b"events", content)
    return command


def making_streams(command: Command) -> Command:
    """`XADD` without `NOMKSTREAM`: a stream that is gone is simply made again."""
    match command:
        case (b"XADD", key, b"NOMKSTREAM", *rest):
            return (b"XADD", key, *rest)
    return command


@pytest.mark.parametrize(
    ("flaws", "noticed", "first"),
    [
        pytest.param(Flaws(takes_any_id=True), "the log", RARE, id="appends are not fenced"),
        pytest.param(Flaws(rewrite=with_ids_of_its_own), "never ends", 0, id="ids are Redis's own"),
        pytest.param(Flaws(repeats_steps=True), "was done again", 0, id="steps are not remembered"),
        pytest.param(Flaws(begins_again=True), "is not one that the model gave", 0, id="answers are spliced"),
        pytest.param(Flaws(open_judge=JudgeByExpiry), "though it lives", 0, id="leases expire by a foreign clock"),
        pytest.param(Flaws(open_judge=JudgeWithoutOwnLease), "though it lives", 0, id="outages count as deaths"),
    ],
)
def test_a_flaw_is_noticed(flaws: Flaws, noticed: str, first: int) -> None:
    assert is_noticed(flaws, noticed, first)


@pytest.mark.whole
def test_burying_the_dead_before_their_runs_are_taken_is_noticed() -> None:
    assert is_noticed(Flaws(buries_first=True), "never ends")


@pytest.mark.whole
def test_appending_to_a_log_that_was_lost_is_noticed() -> None:
    assert is_noticed(Flaws(rewrite=making_streams), "without knowing what was before", losing_log=True)


def is_noticed(flaws: Flaws, what: str, first: int = 0, *, losing_log: bool = False) -> bool:
    verdicts = play_many(range(first, first + ENOUGH), flaws, losing_log=losing_log)
    return any(what in problem for verdict in verdicts for problem in verdict.problems)
