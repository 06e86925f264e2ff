"""How much the tests try: a little at each commit, a tenth before a change lands, all of it every night.

`HYPOTHESIS_PROFILE=night pytest tests/core` chooses a profile; without it, it is `gate`. No other module has such
numbers, but shares of these: of the examples in a property, and of the cases that a fuzz target names for a night.
"""

import os
from dataclasses import dataclass

from hypothesis import settings

VARIABLE = "HYPOTHESIS_PROFILE"
MIN_EXAMPLES = 10
MIN_CASES = 20


@dataclass(frozen=True, slots=True)
class Profile:
    examples: int
    """Of a property in tests with hypothesis."""
    fuzz_share: float
    """Of the cases that a fuzz target has in a night."""
    schedules: int
    """Of faults, in each of the simulation's short tests."""
    many_schedules: int
    """In its long tests, which are `serial`."""
    many_lossy_schedules: int
    """In those that lose the log as well."""
    draws_new_examples: bool = False
    """Otherwise every run has the same."""


PROFILES = {
    "check": Profile(examples=15, fuzz_share=0.05, schedules=25, many_schedules=1_000, many_lossy_schedules=500),
    "gate": Profile(examples=30, fuzz_share=0.1, schedules=50, many_schedules=1_000, many_lossy_schedules=500),
    "night": Profile(
        examples=300,
        fuzz_share=1.0,
        schedules=100,
        many_schedules=10_000,
        many_lossy_schedules=3_000,
        draws_new_examples=True,
    ),
}


def find_profile(name: str) -> Profile:
    if name not in PROFILES:
        raise ValueError(f"{VARIABLE}={name}: no such profile. Profiles: {', '.join(PROFILES)}.")
    return PROFILES[name]


CURRENT = find_profile(os.environ.get(VARIABLE, "gate"))


def load_settings() -> None:
    """Make the profile hypothesis's own. Call this before test modules are imported: `settings(…)` copies it."""
    for name, profile in PROFILES.items():
        settings.register_profile(
            name, max_examples=profile.examples, deadline=None, derandomize=not profile.draws_new_examples
        )
    settings.load_profile(os.environ.get(VARIABLE, "gate"))


def examples(share: float) -> int:
    """`max_examples` of a property whose examples take longer than others: a share of the profile's."""
    return max(round(share * CURRENT.examples), MIN_EXAMPLES)


def fuzz_cases(night_cases: int) -> int:
    return min(max(round(CURRENT.fuzz_share * night_cases), MIN_CASES), night_cases)
