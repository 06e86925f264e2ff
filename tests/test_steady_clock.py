"""The event loop whose clock stands still while the process does."""

import asyncio
import time

import pytest

from tests.conditions import settle
from tests.steady_clock import MAX_STEP_S, SteadyLoop, advance_clock


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": SteadyLoop}


async def test_the_time_of_a_process_that_stands_still_does_not_count() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    time.sleep(0.2)  # noqa: ASYNC251  # the process stands still

    assert loop.time() - began <= MAX_STEP_S


async def test_the_time_of_a_loop_that_waits_counts() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(0.05)  # the clock of this loop is what is tested

    assert loop.time() - began >= 0.05


async def test_a_clock_that_is_advanced_ends_the_waits_of_that_time() -> None:
    waiting = asyncio.create_task(asyncio.sleep(3600))  # the wait that the clock ends
    await settle()
    advance_clock(3600)

    async with asyncio.timeout(60):
        await waiting
