"""Statistics with known values."""

from fractions import Fraction
from itertools import product
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.evals.statistics import (
    agreement_to_show_a_difference,
    bootstrap_interval,
    sign_flip_p_value,
    wilson_interval,
)


def pairs(worse: int, better: int, same: int = 0) -> list[Fraction]:
    return [Fraction(-1)] * worse + [Fraction(1)] * better + [Fraction(0)] * same


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        (pairs(1, 8, 21), 20 / 512),
        (pairs(0, 5, 10), 1 / 16),
        (pairs(0, 0, 6), 1.0),
        ([], 1.0),
        ([Fraction(1, 3)] * 6, 2 / 64),
        (pairs(7, 18, 5), 0.0432852507),
        (pairs(500, 500), 1.0),
    ],
)
def test_the_sign_flip_test_has_known_values(differences: list[Fraction], p_value: float) -> None:
    assert sign_flip_p_value(differences) == pytest.approx(p_value, abs=1e-9)


@given(st.lists(st.fractions(-1, 1, max_denominator=6), max_size=9))
def test_the_counted_sums_are_those_of_all_flips(differences: list[Fraction]) -> None:
    observed = abs(sum(differences, Fraction()))
    flips = list(product((1, -1), repeat=len(differences)))
    extreme = sum(abs(sum(map(mul, flip, differences), Fraction())) >= observed for flip in flips)
    assert sign_flip_p_value(differences) == pytest.approx(extreme / len(flips))


def test_beyond_what_can_be_counted_the_normal_distribution_is_near() -> None:
    exact = sign_flip_p_value(pairs(940, 1060))
    assert sign_flip_p_value(pairs(941, 1060)) == pytest.approx(exact, abs=0.001)


def test_the_bootstrap_interval_is_the_same_each_time() -> None:
    values = [1.0] * 8 + [-1.0] + [0.0] * 21
    low, high = bootstrap_interval(values)
    assert 0 < low < 7 / 30 < high < 1
    assert bootstrap_interval(values) == (low, high)
    assert bootstrap_interval([]) == (0.0, 0.0)


def test_the_interval_of_a_share() -> None:
    low, high = wilson_interval(1, 2)
    assert low == pytest.approx(0.0945, abs=1e-3)
    assert high == pytest.approx(0.9055, abs=1e-3)
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("differing", "needed"), [(0, (6, 6)), (5, (6, 6)), (9, (8, 9)), (25, (18, 25)), (3000, (1555, 3000))]
)
def test_how_many_cases_have_to_agree(differing: int, needed: tuple[int, int]) -> None:
    assert agreement_to_show_a_difference(differing) == needed
    agreeing, count = needed
    assert sign_flip_p_value(pairs(count - agreeing, agreeing)) < 0.05
    if count < 1000:
        assert sign_flip_p_value(pairs(count - agreeing + 1, agreeing - 1)) >= 0.05
