import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import pytest


@pytest.fixture(scope="module")
def players() -> Iterator[Executor]:
    """A process for each processor: a schedule needs one alone, and there are thousands."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield pool
