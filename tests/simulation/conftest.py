import os
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

UNTIL = float(os.environ.get("SIMULATIONS_UNTIL", "inf"))
"""The time, in seconds since 1970, after which no more tests of thousands of schedules begin. CI sets it."""


@pytest.fixture(autouse=True)
def _skip_when_late(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("serial") and time.time() > UNTIL:
        pytest.skip("CI has no time left for it. `pytest -m serial tests/simulation` plays all schedules")


@pytest.fixture(scope="module")
def players() -> Iterator[Executor]:
    """A process for each processor: a schedule needs one alone, and there are thousands."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield pool
