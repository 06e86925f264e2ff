"""Some cases of every target, always the same. Many more by hand: `just fuzz 30`."""

from random import Random

import pytest

from tests.fuzz.engine import run
from tests.fuzz.targets import TARGETS
from tests.profiles import fuzz_cases


@pytest.mark.serial
@pytest.mark.parametrize("name", TARGETS)
async def test_spoilt_input_causes_no_crash_and_no_stall(name: str) -> None:
    target = TARGETS[name]

    figures = await run(target, range(fuzz_cases(target.night_cases)))

    assert not figures.failures, "\n\n".join(str(failure) for failure in figures.failures.values())
    assert figures.cases == fuzz_cases(target.night_cases)


@pytest.mark.parametrize("name", TARGETS)
def test_a_seed_makes_the_same_case_each_time(name: str) -> None:
    target = TARGETS[name]

    once, again = ([repr(target.make(Random(f"{name}:{seed}"))) for seed in range(5)] for _ in range(2))

    assert once == again
