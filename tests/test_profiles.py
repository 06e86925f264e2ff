"""How much the tests try."""

import pytest
from hypothesis import settings

from tests.profiles import CURRENT, PROFILES, examples, find_profile


def test_the_settings_of_hypothesis_are_those_of_the_profile() -> None:
    current = settings()

    assert current.max_examples == CURRENT.examples
    assert current.derandomize is not CURRENT.draws_new_examples
    assert current.deadline is None


def test_a_night_tries_more_than_any_other_profile_and_draws_new_examples() -> None:
    night = PROFILES["night"]

    assert all(night.examples > profile.examples for name, profile in PROFILES.items() if name != "night")
    assert [name for name, profile in PROFILES.items() if profile.draws_new_examples] == ["night"]


def test_a_share_of_the_examples_is_never_too_small_to_mean_anything() -> None:
    assert examples(1) == CURRENT.examples
    assert examples(0.001) == 10


def test_an_unknown_profile_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"HYPOTHESIS_PROFILE=nigth: no such profile. Profiles: check, gate, night\."):
        find_profile("nigth")
